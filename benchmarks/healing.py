"""How soon a harmed cluster is noticed and whole again: real brokers of the local cloud, with traffic on them.

    python -m benchmarks healing [--row NAME] [--scale N] [--out FILE]

Rows: `broker-vm-killed` (kill -9 of a broker's VM: the loss is recorded, the replacement serves, the scaled data is
fully replicated again), `hung-move` (a move hangs on a frozen target: cured, roll over), `game` (15 seeded faults on a
loaded cluster of six brokers, nothing lost; as root with `ip`, faults of disks and networks among them), `rest` and
`rest-zookeeper` (no alarm and no act of any kind, a restart or a move among them, while nothing is wrong) and `rolls`
(none while every VM is replaced, three times over); in these three every detector looks (`benchmarks.watched`). `busy`
(no act of any kind on three brokers that get 4,000 partitions with three replicas while burners of CPU keep the machine
busy, for 15 min; `acts` is 0).
`--scale` multiplies 24 MiB of data (200 MiB on each broker in `broker-vm-killed`), the times at rest (60 s) and busy
(15 min), and the faults of the game. All rows without `--row`. What a row found is in FILE as soon as it ends, whatever
becomes of the others.
"""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.busy import busy
from benchmarks.loaded import MIB, LoadedRow, on_a_cluster
from benchmarks.selection import measured
from benchmarks.watched import Watch, conditions_raised, on_a_watched_cluster
from controlplane.api.schemas import chaos as chaos_api, clusters as api, games as game_api
from controlplane.cli.chaos_game import follow
from controlplane.commands.deciders.games import LOCAL_FAULTS
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

