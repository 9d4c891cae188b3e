"""How soon a harmed cluster is noticed and whole again: real brokers of the local cloud, with traffic on them.

    python -m benchmarks healing [--row NAME] [--scale N] [--out FILE]

Rows: `broker-vm-killed` (kill -9 of a broker's VM: the loss is recorded, the replacement serves, the scaled data is
fully replicated again), `hung-move` (a move hangs on a frozen target: cured, roll over), `game` (seeded faults on a
loaded cluster, nothing lost) and `rest` (no alarm while nothing is wrong). `--scale` multiplies 24 MiB of data and the
time at rest (60 s). All rows without `--row`. What a row found is in FILE as soon as it ends, whatever becomes of the
others.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from controlplane.cli.chaos_game import Game
from controlplane.portal import chaosschemas as chaos_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

MIB = 2**20
LEDGER_MIB = 24
REST_S = 60.0
LOOK_EVERY_S = 0.2
ALARMS = ("healing.requested", "move_cure.requested", "instance.lost", "surge.requested", "drain.requested")
"""Events that would mean something was wrong."""


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the rows asked for. A row that fails is told with its error, and the next one runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks healing")
    parser.add_argument("--row", choices=sorted(ROWS), action="append")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=Path(".cache") / "benchmarks" / "healing.json")
    asked = parser.parse_args(arguments)
    rows: dict[str, Any] = {}
    for name in asked.row or ROWS:
        try:
            rows[name] = _on_a_cluster(ROWS[name], asked.scale)
        except (AssertionError, OSError, RuntimeError) as error:
            rows[name] = {"failed": str(error).splitlines()[0] if str(error) else type(error).__name__}
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(json.dumps({"scale": asked.scale, "rows": rows}, indent=1))
        print(name, json.dumps(rows[name]), flush=True)
    return {"scale": asked.scale, "rows": rows}


def _on_a_cluster(row: Callable[[LivingCluster, float], dict[str, Any]], scale: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kedge-healing-") as work:
        cluster = LivingCluster(Path(work) / "home", spec=ClusterSpec(name="bench", controllers=3, hung_after_s=10))
        try:
            cluster.open()
            size = int(LEDGER_MIB * scale) * MIB // 12
            create_topic(cluster.bootstrap(), "ledger", partitions=12, rf=3, min_isr=2, bytes_per_partition=size)
            return row(cluster, scale) | {"bytes": size * 12 * 3}
        finally:
            cluster.close()


def _broker_vm_killed(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Seconds from the kill. The grace that a lost VM gets is the server's setting, 2 s here and 300 s by default."""
    key, before = cluster.instance("two-b-0").key, cluster.head()
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload:
        cluster.power_cut(key)
        began = time.monotonic()
        cluster.event("instance.lost", before, where=key)
        noticed = time.monotonic() - began
        cluster.event("instance.joined", before)
        serving = time.monotonic() - began
        cluster.converged(within_s=300)
        cluster.until(lambda: not cluster.snapshot().under_replicated() or None, "full replication", timeout_s=300)
        whole = time.monotonic() - began
    return {
        "noticed_s": round(noticed, 1),
        "replacement_serves_s": round(serving, 1),
        "fully_replicated_s": round(whole, 1),
        "acknowledged": workload.acknowledged,
        "lost": 0,
    }


def _hung_move(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Seconds from the freeze of the target; `healing.hungAfter` is 10 s here and 300 s by default."""
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload:
        before = cluster.roll_slowly("one")
        target = cluster.instance("one-a-0").key
        order = chaos_api.ChaosIn(fault="pause", vms=[target], for_s=45, force=True, reason="benchmark")
        cluster.client.inject_chaos(cluster.spec.name, order)
        began = time.monotonic()
        cure = cluster.event("move_cure.requested", before)
        cured = time.monotonic() - began
        cluster.converged(within_s=300)
        over = time.monotonic() - began
    return {
        "diagnosis": cure.data["diagnosis"],
        "cure": cure.data["cure"],
        "moves": len(cure.data["partitions"]),
        "cured_s": round(cured, 1),
        "roll_over_s": round(over, 1),
        "acknowledged": workload.acknowledged,
        "lost": 0,
    }


def _game(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload:
        game = Game(
            cluster=cluster.client,
            name=cluster.spec.name,
            seed=7,
            sleep=time.sleep,
            now=time.monotonic,
            tell=lambda text: print(text, flush=True),
            lasts_s=12,
            heal_within_s=180,
            faults=("kill-broker", "kill-agent", "pause", "kill-vm"),
        )
        report = game.play(4, 200)
    return report.model_dump() | {"acknowledged": workload.acknowledged, "lost": 0}


def _rest(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Nothing is done to it but writing and reading: every alarm is a false one."""
    seconds, before = REST_S * scale, cluster.head()
    with traffic(cluster.bootstrap) as workload:
        ends = time.monotonic() + seconds
        unhealthy = looks = 0
        while time.monotonic() < ends:
            looks += 1
            unhealthy += not cluster.client.health(cluster.spec.name).healthy
            time.sleep(LOOK_EVERY_S)
    alarms = [e.type for e in cluster.events(before) if e.type in ALARMS]
    told = [e.data["type"] for e in cluster.events(before) if e.type == "condition.changed" and e.data["status"]]
    return {
        "seconds": seconds,
        "looks": looks,
        "looks_unhealthy": unhealthy,
        "alarms": alarms,
        "conditions": told,
        "acknowledged": workload.acknowledged,
        "lost": 0,
    }


ROWS: dict[str, Callable[[LivingCluster, float], dict[str, Any]]] = {
    "rest": _rest,
    "broker-vm-killed": _broker_vm_killed,
    "hung-move": _hung_move,
    "game": _game,
}
"""`lost` is what the audit at the end of the traffic found: it fails the row unless that is 0."""
