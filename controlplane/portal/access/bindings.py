"""A binding gives a subject a role on some clusters: on all, on those of a team, or on those with a label."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.portal.access.roles import Role
from events.spec.model import KafkaClusterDocument

EVERYTHING = "*"
_TEAM, _LABEL = "team:", "label:"
_SUBJECT = re.compile(r"user:[a-z][a-z0-9._-]{0,31}", re.ASCII)


class BindingRefused(ValueError):
    """A binding has no sense. What now: correct it; the message says how one is written."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What scopes look at: the owner and the labels a spec says. A cluster without a spec has neither."""

    team: str = ""
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, order=True)
class Binding:
    """`scope` is `*`, `team:NAME` (a spec's `metadata.owner`) or `label:KEY=VALUE` (of its `metadata.labels`)."""

    subject: str
    role: Role
    scope: str

    def covers(self, traits: Traits) -> bool:
        """Whether the binding speaks of such a cluster."""
        if self.scope == EVERYTHING:
            return True
        if self.scope.startswith(_TEAM):
            return bool(traits.team) and traits.team == self.scope.removeprefix(_TEAM)
        key, _, value = self.scope.removeprefix(_LABEL).partition("=")
        return (traits.labels or {}).get(key) == value


def binding(subject: str, role: str, scope: str) -> Binding:
    """A binding from words. Raises BindingRefused."""
    if not _SUBJECT.fullmatch(subject):
        raise BindingRefused(f"{subject!r} is no subject: write `user:NAME`")
    if role not in set(Role):
        raise BindingRefused(f"{role!r} is no role: {', '.join(Role)}")
    key, equals, _ = scope.removeprefix(_LABEL).partition("=")
    is_team = scope.startswith(_TEAM) and scope != _TEAM
    is_label = scope.startswith(_LABEL) and bool(key and equals)
    if scope != EVERYTHING and not is_team and not is_label:
        raise BindingRefused(f"{scope!r} is no scope: `*`, `team:NAME` or `label:KEY=VALUE`")
    return Binding(subject, Role(role), scope)


def traits_of(document: KafkaClusterDocument | None) -> Traits:
    """What the document says of whose the cluster is."""
    if document is None:
        return Traits()
    return Traits(document.metadata.owner, document.metadata.labels)
