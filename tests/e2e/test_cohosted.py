"""A cluster whose ZooKeeper servers share the VMs of its brokers, on real VMs of the local cloud: founded, rolled to a
newer Kafka, and mended, under traffic."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(name="sharing", version="3.8.1", quorum="zookeeper", cohosted=True, join_deadline_s=120)


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
