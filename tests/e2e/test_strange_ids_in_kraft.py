"""A broker and a controller in KRaft mode that find another node's id on their disk, on real Kafka under traffic: they
do not start, it is told, nothing of the disk is touched, and all is over once it is put right."""

import pytest

from controlplane.api.schemas import instances as instance_api
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470)]

SPEC = ClusterSpec(name="confused", controllers=3, join_deadline_s=180)
TOLD_WITHIN_S = 200.0
STRANGE = 1999


@pytest.mark.parametrize("service", ["broker", "controller"])
def test_a_service_that_finds_another_id_on_its_disk_does_not_start_and_nothing_of_it_is_touched(
    living_cluster: LivingCluster, service: str
) -> None:
    cluster = living_cluster
    victim, before = _victim(cluster, service), cluster.head()
    meta = cluster.vm(victim.key) / "volumes" / "data" / "kafka" / "meta.properties"
    was = meta.read_text()
    mine = f"node.id={victim.service_id}\n"
    assert mine in was
    with traffic(cluster.bootstrap):
        meta.write_text(was.replace(mine, f"node.id={STRANGE}\n"))
        for kafka in cluster.running(victim.key, "kafka.Kafka"):
            kafka.kill()
        said = cluster.until(lambda: _refused(cluster, victim), "its agent to refuse it", timeout_s=TOLD_WITHIN_S)
        assert f"belongs to somebody else: node.id is '{STRANGE}', should be '{victim.service_id}'" in said
        assert not cluster.running(victim.key, "kafka.Kafka")
        assert f"node.id={STRANGE}\n" in meta.read_text()
        meta.write_text(was)
        cluster.until(lambda: _runs(cluster, victim) or None, "it to serve again", timeout_s=TOLD_WITHIN_S)
        settled(cluster, within_s=300)
    assert cluster.instance(victim.node).key == victim.key
    assert STRANGE not in cluster.snapshot().brokers
    assert not [e for e in cluster.events(before) if e.type in ("surge.requested", "instance.lost", "voter.removed")]


def _victim(cluster: LivingCluster, service: str) -> instance_api.InstanceOut:
    """A controller that does not lead: what befalls it costs no election."""
    leader = cluster.snapshot().quorum.leader
    there = [i for i in cluster.detail().instances if i.node.startswith(CONTROLLERS) is (service == "controller")]
    return next(i for i in there if i.service_id != leader)


def _refused(cluster: LivingCluster, victim: instance_api.InstanceOut) -> str | None:
    """What its agent says of the disk, once it does; just after the end of a process it speaks of that."""
    seen = cluster.instance(victim.node)
    return seen.reported_message if seen.reported_state == "failed" and "volume" in seen.reported_message else None


def _runs(cluster: LivingCluster, victim: instance_api.InstanceOut) -> bool:
    return cluster.instance(victim.node).reported_state == "running"
