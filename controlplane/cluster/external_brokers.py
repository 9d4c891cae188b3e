"""Who of a cluster is run by others: what the spec says of them, and what follows for ours. Pure."""

from collections.abc import Iterable, Mapping

from agent.host_port import HostPort
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.external import ExternalBrokerView
from events.spec.external import External
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from planner.quantities import brokers_named, human_bytes

NONE: Mapping[int, ExternalBrokerView] = {}


def declared_external(view: ClusterView) -> External | None:
    """The part of others in the spec in force."""
    return view.document.spec.external if view.document is not None else None


def is_shared(view: ClusterView) -> bool:
    """Whether others run a part of the cluster, its quorum at least: what touches all of it at once is not Kedge's."""
    return view.external is not None or declared_external(view) is not None


def external_brokers(view: ClusterView) -> Mapping[int, ExternalBrokerView]:
    """The brokers of others that are known, by id, until they have left."""
    return view.external.brokers if view.external is not None else NONE


def leaving_externals(view: ClusterView, document: KafkaClusterDocument | None = None) -> tuple[int, ...]:
    """Ids of others' brokers that the spec in force (or `document`) names no more, and that are not emptied yet."""
    spec = document.spec.external if document is not None else declared_external(view)
    stays = {b.id for b in spec.brokers} if spec is not None else set()
    return tuple(b.id for b in external_brokers(view).values() if b.id not in stays and b.empty_at is None)


def expected_brokers(view: ClusterView) -> list[int]:
    """Ids of the brokers that have to serve before anything is begun: ours that have joined, and others' that hold, or
    may hold, replicas."""
    return [*(i.service_id for i in view.brokers() if i.phase is Phase.JOINED), *expected_externals(view)]


def expected_externals(view: ClusterView) -> list[int]:
    """Of those, the ids of others' brokers."""
    return [b.id for b in external_brokers(view).values() if b.empty_at is None]


def external_addresses(view: ClusterView) -> tuple[str, ...]:
    """`host:port` of others' brokers that should answer: by the spec at first, then as Kafka told them."""
    spec = declared_external(view)
    running = tuple(b.address for b in external_brokers(view).values() if b.stopped_at is None)
    if spec is None or view.external is not None:
        return running
    return tuple(str(HostPort(b.host, b.port)) for b in spec.brokers)


def client_addresses(view: ClusterView) -> tuple[str, ...]:
    """Of those, the ones clients are told: of brokers that stay, and while nobody of ours serves, of all."""
    leaving = set(leaving_externals(view))
    staying = [b for b in external_brokers(view).values() if b.empty_at is None and b.id not in leaving]
    if staying or view.receivers():
        return tuple(b.address for b in staying)
    return external_addresses(view)


def external_sentences(
    view: ClusterView, document: KafkaClusterDocument, snapshot: KafkaSnapshot | None
) -> tuple[str, ...]:
    """What a plan says of the part of others: taken on, or emptied onto the pools."""
    external = document.spec.external
    if external is None:
        return ()
    if view.external is None:
        brokers, voters = len(external.brokers), len(external.controllers)
        return (f"imported: {brokers} brokers and {voters} voters that others run are watched, and never touched",)
    leaving = leaving_externals(view, document)
    if not leaving:
        return ()
    partitions = snapshot.partitions if snapshot is not None else ()
    held = sum(p.size_bytes * len(set(p.target) & set(leaving)) for p in partitions)
    amount = f"about {human_bytes(held)}" if snapshot is not None else "an unknown amount"
    return (
        f"{named(leaving)}: emptied onto the pools, {amount} copied; then stopped by their owner, not by Kedge. The "
        "way back is their lines in the spec, until they are stopped",
    )


def other_voters(external: External, kafka: KafkaSnapshot) -> str:
    """How the voters of the spec are not those Kafka has, in words; "" where they are the same."""
    voters = {m.id for m in kafka.quorum.members if m.is_voter}
    differ = sorted(voters ^ {c.id for c in external.controllers})
    if not differ:
        return ""
    ids = ", ".join(map(str, sorted(voters)))
    return f"the quorum's voters are {ids}, and the spec says otherwise of {', '.join(map(str, differ))}"


def named(brokers: Iterable[int]) -> str:
    """`external broker 1`, or `external brokers 1, 2`."""
    return f"external {brokers_named(sorted(brokers))}"
