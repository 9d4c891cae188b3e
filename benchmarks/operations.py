"""Many operations of all kinds, one after the other, on one cluster of real brokers under one workload.

Row `operations` of `python -m benchmarks lifecycle` (KRaft, 4.1.1 to 4.3.0) and `operations-zookeeper` (3.8.1 to
3.9.1). `--scale 1` is all 30 of them. Each is over once the cluster has converged and every replica is in sync. What is
known so far is in `.cache/benchmarks/<cluster>.json` after each of them. The audit is over all of it: every
acknowledged record is there once, and no partition was below its effective min ISR at any look (every 0.5 s).
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.loaded import audited
from controlplane.api.schemas import nodes as node_api
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import declare_settings
from tests.e2e.traffic import traffic

KINDS = (
    *("dynamic", "restart", "reattach", "quorum", "scale", "static", "dynamic", "upgrade", "restart", "scale"),
    *("dynamic", "restart", "reattach", "static", "scale", "dynamic", "restart", "upgrade", "dynamic", "scale"),
    *("dynamic", "restart", "reattach", "quorum", "static", "dynamic", "restart", "reattach", "static", "dynamic"),
)
NEXT = {"4.1.1": "4.2.0", "4.2.0": "4.3.0", "3.8.1": "3.9.1"}
WITHIN_S = 420.0
SPEC = ClusterSpec(name="operations", controllers=3, strategy="reattach", join_deadline_s=120)
ZOOKEEPER = replace(SPEC, name="operations-zk", version="3.8.1", quorum="zookeeper")
MIB = 60.0
"""Of the topic that lies there, in each of its three copies; it is no part of the scale: operations are."""


def operations(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """One that does not end in time ends the row, with what it waited for; the audit is made all the same."""
    wanted = KINDS[: max(1, round(len(KINDS) * scale))]
    done: list[dict[str, Any]] = []
    failed = ""
    out = Path(".cache") / "benchmarks" / f"{cluster.spec.name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    with traffic(cluster.bootstrap) as workload:
        for number, kind in enumerate(wanted):
            began = time.monotonic()
            try:
                what = OPERATIONS[kind](cluster, number)
                _over(cluster)
            except (AssertionError, TimeoutError) as error:
                failed = f"operation {number + 1} ({kind}): {str(error).splitlines()[0]}"
                break
            done.append({"kind": kind, "what": what, "seconds": round(time.monotonic() - began, 1)})
            out.write_text(json.dumps({"done": done, "acknowledged": workload.acknowledged}, indent=1))
            print(json.dumps(done[-1]), flush=True)
    figures = {"failed": failed} if failed else {}
    return {"operations": len(done), "wanted": len(wanted), "seconds": _by_kind(done)} | figures | audited(workload)


def _by_kind(done: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    return {kind: [d["seconds"] for d in done if d["kind"] == kind] for kind in sorted({d["kind"] for d in done})}


def _over(cluster: LivingCluster) -> None:
    cluster.converged(within_s=WITHIN_S)
    cluster.until(lambda: not cluster.snapshot().under_replicated() or None, "full ISRs", timeout_s=120)


def _dynamic(cluster: LivingCluster, number: int) -> str:
    value = 2_000_000 + number
    declare_settings(cluster, **{"message.max.bytes": value})
    return f"message.max.bytes={value}"


def _static(cluster: LivingCluster, number: int) -> str:
    value = 3 + number
    declare_settings(cluster, **{"num.partitions": value})
    return f"num.partitions={value}"


def _restart(cluster: LivingCluster, number: int) -> str:
    before = cluster.head()
    brokers = sorted(i.service_id for i in cluster.detail().instances if i.service == "broker")
    broker = brokers[number % len(brokers)]
    cluster.client.restart(cluster.spec.name, node_api.RestartIn(brokers=[broker], reason="a benchmark"))
    cluster.event("rolling_restart.completed", before, within_s=WITHIN_S)
    return f"broker {broker}"


def _reattach(cluster: LivingCluster, number: int) -> str:
    pool = ("one", "two", "three")[number % 3]
    before = cluster.roll(pool)
    cluster.event("replacement.completed", before, within_s=WITHIN_S)
    return f"pool {pool}"


def _quorum(cluster: LivingCluster, number: int) -> str:
    """A controller, or ZooKeeper server, gets a new and empty disk: in KRaft mode a voter leaves, another comes."""
    before, node = cluster.head(), f"{CONTROLLERS}-{'abc'[number % 3]}-0"
    order = node_api.ReplaceIn(reason="a benchmark", node=node, new_disk=True)
    cluster.client.replace(cluster.spec.name, order)
    cluster.event("replacement.completed", before, within_s=WITHIN_S)
    return node


def _scale(cluster: LivingCluster, number: int) -> str:
    """A fourth broker comes, or goes."""
    size = 3 - cluster.spec.sizes["one"]
    cluster.declare(replace(cluster.spec, sizes={**cluster.spec.sizes, "one": size}))
    return f"{2 + size} brokers"


def _upgrade(cluster: LivingCluster, number: int) -> str:
    """Where there is no later release any more the machines of all brokers change instead."""
    later = NEXT.get(cluster.spec.version)
    if later is None:
        cluster.roll("one", "two", "three")
        return "other machines"
    cluster.declare(replace(cluster.spec, version=later))
    return f"to {later}"


OPERATIONS: Mapping[str, Callable[[LivingCluster, int], str]] = {
    "dynamic": _dynamic,
    "static": _static,
    "restart": _restart,
    "reattach": _reattach,
    "quorum": _quorum,
    "scale": _scale,
    "upgrade": _upgrade,
}
