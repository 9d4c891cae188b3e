"""What an agent finds in a real broker is cured under traffic: a lost disk, a host that goes down, a dead cleaner."""

import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="healed", heal_after_s=3, config={"log.cleaner.backoff.ms": 500})
SERVER_SETTINGS = {"KEDGE_ANOMALIES_POLL_S": "1"}


def test_a_broker_whose_only_disk_is_lost_gets_a_new_vm_and_is_copied_from_the_others(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    before, unhealthy = cluster.head(), cluster.instance("three-c-0")
    with traffic(cluster.bootstrap):
        cluster.lose_directory(unhealthy.key)
        asked = cluster.event("healing.requested", before).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "directory_lost:data", "replace")
        cluster.event("retire.completed", before)
        cluster.converged()
        assert cluster.instance("three-c-0").service_id != unhealthy.service_id
    assert len([e for e in cluster.events(before) if e.type == "instance.drained"]) == 1
    settled(cluster)


def test_a_vm_whose_host_goes_down_has_its_successor_before(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, leaving = cluster.head(), cluster.instance("one-a-0")
    assert not _scheduled(cluster)
    assert "maintenance-event" not in _anomalies(cluster)
    with traffic(cluster.bootstrap):
        cluster.faults.set_vm("maintenance_at_s", {leaving.key: time.time() + 3600})
        cluster.restart_server()  # announcements are read every five minutes; a server that starts reads them
        told = cluster.until(lambda: _scheduled(cluster), "the condition MaintenanceScheduled", timeout_s=60)
        assert leaving.key in told
        asked = cluster.event("healing.requested", before).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (leaving.key, "maintenance", "replace")
        cluster.until(lambda: "maintenance-event" in _anomalies(cluster) or None, "its anomaly", timeout_s=60)
        cluster.event("retire.completed", before)
        cluster.converged()
    assert cluster.instance("one-a-0").key != leaving.key
    cluster.until(lambda: not _scheduled(cluster) or None, "the condition to be over", timeout_s=90)
    cluster.until(
        lambda: "maintenance-event" not in _anomalies(cluster) or None, "its anomaly to be over", timeout_s=60
    )
    settled(cluster)


def test_a_broker_whose_cleaner_gave_up_is_restarted_and_then_told(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, unhealthy = cluster.head(), cluster.instance("two-b-0")
    pids = cluster.pids(unhealthy.key)
    with traffic(cluster.bootstrap):
        _fill_compacted(cluster)
        (segment,) = cluster.vm(unhealthy.key).glob("volumes/data/kafka/ledger-c-0/00000000000000000000.log")
        with segment.open("r+b") as log:
            log.seek(40)
            log.write(b"\xff" * 400)
        _fill_compacted(cluster)
        asked = cluster.event("healing.requested", before, within_s=90).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "log_cleaner_gave_up", "restart")
        cluster.event("restart.completed", before, within_s=90)
        assert cluster.pids(unhealthy.key) != pids
        # The damage is still there: the next cure would be a new VM, and the node rests before it gets one.
        told = cluster.until(lambda: _unhealthy(cluster), "the condition Ailing", timeout_s=90)
    assert "the next cure at" in told
    assert [e.data["key"] for e in cluster.events(before) if e.type == "restart.requested"] == [unhealthy.key]
    assert len(cluster.snapshot().live_brokers()) == 3


def _scheduled(cluster: LivingCluster) -> str:
    told = (c.message for c in cluster.detail().conditions if c.type == "MaintenanceScheduled" and c.status)
    return next(told, "")


def _anomalies(cluster: LivingCluster) -> set[str]:
    """Kinds of those that are not over."""
    return {a.kind for a in cluster.client.anomalies(cluster.spec.name).anomalies if a.state != "over"}


def _unhealthy(cluster: LivingCluster) -> str:
    return next((c.message for c in cluster.detail().conditions if c.type == "Ailing" and c.status), "")


def _fill_compacted(cluster: LivingCluster) -> None:
    """Some segments of a compacted topic on all three brokers, few keys: there is something to clean at once."""
    servers = ",".join(cluster.bootstrap())
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    if "ledger-c" not in admin.list_topics(timeout=20).topics:
        config = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
        topic = NewTopic("ledger-c", num_partitions=1, replication_factor=3, config=config)
        admin.create_topics([topic])["ledger-c"].result(20)
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})
    for n in range(2400):
        producer.produce("ledger-c", key=str(n % 7), value=b"x" * 1000)
        producer.poll(0)
    assert producer.flush(30) == 0
