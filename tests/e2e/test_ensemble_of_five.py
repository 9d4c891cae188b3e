"""An ensemble of three becomes one of five by its spec, and three again, on real ZooKeeper while clients write and
read, and while the server that does it is killed between the votes."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import ensemble_of, types_told
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

SPEC = ClusterSpec(
    name="seats", version="3.8.1", quorum="zookeeper", controllers=3, controller_zones=3, join_deadline_s=180
)
GROWN = replace(SPEC, controllers=5)
WITHIN_S = 400.0


def test_three_servers_become_five_though_the_server_is_killed_between_their_votes(
    living_cluster: LivingCluster,
) -> None:
    cluster, before, known = living_cluster, living_cluster.head(), _voters(living_cluster)
    assert len(known) == 3
    now = _after_deaths(cluster, GROWN, "voter.add_requested", "voter.added")
    assert len(now) == 5
    assert {i: now[i] for i in known} == known, "who was there is where it was"
    _one_after_the_other(cluster, before, "voter.add_requested", "voter.added")


def test_five_servers_become_three_though_the_server_is_killed_between_their_votes(
    living_cluster: LivingCluster,
) -> None:
    cluster, before, known = living_cluster, living_cluster.head(), _voters(living_cluster)
    assert len(known) == 5
    now = _after_deaths(cluster, SPEC, "voter.remove_requested", "voter.removed")
    assert len(now) == 3
    assert now.items() <= known.items()
    _one_after_the_other(cluster, before, "voter.remove_requested", "voter.removed")
    assert len([i for i in cluster.detail().instances if i.service == "zookeeper"]) == 3


def _after_deaths(cluster: LivingCluster, spec: ClusterSpec, asked: str, done: str) -> dict[int, str]:
    """The spec in force under traffic, though the server dies once the first vote is asked for, and once it is done."""
    before = cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(spec)
        for told in (asked, done):
            cluster.event(told, before, within_s=WITHIN_S)
            cluster.restart_server()
        settled(cluster, within_s=WITHIN_S)
    return _voters(cluster)


def _voters(cluster: LivingCluster) -> dict[int, str]:
    """By id of a server that votes, where it is, by the ensemble's own word."""
    with ensemble_of(cluster) as ensemble:
        lines = ensemble.get("/zookeeper/config")[0].decode().splitlines()
    servers = dict(line.split("=", 1) for line in lines if line.startswith("server."))
    return {int(name.split(".")[1]): at for name, at in servers.items() if "participant" in at}


def _one_after_the_other(cluster: LivingCluster, before: int, asked: str, done: str) -> None:
    assert [t for t in types_told(cluster, before) if t.startswith("voter.")] == [asked, done] * 2
