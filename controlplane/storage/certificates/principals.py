"""Who Kafka takes a node and Kedge's server for: the one place that makes these names, and `super.users` of them.

A principal is a text to Kafka, wherever it comes from: a SCRAM user or a token of somebody else that is called as a
node is one. So the names hold `=`, which no user's name may have, and end in digits of their cluster. They are no
secret: who may read a broker's settings reads them.
"""

import hashlib
from dataclasses import dataclass

from events.ids import ClusterUid


@dataclass(frozen=True, slots=True)
class ClusterPrincipals:
    """Common names of one cluster. All nodes have one, and the subject has nothing else: of several RDNs Kafka reads
    the last one first, and `super.users` can only be changed by restarts, which an id for each broker would ask for."""

    node: str
    server: str

    @property
    def super_users(self) -> tuple[str, ...]:
        """As `super.users` has them, from the first start on: controllers with others refuse each other's votes."""
        return (f"User:CN={self.node}", f"User:CN={self.server}")


def principals_of(uid: ClusterUid) -> ClusterPrincipals:
    """The same for ever, from the cluster's uid alone, which is used once."""
    digits = hashlib.sha256(f"kedge principals 1 {uid}".encode()).hexdigest()[:16]
    return ClusterPrincipals(node=f"kedge-node-{digits}", server=f"kedge-server-{digits}")
