"""Who Kafka takes nodes and Kedge for: the one place that makes these names.

A principal is a text to Kafka, wherever it comes from: a SCRAM user or a token of somebody else that is called as a
node is one. So the names hold `=`, which no user's name may have, and end in digits of their cluster. They are no
secret: who may read a broker's settings reads them.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from events.ids import ClusterUid
from events.spec.client_security import NodeNames

MARK = " "
"""What a name begins with that no token can have: of what a token says Kafka takes the blanks off both ends."""

KedgePrincipals = Mapping[Literal["server", "portal", "metrics"], str]

Member = Literal["node", "server", "portal", "metrics"]
"""Who shows a certificate of the cluster CA: a node; Kedge's server; a portal apart; the metric pipeline."""


@dataclass(frozen=True, slots=True)
class ClusterPrincipals:
    """Common names of one cluster. All nodes have one, and the subject has nothing else: of several RDNs Kafka reads
    the last one first, and `super.users` can only be changed by restarts, which an id for each broker would ask for."""

    node: str
    server: str
    portal: str
    metrics: str

    def common_name(self, member: Member) -> str:
        return {"node": self.node, "server": self.server, "portal": self.portal, "metrics": self.metrics}[member]

    def principal(self, member: Member) -> str:
        """As Kafka has it."""
        return f"User:CN={self.common_name(member)}"

    def super_users(self, *, least_rights: bool, names: NodeNames = "subject") -> tuple[str, ...]:
        """As `super.users` has them, from the first start on: controllers with other nodes refuse each other's votes.
        Kedge's server is one of them where it has no rights of its own yet (`LeastRightsBegun`)."""
        members: tuple[Member, ...] = ("node",) if least_rights else ("node", "server")
        subjects, marked = (tuple(name(one) for one in members) for name in (self.principal, self.marked))
        return {"subject": subjects, "both": (*subjects, *marked), "marked": marked}[names]

    def marked(self, member: Member) -> str:
        """What `mapping_rules` make of a principal."""
        return f"User:{MARK}CN={self.common_name(member)}"

    @property
    def mapping_rules(self) -> str:
        """`ssl.principal.mapping.rules` of the listeners nodes come by, which make other names of subjects. Without
        DEFAULT at its end: what else the cluster CA might have signed gets nowhere."""
        return f"RULE:^CN=({'|'.join((self.node, self.server, self.portal, self.metrics))})$/{MARK}CN=$1/"

    @property
    def kedge(self) -> KedgePrincipals:
        """The principals of Kedge, who have their rights by ACLs (`planner.rights.kedge`)."""
        return self._of_kedge(self.principal)

    @property
    def marked_kedge(self) -> KedgePrincipals:
        """The same, by the names no token can have."""
        return self._of_kedge(self.marked)

    def _of_kedge(self, name: Callable[[Member], str]) -> KedgePrincipals:
        return MappingProxyType({"server": name("server"), "portal": name("portal"), "metrics": name("metrics")})


def principals_of(uid: ClusterUid) -> ClusterPrincipals:
    """The same for ever, from the cluster's uid alone, which is used once."""
    digits = hashlib.sha256(f"kedge principals 1 {uid}".encode()).hexdigest()[:16]
    return ClusterPrincipals(*(f"kedge-{member}-{digits}" for member in ("node", "server", "portal", "metrics")))
