"""Who of a simulated cluster in ZooKeeper mode finds whom on the way to TLS, and who may change what in ZooKeeper.

As ZooKeeper 3.8 does it: a server dials the others in plaintext until Z2, and takes by `portUnification` what it is not
dialled by itself; clients are served at 2181 while the file of a server or the membership says so, and at 2182 where
its file does. As Kafka does it: with `zookeeper.set.acl` what a broker makes only one that has a certificate changes.
Controllers of a migration come to the ensemble as brokers do, and to brokers of ZooKeeper's mode.
"""

from collections.abc import Iterable

from agent.wire import ServiceDocument
from controlplane.kafka.zookeeper.content import EnsembleContent
from controlplane.kafka.zookeeper.members import PLAIN_PORT, SECURE_PORT


class SimEnsemble:
    """What the ensemble keeps itself, beside the cluster's id."""

    def __init__(self) -> None:
        self.names_plain = True
        """Whether the membership says where servers listen in plaintext."""
        self.has_owned = False
        """Whether anything in it is the nodes' own."""
        self.mark = ""
        """For which step its nodes were last made somebody's."""

    def is_right(self, wanted: EnsembleContent) -> bool:
        if wanted.part == "membership":
            return self.names_plain is not wanted.is_secure
        return self.mark == f"{wanted.is_secure} {wanted.mark}"

    def begin(self, wanted: EnsembleContent) -> None:
        """The first half of it."""
        self.has_owned = self.has_owned or wanted.part == "owners"

    def put(self, wanted: EnsembleContent) -> None:
        if wanted.part == "membership":
            self.names_plain = not wanted.is_secure
        else:
            self.has_owned, self.mark = wanted.is_secure, f"{wanted.is_secure} {wanted.mark}"

    def not_found(self, starting: ServiceDocument, running: Iterable[ServiceDocument]) -> str:
        """Who does not find whom, or may not write, once that service runs beside these; "" where all is well."""
        others = [s for s in running if (s.name, s.node_id) != (starting.name, starting.node_id)]
        there = [*others, starting]
        servers = [s for s in there if s.name == "zookeeper"]
        brokers = [s for s in there if s.name == "broker"]
        clients = [s for s in there if s.name != "zookeeper" and s.ensemble]
        for one in servers:
            deaf = next((s for s in servers if _dials(one) not in _takes(s)), None)
            if deaf is not None:
                return f"server {one.node_id} dials {_dials(one)}, and server {deaf.node_id} does not take it"
        for client in clients:
            ports = {member.port for member in client.ensemble}
            deaf = next((s for s in servers if not ports <= self._served(s)), None)
            if deaf is not None:
                said = f"{client.name} {client.node_id} comes to {ports}"
                return f"{said}, and server {deaf.node_id} does not listen there"
        if _owns(starting):
            self.has_owned = True
        shut_out = next((c for c in clients if c.tls is None), None)
        if self.has_owned and shut_out is not None:
            said = f"{shut_out.name} {shut_out.node_id} comes in plaintext"
            return f"{said}, and may not change what is the nodes' own"
        controllers = [c for c in clients if c.name == "controller"]
        return _deaf_broker(brokers, (*brokers, *controllers))

    def _served(self, server: ServiceDocument) -> set[int]:
        if server.tls is None:
            return {server.port} if self.names_plain or server.port != PLAIN_PORT else set()
        return {SECURE_PORT, server.tls.plain_port} if server.tls.step is not None else {SECURE_PORT}


def _owns(service: ServiceDocument) -> bool:
    return service.name != "zookeeper" and service.tls is not None and service.tls.step != "B1"


def _dials(server: ServiceDocument) -> str:
    return "plaintext" if server.tls is None or server.tls.step == "Z1" else "TLS"


def _takes(server: ServiceDocument) -> set[str]:
    if server.tls is not None and server.tls.step is not None:
        return {"plaintext", "TLS"}
    return {_dials(server)}


def _deaf_broker(brokers: Iterable[ServiceDocument], dialling: Iterable[ServiceDocument]) -> str:
    there = [
        (b, {"PLAINTEXT"} if b.tls is None else {"REPLICATION", *(one.name for one in b.tls.listeners)})
        for b in brokers
    ]
    for one in dialling:
        dials = "PLAINTEXT" if one.tls is None or one.tls.step == "B1" else "REPLICATION"
        deaf = next((b for b, names in there if b is not one and dials not in names), None)
        if deaf is not None:
            said = f"{one.name} {one.node_id} dials brokers by {dials}"
            return f"{said}, and broker {deaf.node_id} does not listen by it"
    return ""
