"""A cluster whose ZooKeeper servers share the VMs of its brokers, on real VMs of the local cloud: founded, rolled to a
newer Kafka, and mended, under traffic."""

from dataclasses import replace

import psutil
import pytest

from controlplane.api.schemas import chaos as chaos_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(
    name="sharing", version="3.8.1", quorum="zookeeper", cohosted=True, join_deadline_s=120, heal_after_s=5
)


def test_a_cohosted_cluster_rolls_to_the_next_kafka_one_vm_with_both_at_a_time(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    kinds = [e.type for e in cluster.events()]
    assert kinds.index("ensemble.founded") < kinds.index("ensemble.cluster_id_fixed") < kinds.index("instance.joined")
    assert len(cluster.vms()) == 3
    with traffic(cluster.bootstrap):
        cluster.declare(replace(SPEC, version="3.9.1"))
        settled(cluster, within_s=400)
    rolled = [e.type for e in cluster.events(before)]
    told = [k for k in rolled if k in ("voter.added", "drain.requested", "voter.removed", "instance.fenced")]
    assert told == ["voter.added", "drain.requested", "voter.removed", "instance.fenced"] * 3
    last_replaced = len(rolled) - 1 - rolled[::-1].index("replacement.completed")
    assert last_replaced < rolled.index("protocol.raised")
    assert rolled[rolled.index("protocol.raised") :].count("restart.completed") == 3
    now = cluster.detail().instances
    assert {i.generation for i in now} == {2}
    for i in now:
        [properties] = cluster.vm(i.key).rglob("server.properties")
        assert "inter.broker.protocol.version=3.9" in properties.read_text()
        there = {path.name for path in (cluster.vm(i.key) / "volumes" / "data").iterdir()}
        assert {"kafka", "zookeeper"} <= there
        assert i.beside is not None
        assert (i.beside.votes, i.beside.reported_state) == (True, "running")


def test_a_lost_vm_is_replaced_with_both_its_services(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    victim = sorted(i.key for i in cluster.detail().instances)[1]
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        cluster.power_cut(victim)
        cluster.event("replacement.completed", before)
        settled(cluster)
    told = [e.type for e in cluster.events(before) if e.type in ("voter.added", "voter.removed")]
    assert told == ["voter.removed", "voter.added"], "the dead server's vote goes before the new one gets its own"


def test_a_killed_server_is_started_again_and_its_broker_keeps_its_process(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    victim = sorted(i.key for i in cluster.detail().instances)[0]
    was = {service: _process(cluster, victim, service).pid for service in (BROKER, SERVER)}
    with traffic(cluster.bootstrap):
        order = chaos_api.ChaosIn(fault="kill-zookeeper", vms=[victim], for_s=10, reason="e2e")
        cluster.client.inject_chaos(cluster.spec.name, order)
        cluster.event("chaos.ended", before)
        settled(cluster)
    assert _process(cluster, victim, BROKER).pid == was[BROKER]
    assert _process(cluster, victim, SERVER).pid != was[SERVER]
    assert {e.type for e in cluster.events(before)} == {"chaos.injected", "chaos.ended"}


def test_servers_get_another_heap_where_they_are_and_no_broker_is_restarted(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    there = sorted(i.key for i in cluster.detail().instances)
    brokers = {key: _process(cluster, key, BROKER).pid for key in there}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, beside_heap_mib=112))
        settled(cluster)
    assert {key: _process(cluster, key, BROKER).pid for key in there} == brokers
    assert all("-Xmx112m" in _process(cluster, key, SERVER).cmdline() for key in there)
    told = [e.type for e in cluster.events(before) if e.type.startswith(("restart.", "voter.", "surge."))]
    assert told == ["restart.requested", "restart.completed"] * 3


def test_a_server_whose_directory_alone_is_lost_gets_a_new_vm_and_its_broker_serves_until_then(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    victim = sorted(i.key for i in cluster.detail().instances)[2]
    with traffic(cluster.bootstrap):
        cluster.lose_directory(victim, of="zookeeper")
        _process(cluster, victim, SERVER).kill()
        cluster.event("replacement.completed", before)
        settled(cluster)
    told = ("volume.lost", "voter.removed", "voter.added", "drain.requested", "instance.fenced")
    assert [e.type for e in cluster.events(before) if e.type in told] == list(told)


BROKER, SERVER = "kafka.Kafka", "org.apache.zookeeper.server.quorum.QuorumPeerMain"


def _process(cluster: LivingCluster, key: str, service: str) -> psutil.Process:
    """The one on this VM that runs that class."""
    [found] = cluster.running(key, service)
    return found
