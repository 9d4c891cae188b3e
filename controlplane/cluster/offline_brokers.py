"""Brokers that a person gave up, and that do not serve: their replicas count as lost, and are made anew elsewhere."""

from controlplane.cluster.view import ClusterView
from planner.observed import KafkaSnapshot


def given_up(view: ClusterView, kafka: KafkaSnapshot) -> frozenset[int]:
    """Their ids. One that serves again is not among them: what it holds is worth keeping."""
    asked = view.requests.offline
    return frozenset(asked) - kafka.live_brokers() if asked else frozenset()


def over_with(view: ClusterView, kafka: KafkaSnapshot) -> tuple[tuple[int, ...], str]:
    """Those that are given up no more, and why; none while replicas on them are still to be made anew."""
    asked = view.requests.offline
    back = tuple(sorted(asked.keys() & kafka.live_brokers()))
    if back:
        return back, "it serves again" if len(back) == 1 else "they serve again"
    held = {b for p in kafka.partitions for b in (*p.replicas, *p.adding)}
    empty = tuple(sorted(asked.keys() - held))
    return empty, "no replica is on it any more" if len(empty) == 1 else "no replica is on them any more"
