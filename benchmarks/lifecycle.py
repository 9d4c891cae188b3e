"""How long the operations of a cluster's life keep it from being whole: real brokers of the local cloud, with traffic.

    python -m benchmarks lifecycle [--row NAME] [--scale N] [--out FILE]

Rows: `reattach` (a broker with 200 MiB goes to its next VM with its disk: how long it is away from its ISRs),
`controller-swap` and `zookeeper-swap` (three controllers, or servers of the ensemble, are handed over, and one gets an
empty disk: how long the quorum is not full), `disk-growth` (brokers' disks are made larger: nobody restarts, no replica
leaves an ISR), `bad-setting` (settings brokers do not start with: put back after the first one), `operations` and
`operations-zookeeper` (30 operations of all kinds, see `benchmarks.operations`: `--scale` is how many of them), and
`needless` and `needless-zookeeper` (no act of any kind while nothing is wrong: 60 s, 600 s by `--scale 10`), and
`scale-up` (three brokers become six while clients write, see `benchmarks.scale_up`).
`--scale` multiplies the data. All rows without `--row`.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from benchmarks.healing import LEDGER_MIB, SPEC as AT_REST, ZOOKEEPER as AT_REST_IN_ZOOKEEPER_MODE, rest
from benchmarks.loaded import LoadedRow, audited, on_a_cluster
from benchmarks.operations import MIB, SPEC as MIXED_KRAFT, ZOOKEEPER as MIXED_ZOOKEEPER, operations
from benchmarks.scale_up import SPEC as SCALE_UP, scale_up
from benchmarks.selection import measured
from benchmarks.watched import on_a_watched_cluster
from controlplane.api.schemas import nodes as node_api
from controlplane.kafka.errors import KafkaUnavailable
from planner.observed import PartitionSeen
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import java_processes
from tests.e2e.traffic import traffic

DATA_MIB = 200.0
LOOK_EVERY_S = 0.1
SPEC = ClusterSpec(name="lifecycle", controllers=3)
REATTACH = replace(SPEC, strategy="reattach")
ZOOKEEPER = replace(SPEC, version="3.9.1", quorum="zookeeper", join_deadline_s=120)
BAD_SETTINGS: Sequence[tuple[str, int]] = (
    ("replica.fetch.wait.max.ms", 60_000),
    ("replica.socket.timeout.ms", 100),
    ("group.consumer.min.session.timeout.ms", 70_000),
    ("group.share.min.heartbeat.interval.ms", 20_000),
)
"""Kafka holds each against another setting when it starts, and ends; the spec's own rules cannot know."""


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the rows asked for. A row that fails is told with its error, and the next one runs."""
    rows = {name: partial(on_a_cluster, row, spec, DATA_MIB) for name, (row, spec) in ROWS.items()}
    rows |= {name: partial(_operations, spec) for name, spec in MIXED.items()}
    rows |= {name: partial(on_a_watched_cluster, rest, spec, LEDGER_MIB) for name, spec in NEEDLESS.items()}
    rows["scale-up"] = partial(on_a_cluster, scale_up, SCALE_UP, 0.0)
    return measured("lifecycle", rows, arguments)


@dataclass
class Absences:
    """Seconds in which a replica that should be in its ISR was not, by broker: from its first look to its last.

    A look that gets no answer ends nothing and begins nothing.
    """

    seconds: dict[int, float] = field(default_factory=dict)
    queries: int = 0
    _since: dict[int, float] = field(default_factory=dict)

    def look(self, partitions: Sequence[PartitionSeen], now_s: float) -> None:
        self.queries += 1
        away = {b for p in partitions if not p.is_moving for b in p.replicas if b not in p.isr}
        for broker in away - self._since.keys():
            self._since[broker] = now_s
        for broker in self._since.keys() - away:
            self.seconds[broker] = self.seconds.get(broker, 0.0) + now_s - self._since.pop(broker)


@contextmanager
def observed(cluster: LivingCluster) -> Iterator[Absences]:
    """Looks ten times a second while the block runs."""
    found, over, gateway = Absences(), threading.Event(), cluster.kafka()

    def watch() -> None:
        while not over.wait(LOOK_EVERY_S):
            try:
                found.look(gateway.partitions(), time.monotonic())
            except KafkaUnavailable:
                continue

    thread = threading.Thread(target=watch, name="absences")
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def _operations(spec: ClusterSpec, scale: float) -> dict[str, Any]:
    def row(cluster: LivingCluster, _: float) -> dict[str, Any]:
        return operations(cluster, scale)

    return on_a_cluster(row, spec, MIB, 1.0)


def _reattach(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Of one broker; `handover_s` from the stop that is asked for to the end of its replacement."""
    broker, before = cluster.instance("one-a-0"), cluster.head()
    with observed(cluster) as absences, traffic(cluster.bootstrap) as workload:
        cluster.roll("one")
        cluster.event("replacement.completed", before, within_s=300)
        cluster.converged(within_s=300)
        cluster.until(lambda: not cluster.snapshot().under_replicated() or None, "full ISRs", timeout_s=120)
    same = cluster.instance("one-a-0")
    assert same.service_id == broker.service_id, "it came back under another id: nothing was reattached"
    assert not _seen(cluster, before, "drain.requested")
    asked, ended = _seen(cluster, before, "instance.fence_requested")[0], _seen(cluster, before, "instance.joined")[0]
    return {
        "away_from_isr_s": round(absences.seconds.get(broker.service_id, 0.0), 1),
        "handover_s": round((ended.at - asked.at).total_seconds(), 1),
        "others_away_s": round(sum(s for b, s in absences.seconds.items() if b != broker.service_id), 1),
    } | audited(workload)


