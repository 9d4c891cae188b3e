"""Carries out a change of users, and keeps what Kafka said no to for the next look, which ends the change.

Refusals lie in the latest-value table, one row a cluster; where it is lost they are asked for again. The passwords are
here for as long as they are hashed, and nowhere else.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from pydantic import SecretStr

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.effects import ChangeUsers
from controlplane.converger.situation.passwords import UserPasswords
from controlplane.converger.situation.ports import Ports
from controlplane.kafka.scram import scram_credential
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from controlplane.storage.user_passwords import PasswordNotAtHand
from events.ids import ClusterUid
from planner.rights.step import RightsStep

USER_REFUSALS = "user-refusals"
"""Kind of the latest-value row, one a cluster: what of a change of users was refused, by name."""

_NAMED = 3


def change_users(effect: ChangeUsers, view: ClusterView, ports: Ports) -> str:
    """Makes the change as far as Kafka takes it. Returns what was refused, in words, or "". Raises KafkaFault."""
    passwords, refused = _passwords(effect, view, ports.passwords)
    rounds = {name: wanted.iterations for name, wanted in effect.passwords.items()}
    credentials = {n: scram_credential(p.get_secret_value(), iterations=rounds[n]) for n, p in passwords.items()}
    step = _without_credentials(effect.step, frozenset(refused))
    refused = {**ports.kafka(view).change_user_rights(step, credentials), **refused}
    if refused:
        subject = Subject(USER_REFUSALS, view.uid, "change")
        row = {"change": effect.change, "refused": refused}
        ports.latest.put(LatestValue(subject, row, "converger", ports.clock()))
    return "; ".join(f"Kafka refused {name}: {why}" for name, why in sorted(refused.items())[:_NAMED])


def _passwords(
    effect: ChangeUsers, view: ClusterView, kept: UserPasswords
) -> tuple[Mapping[str, SecretStr], dict[str, str]]:
    """The passwords to set, by user, and why some are not at hand: one that is lost keeps no other back."""
    numbers = {name: wanted.number for name, wanted in effect.passwords.items()}
    if not numbers:
        return {}, {}
    on_their_way = view.users.passwords_on_their_way | frozenset(numbers.values())
    kept.keep_only(view.uid, on_their_way, up_to=view.users.passwords)
    with contextlib.suppress(PasswordNotAtHand):
        return kept.of(view.uid, numbers), {}
    found: dict[str, SecretStr] = {}
    refused: dict[str, str] = {}
    for name, number in sorted(numbers.items()):
        try:
            found |= kept.of(view.uid, {name: number})
        except PasswordNotAtHand as error:
            refused[name] = str(error)
    return found, refused


def refused_of(latest: LatestStore, uid: ClusterUid, change: str) -> Mapping[str, str]:
    """What was refused of this change, by user, in words."""
    row = latest.get(Subject(USER_REFUSALS, uid, "change"))
    if row is None or row.value.get("change") != change:
        return {}
    return {str(name): str(why) for name, why in dict(row.value.get("refused") or {}).items()}


def _without_credentials(step: RightsStep, names: frozenset[str]) -> RightsStep:
    """Who gets no password now gets the rest."""
    bare = {name: replace(user, credential="") for name, user in step.users.items() if name in names}
    return RightsStep({name: user for name, user in {**step.users, **bare}.items() if user})
