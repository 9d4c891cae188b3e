"""Which pairs are accepted: by their document alone, and with the clusters they are of."""

from collections.abc import Iterator, Mapping

from events.spec import problems as p
from events.spec.domains import domain_of
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.model import KafkaClusterDocument, PlaceSpec
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Path, Problem, shorten
from events.spec.topic_names import owner_of

_CLUSTERS: Path = ("spec", "clusters")
_DNS: Path = ("spec", "bootstrap", "dns")
_REPLICATORS_OWN = ".internal"
"""MirrorMaker's own topics end so, and it copies none that do (`DefaultReplicationPolicy.isInternalTopic`)."""


def check_failover(document: KafkaFailoverDocument, *, positions: Positions = NOWHERE) -> list[Problem]:
    """Everything wrong with a pair whose fields have the right shape, as far as it can be told without its clusters."""
    first, second = document.spec.clusters
    found = [*_mode(document, positions), *_topics(document, positions)]
    if first == second:
        message = f"`{first}` is to take over from itself"
        found.append(positions.problem(p.FAILOVER_PAIR, (*_CLUSTERS, 1), message, "Name another cluster."))
    return found


def check_failover_in(
    document: KafkaFailoverDocument, clusters: Mapping[str, KafkaClusterDocument], *, positions: Positions = NOWHERE
) -> list[Problem]:
    """What is wrong with a pair of these clusters, by their names; of one that is not among them nothing is said."""
    both = [clusters[name] for name in document.spec.clusters if name in clusters]
    found = [problem for one in both for problem in _cluster(document, one, positions)]
    if len(both) == 2 and both[0] != both[1]:
        found += _beside(document, both[0], both[1], positions)
    return found


def is_paired(document: KafkaFailoverDocument, topic: str) -> bool:
    """Whether there are two of a topic of this name, by name alone."""
    asked = document.spec.topics
    if topic.endswith(_REPLICATORS_OWN) or owner_of(topic):
        return False
    return _is_among(topic, asked.include) and not _is_among(topic, asked.exclude)


def _is_among(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in patterns)


def _mode(document: KafkaFailoverDocument, where: Positions) -> Iterator[Problem]:
    spec, path = document.spec, ("spec", "mode")
    if spec.mode == "warm" and spec.replication is None:
        fix = "Write `replication: {}`, or `mode: cold`."
        yield where.problem(p.FAILOVER_MODE, path, "a warm standby gets a copy, and nothing says how", fix)
    if spec.replication is not None and spec.replication.pool is not None:
        fix = "Leave `pool` out: a broker's VM of the standby copies, beside its broker."
        message = "this release makes no VMs that do nothing but copy"
        yield where.problem(p.FAILOVER_POOL, ("spec", "replication", "pool"), message, fix, key=True)
    yield from _not_done_yet(document, where)
    if spec.mode == "warm" and spec.standby is not None:
        fix = "Leave `standby` out: its size is what its own spec says."
        message = "a warm standby is as large as it has to be for the copy"
        yield where.problem(p.FAILOVER_MODE, ("spec", "standby"), message, fix, key=True)
    if spec.mode == "cold" and spec.replication is not None:
        fix = "Leave `replication` out, or write `mode: warm`."
        message = "nothing is copied to a cold standby"
        yield where.problem(p.FAILOVER_MODE, ("spec", "replication"), message, fix, key=True)
    if spec.mode == "cold" and spec.standby is None:
        fix = "Say under `standby` how many brokers it has while it waits."
        yield where.problem(p.FAILOVER_MODE, path, "a cold standby is small while it waits, and nothing says how", fix)
    if spec.standby is not None and spec.standby.size > (spec.standby.resize_to or spec.standby.size):
        message = f"it would shrink from {spec.standby.size} to {spec.standby.resize_to} brokers as it takes over"
        fix = "Write a `resizeTo` that is not below `size`."
        yield where.problem(p.FAILOVER_MODE, ("spec", "standby", "resizeTo"), message, fix)


