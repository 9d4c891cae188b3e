"""Brokers that a person gave up: what is on them while they do not serve, or in log directories of theirs that are
offline while they do, counts as lost and is made anew elsewhere."""

from collections.abc import Mapping

from controlplane.cluster.view import ClusterView
from planner.observed import KafkaSnapshot, TopicPartition


def given_up(view: ClusterView, kafka: KafkaSnapshot) -> frozenset[int]:
    """Ids of those that do not serve. Of one that does only what is in failed directories is lost."""
    asked = view.requests.offline
    return frozenset(asked) - kafka.live_brokers() if asked else frozenset()


def given_up_replicas(view: ClusterView, kafka: KafkaSnapshot) -> Mapping[TopicPartition, frozenset[int]]:
    """Replicas in failed log directories of brokers that serve and are given up, by partition. A broker that has not
    told of its directories has none."""
    found: dict[TopicPartition, frozenset[int]] = {}
    for broker in sorted(view.requests.offline.keys() & kafka.failed_dirs.keys() & kafka.live_brokers()):
        for p in kafka.in_failed_dirs(broker):
            found[p.name] = found.get(p.name, frozenset()) | {broker}
    return found


def over_with(view: ClusterView, kafka: KafkaSnapshot) -> tuple[tuple[int, ...], str]:
    """Those that are given up no more, and why; none while replicas on them are still to be made anew, or while nobody
    knows whether the log directories of one that serves are all online."""
    asked, live = view.requests.offline, kafka.live_brokers()
    back = tuple(sorted(b for b in asked.keys() & live if b in kafka.log_dirs and b not in kafka.failed_dirs))
    if back:
        return back, "it serves again" if len(back) == 1 else "they serve again"
    held = {b for p in kafka.partitions for b in (*p.replicas, *p.adding)}
    empty = tuple(sorted(asked.keys() - held))
    if empty:
        return empty, "no replica is on it any more" if len(empty) == 1 else "no replica is on them any more"
    sound = tuple(
        sorted(
            b
            for b in asked.keys() & live
            if (failed := kafka.failed_dirs.get(b)) is not None
            and failed.held is not None
            and not kafka.in_failed_dirs(b)
        )
    )
    return sound, "no replica is in its failed log directories any more" if len(sound) == 1 else (
        "no replica is in their failed log directories any more"
    )