LEDGER_MIB, LOST_MIB = 24, 200
GRACE_S = 10
"""`broker-vm-killed`: what a lost VM gets before it is replaced."""
NOTICED_WITHIN_S, SERVES_WITHIN_S = 15.0, 60.0
ROLLS = 3
SPEC = ClusterSpec(name="bench", controllers=3, hung_after_s=10)
ZOOKEEPER = replace(SPEC, name="bench-zk", version="3.9.1", quorum="zookeeper", join_deadline_s=120)
BUSY = replace(SPEC, name="bench-busy", controllers=1, heap_mib=640, disk_gib=4, join_deadline_s=600, hung_after_s=300)
"""All waits as long as they are for a user: what they are for is to tell who is busy from who is gone."""
REST_S = 60.0
LOOK_EVERY_S = 0.2
GAME_EVENTS = 15
GAME_WITHIN_S = 330.0
"""No fault begins later, at scale 1: the rest of eight minutes is for the cluster to come up and for the audit."""
_OF_NETWORK_AND_DISK = ("split", "packet-loss", "slow-disk", "full-disk")
CURES = ("healing.requested", "move_cure.requested", "instance.lost", "node.replace_requested")
"""Events that mean something was found wrong."""


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs the rows asked for. A row that fails is told with its error, and the next one runs."""
    rows = {name: partial(on_a_cluster, row, SPEC, LEDGER_MIB) for name, row in ROWS.items()}
    six = replace(SPEC, sizes=dict.fromkeys(SPEC.sizes, 2))
    patient = replace(SPEC, healing={"lostAfter": GRACE_S})
    rows["broker-vm-killed"] = partial(on_a_cluster, _broker_vm_killed, patient, LOST_MIB)
    rows["rest"] = partial(on_a_watched_cluster, rest, SPEC, LEDGER_MIB)
    rows["rest-zookeeper"] = partial(on_a_watched_cluster, rest, ZOOKEEPER, LEDGER_MIB)
    rows["rolls"] = partial(on_a_watched_cluster, _rolls, SPEC, LEDGER_MIB)
    rows["busy"] = partial(on_a_cluster, busy, BUSY, 0, settings={"KEDGE_LOSS_GRACE_S": "300"})
    rows["game"] = partial(on_a_cluster, _game, six, LEDGER_MIB, settings=_game_settings())
    return measured("healing", rows, arguments)


def _has_networks() -> bool:
    return os.geteuid() == 0 and shutil.which("ip") is not None


def _game_settings() -> Mapping[str, str]:
    """What faults of networks and disks need, where it can be had."""
    return {"KEDGE_VM_NETWORK": "namespaces", "KEDGE_ENFORCE_DISK": "1"} if _has_networks() else {}


def _broker_vm_killed(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Seconds from the kill. The grace that a lost VM gets is the spec's, 10 s here and 300 s by default.

    Full replication is bounded by what has to be copied: 1.15 x bytes / (0.8 x throttle) + 15 s after the replacement
    serves.
    """
    key, before = cluster.instance("two-b-0").key, cluster.head()
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload:
        cluster.power_cut(key)
        began = time.monotonic()
        cluster.event("instance.lost", before, where=key)
        noticed = time.monotonic() - began
        joined = cluster.event("instance.joined", before)
        serving = time.monotonic() - began
        cluster.converged(within_s=300)
        cluster.until(lambda: not cluster.snapshot().under_replicated() or None, "full replication", timeout_s=300)
        whole = time.monotonic() - began
    copied = sum(e.data["bytes"] for e in cluster.events(joined.position) if e.type == "drain.planned")
    may_take_s = serving + 1.15 * copied / (0.8 * cluster.spec.throttle_mib_per_s * MIB) + 15
    return {
        "noticed_s": round(noticed, 1),
        "replacement_serves_s": round(serving, 1),
        "copied_bytes": copied,
        "fully_replicated_s": round(whole, 1),
        "fully_replicated_within_s": round(may_take_s, 1),
        "holds": noticed <= NOTICED_WITHIN_S and serving <= SERVES_WITHIN_S and whole <= may_take_s,
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
        order = game_api.GameIn(
            events=max(1, round(GAME_EVENTS * scale)),
            seed=7,
            within_s=GAME_WITHIN_S * max(1.0, scale),
            lasts_s=12,
            heal_within_s=180,
            faults=[*LOCAL_FAULTS, *(_OF_NETWORK_AND_DISK if _has_networks() else ())],
        )
        begun = cluster.client.start_game(cluster.spec.name, order)
        report = follow(cluster.client, begun, sleep=time.sleep, tell=lambda text: print(text, flush=True))
    return report.model_dump(mode="json") | {"acknowledged": workload.acknowledged, "lost": 0}


def rest(cluster: LivingCluster, watch: Watch, scale: float) -> dict[str, Any]:
    """Nothing is done to it but writing and reading: every alarm is a false one."""
    seconds, before = REST_S * scale, cluster.head()
    with traffic(cluster.bootstrap) as workload:
        ends = time.monotonic() + seconds
        unhealthy = queries = 0
        while time.monotonic() < ends:
            queries += 1
            unhealthy += not cluster.client.health(cluster.spec.name).healthy
            time.sleep(LOOK_EVERY_S)
    events = cluster.events(before)
    return {
        "seconds": seconds,
        "looks": queries,
        "looks_unhealthy": unhealthy,
        "acts": [e.type for e in events if e.type != "condition.changed"],
        "anomalies": _anomalies(cluster),
        "conditions": conditions_raised(events),
        "blocked": _blocked(events),
        "acknowledged": workload.acknowledged,
        "lost": 0,
    }


def _rolls(cluster: LivingCluster, watch: Watch, scale: float) -> dict[str, Any]:
    """Every VM is replaced three times by another machine: whatever is told or cured beside that is needless."""
    before, pools = cluster.head(), tuple(cluster.spec.machines)
    with traffic(cluster.bootstrap) as workload:
        for _ in range(ROLLS):
            cluster.roll(*pools)
            cluster.converged(within_s=400)
    events = cluster.events(before)
    surges = [i["node"] for e in events if e.type == "surge.requested" for i in e.data["instances"]]
    return {
        "rolls": ROLLS,
        "replaced": len(surges),
        "needless_replacements": len(surges) - ROLLS * len(set(surges)),
        "alarms": [e.type for e in events if e.type in CURES],
        "anomalies": _anomalies(cluster),
        "conditions": conditions_raised(events),
        "blocked": _blocked(events),
        "acknowledged": workload.acknowledged,
        "lost": 0,
    }


def _blocked(events: Sequence[api.EventOut]) -> list[str]:
    """Why it waited for longer than such a wait should take, each time."""
    blocked = [e.data for e in events if e.type == "condition.changed" and e.data["type"] == "Blocked"]
    return [c["reason"] for c in blocked if c["status"]]


def _anomalies(cluster: LivingCluster) -> list[str]:
    """Those that people were told of, each with its reason."""
    found = cluster.client.anomalies(cluster.spec.name).anomalies
    return [f"{a.kind} of {a.subject}: {a.reason}" for a in found if a.told]


ROWS: dict[str, LoadedRow] = {
    "broker-vm-killed": _broker_vm_killed,
    "hung-move": _hung_move,
    "game": _game,
}
"""`lost` is what the audit at the end of the traffic found: it fails the row unless that is 0."""
