"""Kedge's own rights in a cluster whose nodes speak TLS: looked at as its server, and made by a certificate of a node.

Nothing of it is recorded. A server that dies at any point of it, and one whose ACLs somebody deleted, finds by the next
look what is missing, and needs none of its rights to make them.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from controlplane.cluster.external_brokers import declared_external
from controlplane.cluster.node_names import names_of_kedge
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import AUTHORIZATION, KafkaFault, KafkaRefused
from controlplane.kafka.gateway import RightsGateway
from controlplane.storage.certificates.principals import KedgePrincipals, principals_of
from events.ids import ClusterUid
from events.quantities import named
from planner.rights.acls import ANY, Acl, principal_of, user_of
from planner.rights.kedge import KedgeRightsSeen, kedge_acls, kedge_rights_seen
from planner.rights.step import RightsStep, UserStep

_log = logging.getLogger(__name__)

NO_AUTHORIZER = "its brokers have no authorizer, and take no ACLs"


def has_kedge_rights(view: ClusterView) -> bool:
    """Whether Kedge works by ACLs there, or will: nodes speak TLS, and its controllers take ACLs."""
    if not view.nodes_speak_tls or view.in_zookeeper_mode or declared_external(view) is not None:
        return False
    return view.security.has_authorizer


def kedge_principals(view: ClusterView) -> tuple[str, ...]:
    """All that Kedge has, or had, rights by."""
    own = principals_of(view.uid)
    _, marked = names_of_kedge(view)
    return (*own.kedge.values(), *(own.marked_kedge.values() if marked else ()))


def kedge_acls_of(view: ClusterView) -> frozenset[Acl]:
    """Those it is to have."""
    return frozenset().union(*map(kedge_acls, _wanted(view)))


def _wanted(view: ClusterView) -> list[KedgePrincipals]:
    own, (subjects, marked) = principals_of(view.uid), names_of_kedge(view)
    return [*([own.kedge] if subjects else ()), *([own.marked_kedge] if marked else ())]


def _seen(view: ClusterView, acls: Iterable[Acl]) -> KedgeRightsSeen:
    """Once no broker knows Kedge by the subjects of its certificates, rights of those are for whoever is called so."""
    found, wanted = frozenset(acls), _wanted(view)
    each = [kedge_rights_seen(own, found) for own in wanted]
    own = {principal for principals in wanted for principal in principals.values()}
    left = {acl for acl in found if acl.principal in kedge_principals(view) and acl.principal not in own}
    return KedgeRightsSeen(
        tuple(sorted(acl for one in each for acl in one.lacking)),
        tuple(sorted({*left, *(acl for one in each for acl in one.surplus)})),
        tuple(sorted({acl for one in each for acl in one.denied})),
        bool(left) or any(one.is_blind for one in each),  # nothing goes on while a token could have them
    )


@dataclass(frozen=True, slots=True)
class RightsLook:
    """What a look came to. `problem`: why the last try to put right what is amiss did not, "" where none failed."""

    seen: KedgeRightsSeen = field(default_factory=KedgeRightsSeen)
    problem: str = ""


class KedgeRights(Protocol):
    """Looks at Kedge's own ACLs, and makes them; `AclReconciler` is one."""

    def look(self, view: ClusterView) -> RightsLook:
        """Raises KafkaUnavailable."""

    def put_right(self, view: ClusterView) -> str:
        """Makes what is missing, and deletes what is too much. Returns why it could not, or ""; again is fine."""


@dataclass(slots=True)
class AclReconciler:
    """Thread-safe. `kafka`: as Kedge's server; `as_node`: as a super user."""

    kafka: Callable[[ClusterView], RightsGateway]
    as_node: Callable[[ClusterView], AbstractContextManager[RightsGateway]]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _problems: dict[ClusterUid, str] = field(default_factory=dict)

    def look(self, view: ClusterView) -> RightsLook:
        """See KedgeRights."""
        try:
            acls = self.kafka(view).acls_of((*kedge_principals(view), principal_of(ANY)))
        except KafkaRefused as refused:
            if refused.error not in AUTHORIZATION:
                raise
            acls = ()  # not even that is allowed: to whom nothing is told, all may be missing
        with self._lock:
            problem = self._problems.get(view.uid, "")
        if acls is None:
            return RightsLook(_seen(view, kedge_acls_of(view)), NO_AUTHORIZER)
        seen = _seen(view, acls)
        if not seen:
            self._remember(view, "")
        return RightsLook(seen, problem if seen else "")

    def put_right(self, view: ClusterView) -> str:
        """See KedgeRights."""
        try:
            why = self._made(view)
        except KafkaFault as fault:
            why = str(fault)
        self._remember(view, why)
        return f"Kedge's own ACLs cannot be made: {why}" if why else ""

    def _made(self, view: ClusterView) -> str:
        own = kedge_principals(view)
        with self.as_node(view) as kafka:
            acls = kafka.acls_of((*own, principal_of(ANY)))
            if acls is None:
                return NO_AUTHORIZER
            seen = _seen(view, acls)
            step = RightsStep({user: one for user in map(_user, own) if (one := _step(user, seen))})
            refused = kafka.change_user_rights(step, {}) if step else {}
        if step:
            _log.info("made %d ACLs of Kedge's own in %s, deleted %d", len(seen.lacking), view.name, len(seen.surplus))
        # Whom they keep from reading ACLs at all would never learn of them otherwise.
        denied = [f"ACLs for everybody deny them: {named([str(acl) for acl in seen.denied])}"] if seen.denied else []
        return "; ".join([*(f"{user}: {words}" for user, words in sorted(refused.items())), *denied])

    def _remember(self, view: ClusterView, problem: str) -> None:
        with self._lock:
            self._problems.pop(view.uid, None)
            if problem:
                self._problems[view.uid] = problem


def _user(principal: str) -> str:
    return user_of(principal) or principal


def _step(user: str, seen: KedgeRightsSeen) -> UserStep:
    def own(acls: tuple[Acl, ...]) -> tuple[Acl, ...]:
        return tuple(acl for acl in acls if acl.principal == principal_of(user))

    return UserStep(user, create=own(seen.lacking), delete=own(seen.surplus))
