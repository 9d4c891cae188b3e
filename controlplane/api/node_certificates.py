"""Signs what nodes of a cluster show to one another: for a VM that has proved who it is, at addresses that Kedge knows.

Each certificate is an event before anybody has it. CAs are made with the first one of a cluster, when it is founded;
a cluster that has certificates and whose CAs are gone gets none any more until they are back.
"""

from dataclasses import dataclass
from datetime import timedelta

from agent.wire import NodeCertificateAnswer
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.storage.certificates.cluster_authorities import AuthorityLost, ClusterAuthorityStore
from controlplane.storage.certificates.cluster_authority import ClusterAuthorities
from controlplane.storage.streams import cluster_stream
from events import codec, envelope, facts, ids
from events.clock import Clock
from events.errors import StreamConflict
from events.store import EventStore

SOONEST = timedelta(seconds=5)
"""Between two certificates of one VM: each is an event for ever, whoever has got onto the VM and asks."""
_TRIES = 4
_AUTHORITIES_MADE = "authorities.made"


class NotYet(Exception):
    """Nothing is signed now. What now: retry later; the words say why."""


@dataclass(frozen=True, slots=True)
class NodeCertificates:
    """Thread-safe."""

    store: EventStore
    authorities: ClusterAuthorityStore
    clock: Clock

    def certify(
        self, view: ClusterView, instance: InstanceView, request_pem: str, *, epoch: ids.Epoch
    ) -> NodeCertificateAnswer:
        """For a VM of a cluster that is being founded, or was. Raises RequestRefused, NotYet, AuthorityLost,
        StoreUnavailable."""
        now, last = self.clock(), view.vms.certificates.get(instance.key)
        if last is not None and timedelta() <= now - last.since < SOONEST:
            raise NotYet(f"{instance.key} got a certificate {(now - last.since).total_seconds():.0f} s ago")
        addresses = addresses_of(view, instance)
        if not addresses:
            raise NotYet(f"no address of {instance.key} is known yet")
        authorities = self._of(view)
        issued = authorities.certify_node(request_pem, addresses, now=now)
        fact = facts.CertificateIssued(instance.key, issued.serial, issued.since, issued.until)
        self._record(view, authorities, fact, epoch)
        return NodeCertificateAnswer(
            certificate=issued.pem, cluster_ca=authorities.cluster.pem, clients_ca=authorities.clients.pem
        )

    def _of(self, view: ClusterView) -> ClusterAuthorities:
        there, known = self.authorities.of(view.uid), view.vms.authorities
        if known is None:
            return there if there is not None else self.authorities.found(view.uid)
        if there is None or there.cluster.pem != known.cluster:
            raise AuthorityLost(
                f"the CAs that nodes of cluster {view.name} believe are not in the database: restore it from a backup "
                "that has them (docs/kafka-security.md). What runs goes on until it is started anew"
            )
        return there

    def _record(
        self, view: ClusterView, authorities: ClusterAuthorities, fact: facts.CertificateIssued, epoch: ids.Epoch
    ) -> None:
        """Whatever else is recorded meanwhile: a certificate contradicts nothing. The CAs come with the first one."""
        stream, version, known = cluster_stream(view.uid), view.version, view.vms.authorities is not None
        made = facts.AuthoritiesMade(authorities.cluster.pem, authorities.clients.pem)
        origin = envelope.Origin(actor="agents", epoch=epoch)
        for _ in range(_TRIES):
            events = [codec.encode(fact, ids.derived_id("certificate", stream, fact.serial))]
            if not known:
                events.insert(0, codec.encode(made, ids.derived_id("authorities", stream)))
            try:
                self.store.append(stream, events, expected_version=version, origin=origin)
                return
            except StreamConflict:
                meanwhile = self.store.read_stream(stream, version)
                known = known or any(one.type == _AUTHORITIES_MADE for one in meanwhile)
                version += len(meanwhile)
        raise NotYet(f"others write to the history of {view.name} all the time")


def addresses_of(view: ClusterView, instance: InstanceView) -> tuple[str, ...]:
    """What a node is reached by, as Kedge's records have it: where its service listens, the address that stays with
    the node, that of the VM; of a broker the cluster's DNS name, too, by which clients begin."""
    known = [view.address_of(instance), view.seat_address(instance), instance.address]
    dns = view.document.spec.bootstrap.dns if view.document is not None and instance.is_broker else None
    there = [address for address in known if address]
    return tuple(dict.fromkeys((*there, *([dns] if dns and there else []))))
