"""The brokers of a real cluster move from one region of the local cloud to another, and back, while clients write."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.cluster_spec import POOLS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(450)]

SPEC = ClusterSpec(name="moving")
HERE, THERE = "local-1", "local-2"


def test_all_brokers_move_to_another_region_and_nothing_is_lost(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    assert cluster.vms_in(THERE) == set()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(SPEC, regions=dict.fromkeys(POOLS, THERE)))
        settled(cluster, within_s=240)
    assert cluster.vms_in(THERE) == {"one-a-0.g2", "two-b-0.g2", "three-c-0.g2"}
    assert cluster.vms_in(HERE) == {"controllers-a-0.g1"}
    assert _in_state(cluster, HERE, "brokers") == set()
    assert _in_state(cluster, THERE, "controllers") == set()
    drained = [k for e in cluster.events(before) if e.type == "instance.drained" for k in e.data["keys"]]
    assert sorted(drained) == ["one-a-0.g1", "three-c-0.g1", "two-b-0.g1"]


def test_one_of_them_moves_back_though_the_server_is_killed_meanwhile(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, regions={"two": THERE, "three": THERE}))
        cluster.event("drain.batch_started", before)
        cluster.restart_server()
        settled(cluster, within_s=240)
    assert "one-a-0.g3" in cluster.vms_in(HERE)
    assert cluster.vms_in(THERE) == {"two-b-0.g2", "three-c-0.g2"}


def _in_state(cluster: LivingCluster, region: str, word: str) -> set[str]:
    """Keys in Terraform's state of a region that belong to brokers' pools, or to the controllers'."""
    names = ("controllers",) if word == "controllers" else tuple(POOLS)
    files = [p for p in cluster.home.rglob("terraform.tfstate") if _is_of(p, cluster.uid, region)]
    assert files, f"no state of {region}"
    state = json.loads(max(files, key=lambda p: p.stat().st_mtime).read_text())
    keys = {str(i.get("index_key", "")) for r in state["resources"] for i in r["instances"]}
    return {key for key in keys if key.startswith(names)}


def _is_of(path: Path, uid: str, region: str) -> bool:
    return uid in path.parts and any(region in part for part in path.parts)
