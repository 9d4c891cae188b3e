"""What an agent finds in a real broker is cured under traffic: a damaged segment stops its cleaner, a restart comes."""

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="healed", heal_after_s=3, config={"log.cleaner.backoff.ms": 500})


def test_a_broker_whose_cleaner_gave_up_is_restarted_and_then_told(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, sick = cluster.head(), cluster.instance("two-b-0")
    pids = cluster.pids(sick.key)
    with traffic(cluster.bootstrap):
        _fill_compacted(cluster)
        (segment,) = cluster.vm(sick.key).glob("volumes/data/kafka/ledger-c-0/00000000000000000000.log")
        with segment.open("r+b") as log:
            log.seek(40)
            log.write(b"\xff" * 400)
        _fill_compacted(cluster)
        asked = cluster.event("healing.requested", before, within_s=90).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (sick.key, "log_cleaner_gave_up", "restart")
        cluster.event("restart.completed", before, within_s=90)
        assert cluster.pids(sick.key) != pids
        # The damage is still there: the next cure would be a new VM, and the node rests before it gets one.
        ailing = cluster.until(lambda: _ailing(cluster), "the condition Ailing", timeout_s=90)
    assert "the next cure in" in ailing
    assert [e.data["key"] for e in cluster.events(before) if e.type == "restart.requested"] == [sick.key]
    assert len(cluster.snapshot().live_brokers()) == 3


def _ailing(cluster: LivingCluster) -> str:
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