def _swap(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Of all three controllers, or servers of the ensemble, one after the other; then of one that gets an empty disk:
    from the stop that is asked for until the node's next VM votes and follows."""
    before, node = cluster.head(), f"{CONTROLLERS}-a-0"
    with traffic(cluster.bootstrap) as workload:
        cluster.roll(CONTROLLERS)
        cluster.converged(within_s=400)
        handed_over = _gaps(cluster, before)
        after = cluster.head()
        order = node_api.ReplaceIn(reason="a benchmark", node=node, new_disk=True)
        cluster.client.replace(cluster.spec.name, order)
        cluster.event("replacement.completed", after, within_s=400)
        cluster.converged(within_s=400)
        new_disk = _gaps(cluster, after)
    assert (len(handed_over), len(new_disk)) == (3, 1), (handed_over, new_disk)
    voted = [e.type for e in _seen(cluster, after, "voter.removed") + _seen(cluster, after, "voter.added")]
    return {
        "handed_over_s": handed_over,
        "new_disk_s": new_disk[0],
        "worst_s": max(handed_over + new_disk),
        "votes_changed": voted,
    } | audited(workload)


def _gaps(cluster: LivingCluster, after: int) -> list[float]:
    """Seconds in which the quorum was not full, for each VM that was taken over."""
    asked, joined = _seen(cluster, after, "instance.fence_requested"), _seen(cluster, after, "instance.joined")
    return [round((b.at - a.at).total_seconds(), 1) for a, b in zip(asked, joined, strict=True)]


def _disk_growth(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Three brokers' disks; the controllers' stay."""
    before, vms, pids = cluster.head(), cluster.vms(), java_processes(cluster)
    began = time.monotonic()
    with observed(cluster) as absences, traffic(cluster.bootstrap) as workload:
        cluster.declare(replace(cluster.spec, disk_gib=cluster.spec.disk_gib + 2))
        cluster.event("growth.completed", before)
        first = time.monotonic() - began
        cluster.converged(within_s=200)
        grown = time.monotonic() - began
    assert (cluster.vms(), java_processes(cluster)) == (vms, pids), "somebody was started anew"
    return {
        "first_s": round(first, 1),
        "all_s": round(grown, 1),
        "disks": len(_seen(cluster, before, "growth.completed")),
        "away_from_isr_s": round(sum(absences.seconds.values()), 1),
    } | audited(workload)


def _bad_setting(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """`reverted` of `tried`; the others' processes are the same as before."""
    reverted, seconds, untouched = 0, [], True
    with traffic(cluster.bootstrap) as workload:
        for name, value in BAD_SETTINGS:
            before, pids, usual = cluster.head(), java_processes(cluster), cluster.spec
            began = time.monotonic()
            cluster.declare(replace(usual, config={**usual.config, name: value}))
            cluster.blocked("RestartReverted", within_s=200)
            seconds.append(round(time.monotonic() - began, 1))
            touched = {e.data["key"] for e in _seen(cluster, before, "restart.requested")}
            untouched &= len(touched) == 1 and all(java_processes(cluster)[k] == pids[k] for k in pids.keys() - touched)
            reverted += len(_seen(cluster, before, "restart.reverted"))
            cluster.declare(usual)
            cluster.converged(within_s=200)
    return {
        "tried": len(BAD_SETTINGS),
        "reverted": reverted,
        "others_untouched": untouched,
        "seconds": seconds,
    } | audited(workload)


def _seen(cluster: LivingCluster, after: int, kind: str) -> list[Any]:
    return [e for e in cluster.events(after) if e.type == kind]


ROWS: dict[str, tuple[LoadedRow, ClusterSpec]] = {
    "reattach": (_reattach, REATTACH),
    "controller-swap": (_swap, SPEC),
    "zookeeper-swap": (_swap, ZOOKEEPER),
    "disk-growth": (_disk_growth, SPEC),
    "bad-setting": (_bad_setting, SPEC),
}
NEEDLESS: dict[str, ClusterSpec] = {"needless": AT_REST, "needless-zookeeper": AT_REST_IN_ZOOKEEPER_MODE}
"""`rest` and `rest-zookeeper` of `benchmarks.healing`, under the name the life of a cluster has for them."""
MIXED: dict[str, ClusterSpec] = {"operations": MIXED_KRAFT, "operations-zookeeper": MIXED_ZOOKEEPER}
