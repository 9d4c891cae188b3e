"""A binding gives a subject a role on some clusters: all, those of a team, those with a label, or one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.api.access.roles import Role
from events.spec.model import KafkaClusterDocument

EVERYTHING = "*"
TOKEN = "token:"  # noqa: S105  # a prefix, no secret
"""What subjects that are tokens begin with; their id follows."""
_TEAM, _LABEL, _CLUSTER = "team:", "label:", "cluster:"
_SUBJECT = re.compile(
    r"user:[a-z][a-z0-9._-]{0,31}|oidc:[^\s:]{1,200}|group:[^\x00-\x20\x7f][^\x00-\x1f\x7f]{0,199}|token:[0-9a-f]{12}"
)


class BindingRefused(ValueError):
    """A binding has no sense. What now: correct it; the message says how one is written."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What scopes look at: the owner, the labels and the name a spec says. A cluster without a spec has none."""

    team: str = ""
    labels: Mapping[str, str] | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Binding:
    """`scope`: `*`, `team:NAME` (a spec's `metadata.owner`), `label:KEY=VALUE` (its `metadata.labels`), `cluster:NAME`.

    `subject`: `user:NAME` signs in with a password, `oidc:NAME` by the provider, `group:NAME` is a group it tells.
    `token:ID` is a token: what is bound to it widens what it leaves of its maker's rights, never those.
    """

    subject: str
    role: Role
    scope: str

    def covers(self, traits: Traits) -> bool:
        """Whether the binding speaks of such a cluster."""
        if self.scope == EVERYTHING:
            return True
        if self.scope.startswith(_TEAM):
            return bool(traits.team) and traits.team == self.scope.removeprefix(_TEAM)
        if self.scope.startswith(_CLUSTER):
            return bool(traits.name) and traits.name == self.scope.removeprefix(_CLUSTER)
        key, _, value = self.scope.removeprefix(_LABEL).partition("=")
        return (traits.labels or {}).get(key) == value


def binding(subject: str, role: str, scope: str) -> Binding:
    """A binding from words. Raises BindingRefused."""
    if not _SUBJECT.fullmatch(subject):
        raise BindingRefused(
            f"{subject!r} is not a subject: write `user:NAME`, `oidc:NAME`, `group:NAME` or `token:ID`"
        )
    return Binding(subject, role_of(role), scope_of(scope))


def role_of(role: str) -> Role:
    """The role of that name. Raises BindingRefused."""
    if role not in set(Role):
        raise BindingRefused(f"{role!r} is not a role: {', '.join(Role)}")
    return Role(role)


def scope_of(scope: str) -> str:
    """The scope, if it is one. Raises BindingRefused."""
    key, equals, _ = scope.removeprefix(_LABEL).partition("=")
    is_team = scope.startswith(_TEAM) and scope != _TEAM
    is_label = scope.startswith(_LABEL) and bool(key and equals)
    is_cluster = scope.startswith(_CLUSTER) and scope != _CLUSTER
    if scope != EVERYTHING and not is_team and not is_label and not is_cluster:
        raise BindingRefused(f"{scope!r} is not a scope: `*`, `team:NAME`, `label:KEY=VALUE` or `cluster:NAME`")
    return scope


def traits_of(document: KafkaClusterDocument | None) -> Traits:
    """What the document says of whose the cluster is."""
    if document is None:
        return Traits()
    return Traits(document.metadata.owner, document.metadata.labels, document.metadata.name)
