"""A drain on real brokers while producers write: does it reach the rate its certificate promises, and stay under it?

    python -m benchmarks live [--row NAME] [--scale N] [--out FILE]

Row `network`: four brokers and a controller on loopback addresses, a topic of 2 GiB with three replicas, a producer at
a steady rate; broker 1000 is emptied into 1010 by the converger's own step, at 30 MiB/s. Each second the target's log
directories are read. `rate_ratio` is what arrived over what was promised; `worst_10s_ratio` the highest mean of any ten
seconds over the promise. What producers write to partitions that have arrived counts in neither: it is no copy.

Row `disk`: the same onto a volume of 16 MiB/s while the network would take 60, of 1 GiB; the volume is measured as the
agent does it when a disk is new (`measured_bytes_per_s`), and a quarter is left to clients. Needs root and control
groups of version 1.

Row `brake`: what clients wait while a broker is emptied, with the latency brake and without (`benchmarks.braked`).
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from agent.disks.measuring import measure
from benchmarks.braked import braked
from benchmarks.selection import Row, measured
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.workload import Workload
from planner.drain.request import NO_VOLUMES, VolumeLimits
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.live_drain import SUCCESSOR, LiveDrain, Tick
from tests.slow_volume import slow_volume
from tests.waiting import until

MIB = 2**20
PARTITIONS = 48
BROKERS = {1000: "a", 1001: "b", 1002: "c", SUCCESSOR: "a"}
WINDOW_S = 10.0
NETWORK_BYTES, NETWORK_RATE = 2048 * MIB, 30 * MIB
DISK_BYTES, DISK_NETWORK_RATE, DISK_RATE = 1024 * MIB, 60 * MIB, 16 * MIB
CLIENTS_KEEP = 0.25
"""As the server plans."""


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the rows asked for, all without `--row`; `--scale` multiplies what is copied."""
    rows: dict[str, Row] = {
        "network": _network,
        "disk": _disk,
        "brake": braked,
    }
    return measured("live", rows, arguments)


def _network(scale: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kedge-live-") as work:
        return _drained(Path(work), int(NETWORK_BYTES * scale), NETWORK_RATE)


def _disk(scale: float) -> dict[str, Any]:
    """The successor's volume is new, slow and measured before anything is on it."""
    size = int(DISK_BYTES * scale)
    with tempfile.TemporaryDirectory(prefix="kedge-live-") as work, ExitStack() as stack:
        mount = Path(work) / "kafka" / f"broker-{SUCCESSOR}"
        mount.parent.mkdir()
        stack.enter_context(slow_volume(mount, size_bytes=4 * size + 1024 * MIB, bytes_per_s=DISK_RATE))
        rate = measure(mount)
        if rate is None:
            raise RuntimeError(f"the volume at {mount} cannot be measured")
        writes = min(rate.write_bytes_per_s, rate.read_bytes_per_s)
        figures = _drained(Path(work), size, DISK_NETWORK_RATE, {SUCCESSOR: writes}, client_fraction=CLIENTS_KEEP)
        return figures | {"measured_bytes_per_s": round(writes)}


def _drained(
    work: Path,
    size: int,
    bandwidth: int,
    volumes: Mapping[int, float] | None = None,
    *,
    client_fraction: float = 0.0,
) -> dict[str, Any]:
    kafka = KafkaProcesses(work / "kafka", network="127.0.64")
    dialer = DirectDialer()
    gateway = AdminGateway(dialer, "live", lambda: kafka.bootstrap)
    limits = VolumeLimits(volumes, ("as measured when new",)) if volumes else NO_VOLUMES
    try:
        _started(kafka, gateway)
        create_topic(kafka.bootstrap, "orders", partitions=PARTITIONS, rf=3, bytes_per_partition=size // PARTITIONS)
        create_topic(kafka.bootstrap, "traffic", partitions=6, rf=3)
        kafka.start(SUCCESSOR)
        until(lambda: SUCCESSOR in _live(gateway), "the successor", timeout_s=120)
        return _measured(kafka, gateway, bandwidth, limits, client_fraction)
    finally:
        dialer.close()
        kafka.close()


def _measured(
    kafka: KafkaProcesses, gateway: AdminGateway, bandwidth: int, volumes: VolumeLimits, client_fraction: float
) -> dict[str, Any]:
    traffic = Workload(lambda: kafka.bootstrap, "traffic", records_per_s=500)
    traffic.start()
    # the group's offsets topic has to be there before the plan, or it would be a second round
    until(lambda: traffic.consumed > 0, "traffic both ways", timeout_s=120)
    try:
        drain = LiveDrain.planned(
            gateway, bandwidth_bytes_per_s=bandwidth, volumes=volumes, client_fraction=client_fraction
        )
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
