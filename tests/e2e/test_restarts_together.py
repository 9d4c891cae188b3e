"""Six real brokers in three racks: two of a rack are restarted at the same time, under traffic, and nothing is lost."""

from dataclasses import replace

import psutil
import pytest

from controlplane.api.schemas import nodes as node_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(
    name="together", sizes=dict.fromkeys(("one", "two", "three"), 2), parallel_restarts=2, join_deadline_s=90
)


def test_a_rolling_restart_takes_two_brokers_of_a_rack_at_a_time(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, vms, processes = cluster.head(), cluster.vms(), _processes(cluster)
    with traffic(cluster.bootstrap):
        said = cluster.client.restart(cluster.spec.name, node_api.RestartIn(reason="new certificates"))
        assert "up to 2 brokers of a rack at a time" in said.sentence
        cluster.event("rolling_restart.completed", before, within_s=200)
        settled(cluster)
    assert cluster.vms() == vms
    assert not set(_processes(cluster)) & set(processes), "every service was started anew"
    assert _batches(cluster, before) == [["one", "one"], ["two", "two"], ["three", "three"], ["controllers"]]


def test_another_heap_comes_by_restarts_in_place_and_the_first_one_is_watched_alone(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    before, vms = cluster.head(), cluster.vms()
    assert _heaps(cluster) == {"-Xmx160m"}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, heap_mib=192))
        settled(cluster, within_s=250)
    assert (cluster.vms(), _heaps(cluster)) == (vms, {"-Xmx192m"})
    assert _batches(cluster, before) == [["one"], ["one"], ["two", "two"], ["three", "three"]]


def _batches(cluster: LivingCluster, after: int) -> list[list[str]]:
    """Pools of what was asked to start anew at the same time, in order."""
    found: list[list[str]] = []
    for asked in (e.data for e in cluster.events(after) if e.type == "restart.requested"):
        pool = asked["key"].split("-")[0]
        found[len(found) :] = [[*found.pop(), pool]] if asked.get("beside") else [[pool]]
    return found


def _heaps(cluster: LivingCluster) -> set[str]:
    """The largest heap each broker's process was started with, as the machine has it."""
    brokers = [i.key for i in cluster.detail().instances if i.service == "broker"]
    commands = [psutil.Process(pid).cmdline() for key in brokers for pid in cluster.pids(key) if _is_java(pid)]
    return {word for command in commands for word in command if word.startswith("-Xmx")}


def _processes(cluster: LivingCluster) -> list[int]:
    """Ids of Kafka's own processes: the agents' and their keepers' outlive a restart."""
    return sorted(pid for key in cluster.vms() for pid in cluster.pids(key) if _is_java(pid))


def _is_java(pid: int) -> bool:
    return psutil.Process(pid).name() == "java"
