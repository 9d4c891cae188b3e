"""A cluster whose ZooKeeper servers share the VMs of one pool, with another pool of brokers, on real VMs of the local
cloud: each pool is rolled, and the other one comes and goes, under traffic."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(
    name="shared",
    version="3.9.1",
    quorum="zookeeper",
    cohosted=True,
    others=("two",),
    join_deadline_s=120,
    heal_after_s=5,
)
ELSEWHERE = "two-b-0"
"""The node of the other pool, whose VM has no server."""


def test_brokers_elsewhere_are_told_of_new_servers_before_the_last_they_know_leave(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    assert len(cluster.vms()) == 4
    with traffic(cluster.bootstrap):
        cluster.declare(cluster.spec.rolled("one"))
        settled(cluster, within_s=400)
    rolled = cluster.events(before)
    away = [n for n, e in enumerate(rolled) if e.type == "restart.requested" and e.data["key"] == f"{ELSEWHERE}.g1"]
    removed = [n for n, e in enumerate(rolled) if e.type == "voter.remove_requested"]
    assert len(away) == 1, "the first VM leaves it two servers of three, the second one would leave it one"
    assert removed[0] < away[0] < removed[1]
    votes = [e.type for e in rolled if e.type in ("voter.added", "voter.removed")]
    assert votes == ["voter.added", "voter.removed"] * 3
    _knows_a_majority(cluster)


def test_a_vm_elsewhere_is_replaced_and_no_server_notices(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(cluster.spec.rolled("two"))
        settled(cluster, within_s=300)
    told = {e.type for e in cluster.events(before)}
    assert "replacement.completed" in told
    assert not {t for t in told if t.startswith(("voter.", "restart."))}
    assert cluster.instance(ELSEWHERE).generation == 2
    _knows_a_majority(cluster)


def test_the_other_pool_leaves_and_comes_back(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, others=()))
        settled(cluster, within_s=200)
        assert len(cluster.vms()) == 3
        cluster.declare(replace(cluster.spec, others=("two",)))
        settled(cluster, within_s=200)
    assert not {e.type for e in cluster.events(before) if e.type.startswith("voter.")}
    _knows_a_majority(cluster)


def _knows_a_majority(cluster: LivingCluster) -> None:
    """By the file the broker was started with: more of the servers that vote now than may fail at once."""
    servers = {f"{i.address}:2181" for i in cluster.detail().instances if i.beside is not None and i.beside.votes}
    [properties] = cluster.vm(cluster.instance(ELSEWHERE).key).rglob("server.properties")
    [told] = [line for line in properties.read_text().splitlines() if line.startswith("zookeeper.connect=")]
    listed = set(told.partition("=")[2].partition("/")[0].split(","))
    assert len(servers) == 3
    assert len(servers & listed) >= 2
