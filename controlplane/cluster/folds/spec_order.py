"""The fold of what the order of the fleet asks: part of `controlplane.cluster.fold.evolve`.

A change of a spec counts where it stops processes, moves replicas or closes a way back. What Kafka takes live does not,
nor what makes a cluster larger or smaller: how large each one is, is its own business.
"""

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta

from controlplane.cluster.folds.steps import frozen
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.spec_order import SpecChange, SpecOrderView
from controlplane.runtime.once import once
from events.spec.change import FieldChange, differences
from events.spec.fields import FieldClass
from events.spec.model import KafkaClusterDocument

UNHEALTHY = frozenset(
    {
        "Ailing",
        "AtMinIsr",
        "Blocked",
        "BrokerAway",
        "ElectionsFail",
        "HeartbeatsSilent",
        "RegistrationWrong",
        "TickFailing",
    }
)
"""Conditions that speak against the last change while it soaks."""

_DISRUPTS = frozenset({FieldClass.STATIC, FieldClass.RESTART})
_CLOSES_A_WAY_BACK = frozenset({"spec.kafka.metadataVersion", "spec.kafka.mode"})
_POOL = re.compile(r"\[[^\]]*\](?=\.)")


@once
def changes_in_hand(view: ClusterView) -> frozenset[SpecChange]:
    """What differs between the spec in force and the one that was reached last; nothing of a cluster at rest, nor of
    one that is being born."""
    known = view.declaration.spec_order
    if known is None or view.document is None or view.roll.converged == view.generation:
        return frozenset()
    for document, found in known.differs:
        if document is view.document:
            return found
    found = changes(known.document, view.document)
    known.differs[:] = [(view.document, found)]
    return found


def changes(old: KafkaClusterDocument, new: KafkaClusterDocument) -> frozenset[SpecChange]:
    """Those between two specs that the fleet takes in order."""
    if old is new:
        return frozenset()
    return frozenset(_change(c) for c in differences(old, new) if _counts(c))


def soak_of(view: ClusterView) -> timedelta:
    """How long nothing may go wrong after a change before later stages begin with it."""
    return timedelta(seconds=view.document.spec.rollout.soak_s if view.document else 0.0)


def declared(view: ClusterView, document: KafkaClusterDocument, at: datetime) -> SpecOrderView | None:
    """Before another spec comes into force."""
    known = view.declaration.spec_order
    if known is None:
        return None
    begun = changes_in_hand(view) if view.roll.recycling == view.generation else frozenset()
    taken_back = {**known.taken_back, **dict.fromkeys(begun, at)}
    if not taken_back:
        return known
    wanted = changes(known.document, document)
    return replace(known, taken_back=frozen({c: t for c, t in taken_back.items() if c not in wanted}))


def reached(view: ClusterView, at: datetime) -> SpecOrderView | None:
    """The spec in force is."""
    known, document = view.declaration.spec_order, view.document
    if document is None or known is None:
        return SpecOrderView(document, frozen({}), frozen({})) if document is not None else None
    new = changes(known.document, document)
    if not new:
        return replace(known, document=document)
    paths = {c.path for c in new}
    since = {c: t for c, t in known.since.items() if c.path not in paths}
    taken_back = {c: t for c, t in known.taken_back.items() if c not in new}
    return SpecOrderView(document, frozen({**since, **dict.fromkeys(new, at)}), frozen(taken_back))


def ended(view: ClusterView, condition: str, at: datetime) -> SpecOrderView | None:
    """A condition that speaks against a change is over: what soaked when it came soaks anew."""
    known, before = view.declaration.spec_order, view.conditions.get(condition)
    if known is None or before is None or not before.status or condition not in UNHEALTHY:
        return known
    hit = {c: at for c, t in known.since.items() if speaks_against(before, t, soak_of(view))}
    return replace(known, since=frozen({**known.since, **hit})) if hit else known


def speaks_against(condition: ConditionView, since: datetime, soak: timedelta) -> bool:
    """Whether it came while a change soaked that was reached then."""
    return condition.status and condition.since <= since + soak


def _counts(change: FieldChange) -> bool:
    return change.field_class in _DISRUPTS or change.path in _CLOSES_A_WAY_BACK


def _change(change: FieldChange) -> SpecChange:
    path = _POOL.sub("", change.path).removeprefix("spec.")
    return SpecChange(path, json.dumps(change.new, sort_keys=True))
