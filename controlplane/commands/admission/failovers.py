"""What of a pair of clusters only these tell as they live: that they are there, and which ids their producers have."""

from collections.abc import Iterator, Mapping

from controlplane.cluster.view import ClusterView
from events.spec import problems as p
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.failover_rules import check_failover_in
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Path, Problem

_CLUSTERS: Path = ("spec", "clusters")


def check_failover_of(
    document: KafkaFailoverDocument,
    living: Mapping[str, ClusterView],
    beside: Mapping[str, KafkaClusterDocument],
    *,
    positions: Positions = NOWHERE,
) -> list[Problem]:
    """`living`: both clusters by name, an empty view where there is none, or none that the caller may see. `beside`:
    those that are declared in the same file, and count before what is in force."""
    in_force = {name: view.document for name, view in living.items() if view.document is not None}
    known = {**in_force, **beside}
    found: list[Problem] = []
    for index, name in enumerate(document.spec.clusters):
        if name not in known:
            message = f"there is no cluster `{name}`, neither in this file nor in force"
            fix = "Declare it, or name another one."
            found.append(positions.problem(p.FAILOVER_CLUSTER, (*_CLUSTERS, index), message, fix))
    found += check_failover_in(document, known, positions=positions)
    return [*found, *_producer_ids(document, living, positions)]


def _producer_ids(
    document: KafkaFailoverDocument, living: Mapping[str, ClusterView], where: Positions
) -> Iterator[Problem]:
    """Of clusters that were founded: one that was not gets ids of its own."""
    firsts: set[int] = set()
    for index, name in enumerate(document.spec.clusters):
        founding = living[name].quorum.founding
        if founding is None:
            continue
        first, path = founding.first_producer_id, (*_CLUSTERS, index)
        if first is None:
            message = f"where producer ids of {name} begin is not known: its producers would have to be restarted"
            fix = "Pair clusters that were founded with a range of their own (docs/producers.md)."
            yield where.problem(p.FAILOVER_PRODUCER_IDS, path, message, fix)
        elif first in firsts:
            message = f"producer ids of both clusters begin at {first}: producers would have to be restarted"
            yield where.problem(p.FAILOVER_PRODUCER_IDS, path, message, "Pair one of them with another cluster.")
        firsts |= {first} if first is not None else set()
