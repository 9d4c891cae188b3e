"""How soon a harmed cluster is noticed and whole again: real brokers of the local cloud, with traffic on them.

    python -m benchmarks healing [--row NAME] [--scale N] [--out FILE]

Rows: `broker-vm-killed` (kill -9 of a broker's VM: the loss is recorded, the replacement serves, the scaled data is
fully replicated again), `hung-move` (a move hangs on a frozen target: cured, roll over), `game` (15 seeded faults on a
loaded cluster of six brokers, nothing lost; as root with `ip`, faults of disks and networks among them) and `rest` (no
alarm while nothing is wrong). `--scale` multiplies 24 MiB of data, the time at rest (60 s) and the faults of the game.
All rows without `--row`. What a row found is in FILE as soon as it ends, whatever becomes of the others.
"""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.chosen import measured
from benchmarks.loaded import LoadedRow, on_a_cluster
from controlplane.cli.chaos_game import FAULTS, Game
from controlplane.portal import chaosschemas as chaos_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

LEDGER_MIB = 24
SPEC = ClusterSpec(name="bench", controllers=3, hung_after_s=10)
REST_S = 60.0
LOOK_EVERY_S = 0.2
GAME_EVENTS = 15
GAME_WITHIN_S = 330.0
"""No fault begins later: the rest of eight minutes is for the cluster to come up and for the audit."""
_OF_NETWORK_AND_DISK = ("split", "packet-loss", "slow-disk", "full-disk")
ALARMS = ("healing.requested", "move_cure.requested", "instance.lost", "surge.requested", "drain.requested")
"""Events that would mean something was wrong."""


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the rows asked for. A row that fails is told with its error, and the next one runs."""
    rows = {name: partial(on_a_cluster, row, SPEC, LEDGER_MIB) for name, row in ROWS.items()}
    six = replace(SPEC, sizes=dict.fromkeys(SPEC.sizes, 2))
    rows["game"] = partial(on_a_cluster, _game, six, LEDGER_MIB, settings=_game_settings())
    return measured("healing", rows, arguments)


def _has_networks() -> bool:
    return os.geteuid() == 0 and shutil.which("ip") is not None


def _game_settings() -> Mapping[str, str]:
    """What faults of networks and disks need, where it can be had."""
    return {"KEDGE_VM_NETWORK": "namespaces", "KEDGE_ENFORCE_DISK": "1"} if _has_networks() else {}


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
            faults=(*FAULTS, *(_OF_NETWORK_AND_DISK if _has_networks() else ())),
        )
        report = game.play(max(1, round(GAME_EVENTS * scale)), GAME_WITHIN_S)
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


ROWS: dict[str, LoadedRow] = {
    "rest": _rest,
    "broker-vm-killed": _broker_vm_killed,
    "hung-move": _hung_move,
    "game": _game,
}
"""`lost` is what the audit at the end of the traffic found: it fails the row unless that is 0."""
