"""Reads what is left: inventories by tag, agents' disks where a cloud shows them, and live Kafka. Changes nothing."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import SecretBytes, ValidationError

from agent.host_port import HostPort
from agent.wire import BootData, Document
from controlplane.api.auth import enrolment_token
from controlplane.cluster.view import TLS_BROKER_PORT
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.gateway import KafkaGateway
from controlplane.server.rebuild.evidence import DeclaredSpec, FoundCluster, FoundVm, RebuildEvidence
from controlplane.storage.certificates.authority_copy import CopiedAuthorities
from controlplane.storage.certificates.cluster_authorities import AuthorityLost
from events import facts
from events.ids import ClusterUid, IntentId
from events.spec.birth import settled_as
from planner.observed import KafkaSnapshot
from providers.base import CloudProvider, InstanceState, Listing, Place
from providers.traces import AgentTrace, ReadsAgents, RemembersTheGone, SeesForeignVms

DEFAULT_PORT = 9092

Cloud = Callable[[str], CloudProvider]
Dial = Callable[[FoundCluster, Sequence[str]], KafkaGateway]
"""(cluster, `host:port` of brokers) -> gateway. One that speaks TLS has its CAs by then."""


def places_asked(specs: Iterable[DeclaredSpec], more: Iterable[Place]) -> tuple[Place, ...]:
    """Places the specs name, and those a person named besides."""
    named = {Place(p.place.cloud, p.place.region, p.place.account) for s in specs for p in s.document.spec.pools}
    return tuple(sorted({*named, *more}, key=str))


def read_evidence(
    places: Sequence[Place],
    specs: Sequence[DeclaredSpec],
    *,
    cloud: Cloud,
    dial: Dial,
    installation_id: str,
    server_key: SecretBytes | None,
    authorities: CopiedAuthorities | None = None,
) -> RebuildEvidence:
    """All there is; `authorities` are the CAs of clusters that a copy has.

    Raises ProviderError when a place cannot be read: what is unknown is not empty.
    """
    listings = {place: cloud(place.cloud).list_place(place) for place in places}
    traces: dict[str, AgentTrace] = {}
    spent: dict[str, dict[str, int]] = defaultdict(dict)
    forgetful: set[Place] = set()
    foreign_vms: dict[str, int] = {}
    for place in places:
        provider = cloud(place.cloud)
        if isinstance(provider, ReadsAgents):
            traces.update(provider.agent_traces(place))
        if isinstance(provider, RemembersTheGone):
            for (uid, node), generation in provider.spent_generations(place).items():
                spent[uid][node] = generation
        else:
            forgetful.add(place)
        if isinstance(provider, SeesForeignVms):
            foreign_vms.update(provider.foreign_vms(place))
    uids = sorted({i.cluster_uid for listing in listings.values() for i in listing.instances})
    read = (_found(ClusterUid(uid), listings, traces, None if forgetful else spent[uid]) for uid in uids)
    found = [_with_authorities(c, authorities) for c in read]
    specs = [as_it_lives(spec, found) for spec in specs]
    ports = {s.name: _brokers_port(s) for s in specs}
    sealed = {s.name for s in specs if s.document.spec.security.internal == "tls"}
    clusters = tuple(
        replace(c, kafka_missing="its brokers speak TLS, and no CA of theirs is known")
        if c.authorities is None and (c.name in sealed or _speaks_tls(c))
        else _with_kafka(c, dial, ports.get(c.name, DEFAULT_PORT))
        for c in found
    )
    return RebuildEvidence(
        installation_id, tuple(places), clusters, tuple(specs), foreign_vms, _key_fits(server_key, clusters)
    )


def _found(
    uid: ClusterUid,
    listings: Mapping[Place, Listing],
    traces: Mapping[str, AgentTrace],
    spent: Mapping[str, int] | None,
) -> FoundCluster:
    seen = [(i, place) for place, listing in listings.items() for i in listing.instances if i.cluster_uid == uid]
    there = [p for p, listing in listings.items() if any(i.cluster_uid == uid for i in listing.instances)]
    addresses = [(o, a) for listing in listings.values() for o, a in listing.node_addresses.items()]
    return FoundCluster(
        uid=uid,
        name=next((i.cluster_name for i, _ in seen if i.cluster_name), ""),
        places=tuple(there),
        vms=tuple(
            FoundVm(i, _document(uid, i.key, traces.get(i.id)), _boot(traces.get(i.id)), place)
            for i, place in sorted(seen, key=lambda found: (found[0].node, found[0].generation))
        ),
        volumes={v.key: v for listing in listings.values() for v in listing.volumes if v.cluster_uid == uid},
        node_addresses={node: address for (owner, node), address in addresses if owner == uid},
        spent=spent,
    )


def _document(uid: str, key: str, trace: AgentTrace | None) -> Document | None:
    """None for one that is missing, damaged, or another VM's."""
    try:
        document = Document.model_validate_json(trace.document) if trace and trace.document else None
    except ValidationError:
        return None
    if document is None or (document.cluster_uid, f"{document.node}.g{document.generation}") != (uid, key):
        return None
    return document