def _topics(document: KafkaFailoverDocument, where: Positions) -> Iterator[Problem]:
    for index, name in enumerate(document.spec.topics.include):
        path, bare = ("spec", "topics", "include", index), name.removesuffix("*")
        owner = owner_of(bare) if not name.endswith("*") or bare else ""
        if owner:
            message = f"`{shorten(name)}` is {owner}'s own in each cluster"
            yield where.problem(p.FAILOVER_TOPIC, path, message, "Leave it out.")
        elif bare.endswith(_REPLICATORS_OWN) and bare == name:
            message = f"`{shorten(name)}` ends as the replicator's own topics do, which it never copies"
            yield where.problem(p.FAILOVER_TOPIC, path, message, "Leave it out, or give the topic another name.")
    if "*" in document.spec.topics.exclude:
        path = ("spec", "topics", "exclude", document.spec.topics.exclude.index("*"))
        yield where.problem(p.FAILOVER_TOPIC, path, "`*` leaves every topic out", "Name the topics to leave out.")


def _not_done_yet(document: KafkaFailoverDocument, where: Positions) -> Iterator[Problem]:
    policy = document.spec.failover
    if policy.after is not None:
        fix = "Leave `after` out: people are notified, and order it by `kedge failover` (docs/failover.md)."
        path = ("spec", "failover", "after")
        yield where.problem(p.FAILOVER_BY_ITSELF, path, "in this release a person fails over", fix, key=True)
    if policy.divergence != "recopy":
        message = "in this release records that only the old primary has are counted, and left to a person"
        path = ("spec", "failover", "divergence")
        yield where.problem(p.FAILOVER_BY_ITSELF, path, message, "Leave `divergence` out.", key=True)


def _cluster(document: KafkaFailoverDocument, cluster: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    name = cluster.metadata.name
    path = (*_CLUSTERS, document.spec.clusters.index(name))
    if cluster.spec.kafka.mode == "zookeeper":
        message = f"{name} is in ZooKeeper mode: its producer ids begin at 0 and are those of every such cluster"
        yield where.problem(p.FAILOVER_CLUSTER, path, message, "Migrate it to `kraft`, or name another cluster.")
    if cluster.spec.bootstrap.dns == document.spec.bootstrap.dns:
        message = f"`{document.spec.bootstrap.dns}` is the name of {name} itself, which stays with it"
        yield where.problem(p.FAILOVER_NAME, _DNS, message, "Give the pair a name of its own.")
    if cluster.spec.external is None:
        return
    if cluster.spec.security.internal == "plaintext":
        message = f"others run brokers of {name}, and nobody asks for rights there: nothing could keep writers out"
        fix = "Take its brokers over first (docs/import.md), or name another cluster."
        yield where.problem(p.FAILOVER_CLUSTER, path, message, fix)


def _beside(
    document: KafkaFailoverDocument, one: KafkaClusterDocument, other: KafkaClusterDocument, where: Positions
) -> Iterator[Problem]:
    if document.spec.mode != "warm":
        return
    mine, theirs = _places(one), _places(other)
    if mine and theirs and {place.name for place in mine} == {place.name for place in theirs}:
        message = f"both clusters are in {', '.join(sorted({place.name for place in mine}))}: what takes one takes both"
        fix = "Have the standby in another region, account or cloud."
        yield where.problem(p.FAILOVER_ONE_PLACE, _CLUSTERS, message, fix)
    for index, cluster in enumerate((one, other)):
        if cluster.spec.security.internal != "plaintext":
            message = (
                f"brokers of {cluster.metadata.name} speak TLS, and the replicator has no certificate of both clusters"
            )
            fix = "Declare `mode: cold`: this release copies between clusters in plaintext alone."
            yield where.problem(p.FAILOVER_SECURED, (*_CLUSTERS, index), message, fix)
    reached = {domain_of(place) for place in mine}, {domain_of(place) for place in theirs}
    if all(reached) and reached[0] != reached[1]:
        message = f"brokers of {one.metadata.name} and of {other.metadata.name} do not reach each other"
        fix = "Connect the networks, and have all places name the same `route`."
        yield where.problem(p.FAILOVER_ROUTE, _CLUSTERS, message, fix)


def _places(cluster: KafkaClusterDocument) -> list[PlaceSpec]:
    return [pool.place for pool in cluster.spec.broker_pools]
