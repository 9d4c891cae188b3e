"""A drain on real brokers while producers write: does it reach the rate its certificate promises, and stay under it?

    python -m benchmarks live

Four brokers and a controller on loopback addresses, a topic of 2 GiB with three replicas, a producer at a steady rate;
broker 1000 is emptied into 1010 by the converger's own step. Each second the target's log directories are read.
`rate_ratio` is what arrived over what was promised; `worst_10s_ratio` the highest mean of any ten seconds over the
promise. What producers write to partitions that have arrived counts in neither: it is no copy.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.workload import Workload
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.live_drain import SUCCESSOR, LiveDrain, Tick
from tests.waiting import until

MIB = 2**20
PARTITIONS = 48
BROKERS = {1000: "a", 1001: "b", 1002: "c", SUCCESSOR: "a"}
WINDOW_S = 10.0


def main() -> dict[str, Any]:
    """KEDGE_LIVE_MIB (default 2048) and KEDGE_LIVE_MIB_PER_S (default 30) change the size and the promise."""
    size = int(os.environ.get("KEDGE_LIVE_MIB", "2048")) * MIB
    bandwidth = int(os.environ.get("KEDGE_LIVE_MIB_PER_S", "30")) * MIB
    with tempfile.TemporaryDirectory(prefix="kedge-live-") as work:
        kafka = KafkaProcesses(Path(work) / "kafka", network="127.0.64")
        dialer = DirectDialer()
        gateway = AdminGateway(dialer, "live", lambda: kafka.bootstrap)
        try:
            return _measured(kafka, gateway, size, bandwidth)
        finally:
            dialer.close()
            kafka.close()


def _measured(kafka: KafkaProcesses, gateway: AdminGateway, size: int, bandwidth: int) -> dict[str, Any]:
    _started(kafka, gateway)
    create_topic(kafka.bootstrap, "orders", partitions=PARTITIONS, rf=3, bytes_per_partition=size // PARTITIONS)
    create_topic(kafka.bootstrap, "traffic", partitions=6, rf=3)
    kafka.start(SUCCESSOR)
    until(lambda: SUCCESSOR in _live(gateway), "the successor", timeout_s=120)
    traffic = Workload(lambda: kafka.bootstrap, "traffic", records_per_s=500)
    traffic.start()
    # the group's offsets topic has to be there before the plan, or it would be a second round
    until(lambda: traffic.consumed > 0, "traffic both ways", timeout_s=120)
    try:
        drain = LiveDrain.planned(gateway, bandwidth_bytes_per_s=bandwidth)
        began = time.monotonic()
        ticks = []
        for tick in drain.carried_out(within_s=1200):
            ticks.append(tick)
            print(f"{tick.at_s:6.1f} s  {tick.held_bytes / MIB:7.1f} MiB  {tick.open_moves} open  {tick.sentence}")
        seconds = time.monotonic() - began
    finally:
        traffic.stop()
    audit = traffic.audit()
    return _figures(drain, ticks, seconds) | {"lost": audit.lost, "acknowledged": audit.acknowledged}


def _figures(drain: LiveDrain, ticks: list[Tick], seconds: float) -> dict[str, Any]:
    port, makespan = drain.plan.into[SUCCESSOR], drain.plan.certificate.measures.makespan_s
    copied = sum(m.bytes for m in drain.plan.moves)
    copying = _copying(ticks, copied)
    worst = max(_window_rates(ticks), default=0.0)
    return {
        "bytes": copied,
        "promised_bytes_per_s": port.promised_bytes_per_s,
        "quota_bytes_per_s": port.quota_bytes_per_s,
        "makespan_s": {"value": makespan.value, "bound": makespan.bound},
        "copied_s": round(copying, 1),
        "drained_s": round(seconds, 1),
        "rate_bytes_per_s": round(copied / copying),
        "rate_ratio": round(copied / copying / port.promised_bytes_per_s, 3),
        "worst_10s_ratio": round(worst / port.promised_bytes_per_s, 3),
        "sources_moved": drain.elected,
        "most_open": max(t.open_moves for t in ticks),
    }


def _copying(ticks: list[Tick], copied: int) -> float:
    """Seconds from the first hand-over to the tick that saw the last byte."""
    begins = next(t.at_s for t in ticks if "handing" in t.sentence)
    ends = next((t.at_s for t in ticks if t.held_bytes >= copied), ticks[-1].at_s)
    return ends - begins


def _window_rates(ticks: list[Tick]) -> list[float]:
    """Mean bytes/s of every stretch of at least ten seconds between two readings."""
    rates = []
    for first in ticks:
        last = next((t for t in ticks if t.at_s - first.at_s >= WINDOW_S), None)
        if last is not None:
            rates.append((last.held_bytes - first.held_bytes) / (last.at_s - first.at_s))
    return rates


def _started(kafka: KafkaProcesses, gateway: AdminGateway) -> None:
    kafka.start_controllers(timeout_s=120)
    for broker, rack in BROKERS.items():
        kafka.add_broker(broker, rack)
    for broker in (1000, 1001, 1002):
        kafka.start(broker, wait=False)
    for broker in (1000, 1001, 1002):
        kafka.await_listening(broker, timeout_s=120)
    until(lambda: len(_live(gateway)) == 3, "three live brokers", timeout_s=120)


def _live(gateway: AdminGateway) -> frozenset[int]:
    try:
        return gateway.snapshot().live_brokers()
    except KafkaUnavailable:
        return frozenset()