def _boot(trace: AgentTrace | None) -> BootData | None:
    try:
        return BootData.model_validate_json(trace.boot_data) if trace and trace.boot_data else None
    except ValidationError:
        return None


def as_it_lives(spec: DeclaredSpec, found: Sequence[FoundCluster]) -> DeclaredSpec:
    """Where the file leaves to its preset what nodes speak, it is what they do: such a cluster has CAs, or tells."""
    living = [one for one in found if one.name == spec.name]
    speaks_tls = any(_speaks_tls(one) or one.authorities is not None for one in living)
    return replace(spec, document=settled_as(spec.document, "tls" if speaks_tls else "plaintext"))


def _brokers_port(spec: DeclaredSpec) -> int:
    """Where Kedge is let in, unless an agent was told of another one."""
    declared = spec.document.spec
    return TLS_BROKER_PORT if declared.security.internal == "tls" else declared.listeners[0].port


def _speaks_tls(found: FoundCluster) -> bool:
    return any(vm.service is not None and vm.service.tls is not None for vm in found.vms)


def _with_authorities(found: FoundCluster, authorities: CopiedAuthorities | None) -> FoundCluster:
    if authorities is None:
        return found
    try:
        there = authorities.of(found.uid)
    except AuthorityLost as error:
        return replace(found, authorities_missing=str(error))
    if there is None:
        return found
    return replace(found, authorities=facts.AuthoritiesMade(there.cluster.pem, there.clients.pem))


def _with_kafka(found: FoundCluster, dial: Dial, port: int) -> FoundCluster:
    kafka, missing = _snapshot(found, dial, port)
    return replace(found, kafka=kafka, kafka_missing=missing)


def _snapshot(found: FoundCluster, dial: Dial, port: int) -> tuple[KafkaSnapshot | None, str]:
    bootstrap = [
        str(HostPort(vm.seen.address, vm.service.port if vm.service else port))
        for vm in found.vms
        if vm.seen.state is InstanceState.RUNNING and vm.seen.address
        if (vm.service.name == "broker" if vm.service else vm.seen.node not in found.node_addresses)
    ]
    if not bootstrap:
        return None, "no broker runs"
    try:
        return dial(found, bootstrap).snapshot(), ""
    except KafkaFault as error:
        return None, str(error)


def _key_fits(server_key: SecretBytes | None, clusters: Iterable[FoundCluster]) -> bool | None:
    boots = [vm.boot for c in clusters for vm in c.vms if vm.boot]
    if not boots:
        return None
    if server_key is None:
        return False
    return all(enrolment_token(server_key, IntentId(b.intent_id)) == b.token.get_secret_value() for b in boots)
