"""Two brokers of different racks lost in the same moment, in the middle of a roll and under traffic: partitions of both
are left with one replica. What destroys waits and says why; then all is as declared, with nothing lost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread

import pytest

from controlplane.api.schemas import clusters as api
from controlplane.cli.errors import CliError
from controlplane.kafka.errors import KafkaUnavailable
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(520)]

THREE = ClusterSpec(name="twolost", join_deadline_s=180)
SPEC = replace(THREE, sizes=dict.fromkeys(THREE.sizes, 2))
"""Six brokers are born at once, which takes its time on a machine with other work."""

BULK_PARTITIONS, BULK_BYTES = 12, 8 * 1024 * 1024
"""So that the drain still runs, at 4 MiB/s, when the loss is noticed on a machine with other work."""
FILLED_WITHIN_S = 240.0
DESTROYS = ("instance.fence_requested", "retire.requested", "restart.requested")


def test_two_brokers_of_different_racks_lost_at_once_are_made_anew_one_by_one_and_filled_with_nothing_lost(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    create_topic(
        cluster.bootstrap(), "bulk", partitions=BULK_PARTITIONS, rf=3, min_isr=2, bytes_per_partition=BULK_BYTES
    )
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload, _watched(cluster) as seen:
        before = cluster.roll_slowly("one")
        dead = {i.key: i.service_id for i in map(cluster.instance, ("two-b-0", "three-c-0"))}
        thin = [p for p in cluster.snapshot().partitions if set(dead.values()) <= set(p.replicas)]
        assert thin, "no partition has replicas on both: nothing would be held by one broker alone"
        for key in dead:
            cluster.power_cut(key)
        noticed = [cluster.event("instance.lost", before, where=key).position for key in dead]
        postponed = cluster.event("drain.abandoned", before)
        cluster.declare(replace(cluster.spec, throttle_mib_per_s=64))
        drained = cluster.event("instance.drained", min(noticed), where="two-b-0.g", within_s=FILLED_WITHIN_S)
        settled(cluster, within_s=FILLED_WITHIN_S)

    history = cluster.events(before)
    _nobody_was_stopped(history, min(noticed), drained.position)
    _one_rack_after_the_other(history, min(noticed), drained.position)
    gone = {e.data["key"]: e.position for e in history if e.type == "broker.unregistered" and e.data["key"] in dead}
    assert gone.keys() == dead.keys()
    assert min(gone.values()) > drained.position, "ids are unregistered last, once no partition names them"
    assert seen.named_though_unregistered == [], "a partition named a broker that nobody knew any more"
    print(f"{workload.acknowledged} acknowledged, none lost; {len(thin)} partitions had both; it said:", *seen.said)
    assert postponed.data["reason"] in {f"broker {broker} died" for broker in dead.values()}, "it says why it stopped"


def _nobody_was_stopped(history: list[api.EventOut], begin: int, filled: int) -> None:
    """From the loss until both successors hold what the lost ones had."""
    between = [(e.type, e.data) for e in history if begin < e.position < filled and e.type in DESTROYS]
    assert between == [], "destroyed while two racks lacked a broker"


def _one_rack_after_the_other(history: list[api.EventOut], begin: int, filled: int) -> None:
    """A successor is asked for once the one before it has joined; both are there before anything is copied."""
    steps = [
        (e.type, tuple(i["rack"] for i in e.data["instances"]) if e.type == "surge.requested" else ())
        for e in history
        if begin < e.position <= filled and e.type in ("surge.requested", "instance.joined", "drain.batch_started")
    ]
    surges = [racks for kind, racks in steps if kind == "surge.requested"]
    assert sorted(surges) == [("b",), ("c",)], steps
    kinds = [kind for kind, _ in steps if kind != "drain.batch_started"]
    assert kinds == ["surge.requested", "instance.joined"] * 2, steps


class _Seen:
    """What somebody who looks on gets to know while the block runs."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.named_though_unregistered: list[str] = []


@contextmanager
def _watched(cluster: LivingCluster) -> Iterator[_Seen]:
    seen, leaving = _Seen(), Event()

    def look() -> None:
        sentence = cluster.detail().sentence
        if sentence and sentence not in seen.said[-1:]:
            seen.said.append(sentence)
        snapshot = cluster.kafka().snapshot()
        unknown = [p for p in snapshot.partitions if not set(p.replicas) <= snapshot.brokers.keys()]
        seen.named_though_unregistered.extend(f"{p.name}: {p.replicas}" for p in unknown)

    def run() -> None:
        while not leaving.wait(0.5):
            try:
                look()
            except (CliError, KafkaUnavailable):
                continue  # a broker has just gone, or the server was busy: the next look tells

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        leaving.set()
        thread.join(60)
