"""What the pairs of one file say together, and beside the clusters and topics of the same file."""

from collections.abc import Iterator, Sequence

from events.spec import problems as p
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.failover_rules import check_failover_in, is_paired
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.spec.settings import broker_count
from events.spec.topic_model import KafkaTopicDocument
from events.spec.topic_tiers import effective_replicas

Placed = tuple[KafkaFailoverDocument, Positions]
PlacedTopic = tuple[KafkaTopicDocument, Positions]


def failovers_together(
    clusters: Sequence[KafkaClusterDocument], topics: Sequence[PlacedTopic], failovers: Sequence[Placed]
) -> Iterator[Problem]:
    """Clusters in two pairs, names of two, and what their clusters and topics, as far as they are in the file, make
    impossible."""
    by_name = {cluster.metadata.name: cluster for cluster in clusters}
    yield from _taken_twice(failovers)
    for document, where in failovers:
        yield from check_failover_in(document, by_name, positions=where)
        yield from _of_topics(document, by_name, topics)


def _taken_twice(failovers: Sequence[Placed]) -> Iterator[Problem]:
    names: dict[str, str] = {}
    paired: dict[str, str] = {}
    pairs: set[str] = set()
    for document, where in failovers:
        if document.pair in pairs:
            message = f"the pair `{document.pair}` is declared twice in this file"
            yield where.problem(p.FAILOVER_PAIR, ("metadata", "name"), message, "Keep one of the documents.")
            continue
        pairs.add(document.pair)
        dns = document.spec.bootstrap.dns
        if dns in names:
            message = f"`{dns}` is the name of the pair `{names[dns]}`, too"
            fix = "Give each pair a name of its own."
            yield where.problem(p.FAILOVER_NAME, ("spec", "bootstrap", "dns"), message, fix)
        names.setdefault(dns, document.pair)
        for index, cluster in enumerate(document.spec.clusters):
            other = paired.setdefault(cluster, document.pair)
            if other != document.pair:
                message = f"{cluster} is in the pair `{other}`, too: both would say who may write to it"
                fix = "Name another cluster, or take that pair away."
                yield where.problem(p.FAILOVER_PAIR, ("spec", "clusters", index), message, fix)


def _of_topics(
    document: KafkaFailoverDocument, clusters: dict[str, KafkaClusterDocument], topics: Sequence[PlacedTopic]
) -> Iterator[Problem]:
    """Topics of the pair, each at its own document."""
    other_of = dict(zip(document.spec.clusters, reversed(document.spec.clusters), strict=True))
    homes: dict[str, str] = {}
    for topic, where in topics:
        home = topic.spec.cluster
        if home not in other_of or topic.spec.tier == "scratch" or not is_paired(document, topic.topic):
            continue
        if homes.setdefault(topic.topic, home) != home:
            message = f"`{topic.topic}` is declared of {homes[topic.topic]}, its pair's other cluster, too"
            fix = f"Keep that of the primary, whose topic the standby follows, or exclude it from `{document.pair}`."
            yield where.problem(p.FAILOVER_TOPIC, ("spec", "cluster"), message, fix)
        standby = clusters.get(other_of[home])
        if standby is None or home not in clusters:
            continue
        replicas, brokers = effective_replicas(topic, clusters[home]), _brokers(document, standby)
        if brokers is not None and replicas > brokers:
            message = f"`{topic.topic}` has {replicas} replicas, and {standby.metadata.name} has {brokers} brokers"
            fix = "Grow the standby, take fewer replicas, or leave the topic out of the pair."
            yield where.problem(p.FAILOVER_REPLICAS, ("spec", "replicas"), message, fix)


def _brokers(document: KafkaFailoverDocument, standby: KafkaClusterDocument) -> int | None:
    """Brokers it has when it takes over; None for as many as the primary."""
    if document.spec.standby is not None:
        return document.spec.standby.resize_to
    external = standby.spec.external
    foreign = len(external.brokers) if external is not None else 0
    return foreign + broker_count(standby.spec.pools)
