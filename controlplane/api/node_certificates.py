"""Signs what nodes of a cluster show to one another: for a VM that has proved who it is, at addresses that Kedge knows.

Each certificate is an event before anybody has it. CAs are made with the first one of a cluster, when it is founded,
and the one that takes the place of another with the first one after that was asked for; a cluster that has certificates
and whose CAs are gone gets none any more until they are back.
"""

from dataclasses import dataclass
from datetime import timedelta

from agent.wire import NodeCertificateAnswer
from controlplane.cluster.believed_authorities import (
    Believed,
    believed,
    given_up_authority,
    own_names,
    root_of,
    with_next_authority,
)
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase
from controlplane.cluster.views.instances import InstanceView
from controlplane.storage.certificates.cluster_authorities import AuthorityLost, ClusterAuthorityStore
from controlplane.storage.certificates.cluster_authority import ClusterAuthorities
from controlplane.storage.streams import cluster_stream
from events import codec, envelope, facts, ids
from events.certificate_facts import ReplacedAuthority
from events.clock import Clock
from events.errors import EventIdTaken, StreamConflict
from events.store import EventStore

SOONEST = timedelta(seconds=5)
"""Between two certificates of one VM: each is an event for ever, whoever has got onto the VM and asks."""
_TRIES = 4
_AUTHORITIES_MADE, _REVOKED = "authorities.made", "certificates.revoked"


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
        made, authorities, nodes, users = self._authorities(view)
        issued = authorities.certify_node(request_pem, addresses, now=now)
        fact = facts.CertificateIssued(instance.key, issued.serial, issued.since, issued.until)
        self._record(view, made, fact, epoch)
        return NodeCertificateAnswer(
            certificate=issued.pem,
            cluster_ca=nodes.bundle,
            clients_ca=users.bundle,
            issuer=root_of(authorities.cluster.pem) if len(nodes.roots) > 1 else "",
        )

    def _authorities(self, view: ClusterView) -> tuple[object | None, ClusterAuthorities, Believed, Believed]:
        """What is made with this certificate, and is to be recorded before it; who signs; and whom nodes and users are
        recognised by. Where a CA is replaced they are those of its phase."""
        if view.vms.authorities is None:
            own = _own_names(view)
            there = self.authorities.found(view.uid, own)
            own_cluster, own_clients = own.get("cluster", ""), own.get("clients", "")
            first = facts.AuthoritiesMade(there.cluster.pem, there.clients.pem, own_cluster, own_clients)
            return first, there, _alone(there.cluster.pem), _alone(there.clients.pem)
        made, change = None, view.vms.authority_change
        if change is not None and not change.certificate and change.phase is not AuthorityPhase.OLD_ALONE:
            own_name = _own_names(view).get(change.kind, "")
            new = self.authorities.succeed(view.uid, change.kind, change.id, own_name)
            if new.pem == getattr(view.vms.authorities, change.kind):
                raise AuthorityLost(
                    f"the {change.kind} CA of {view.name} is to be replaced, and the directory of CA `{own_name}` has "
                    "no other one than nodes believe: put the new one beside it, or go back by `kedge replace-ca`"
                )
            made = facts.NextAuthorityMade(change.id, new.pem, own_name)
            view = with_next_authority(view, new.pem)
        nodes, users = believed(view, "cluster"), believed(view, "clients")
        if nodes is None or users is None:
            raise NotYet(f"the CAs of {view.name} are not known yet")
        there_now = self.authorities.of(view.uid, cluster=nodes.signer, clients=users.signer)
        if there_now is None:
            raise AuthorityLost(
                f"the CAs that nodes of cluster {view.name} believe are not in the database: restore it from a backup "
                "that has them (docs/kafka-certificates.md). What runs goes on until it is started anew"
            )
        if (given_up := given_up_authority(view)) and given_up not in (nodes.signer, users.signer):
            self.authorities.remove(view.uid, given_up)  # no phase leads back to it
        return made, there_now, nodes, users

    def _record(self, view: ClusterView, made: object | None, fact: facts.CertificateIssued, epoch: ids.Epoch) -> None:
        """Whatever else is recorded meanwhile: a certificate contradicts nothing but another phase of a CA's
        replacement. `made` is recorded first."""
        stream, version = cluster_stream(view.uid), view.version
        origin = envelope.Origin(actor="agents", epoch=epoch)
        for _ in range(_TRIES):
            events = [codec.encode(fact, ids.derived_id("certificate", stream, fact.serial))]
            if made is not None:
                events.insert(0, codec.encode(made, ids.derived_id("authorities", stream, *_of_request(made))))
            try:
                self.store.append(stream, events, expected_version=version, origin=origin)
                return
            except EventIdTaken as taken:
                raise NotYet(f"another node of {view.name} had its CA recorded at the same time") from taken
            except StreamConflict:
                meanwhile = self.store.read_stream(stream, version)
                if any(one.type.startswith("ca.") for one in meanwhile):
                    raise NotYet(f"a CA of {view.name} is replaced, and its next phase begins") from None
                if any(one.type == _REVOKED and one.data["key"] == fact.key for one in meanwhile):
                    raise NotYet(f"what was given to {fact.key} is revoked") from None
                if any(one.type == _AUTHORITIES_MADE for one in meanwhile):
                    made = None
                version += len(meanwhile)
        raise NotYet(f"others write to the history of {view.name} all the time")


def _own_names(view: ClusterView) -> dict[ReplacedAuthority, str]:
    return own_names(view.document) if view.document is not None else {}


def _alone(pem: str) -> Believed:
    return Believed(pem, (pem,))


def _of_request(made: object) -> tuple[str, ...]:
    return (made.request,) if isinstance(made, facts.NextAuthorityMade) else ()


def addresses_of(view: ClusterView, instance: InstanceView) -> tuple[str, ...]:
    """What a node is reached by, as Kedge's records have it: where its service listens, the address that stays with
    the node, that of the VM; of a broker the cluster's DNS name, too, by which clients begin."""
    known = [view.address_of(instance), view.seat_address(instance), instance.address]
    dns = view.document.spec.bootstrap.dns if view.document is not None and instance.is_broker else None
    there = [address for address in known if address]
    return tuple(dict.fromkeys((*there, *([dns] if dns and there else []))))
