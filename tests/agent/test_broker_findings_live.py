"""Findings in a real broker: a log directory that fails under it, a compacted topic whose segment is damaged."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.agent.small_cluster import BROKER, Cluster, serving

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]

SETTINGS = {
    "log.cleaner.backoff.ms": "500",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with serving(Cluster(tmp_path_factory.mktemp("vms"), dirs=("data", "more"), settings=SETTINGS)) as cluster:
        yield cluster


def test_a_whole_broker_has_all_vitals_told_and_no_findings(cluster: Cluster) -> None:
    after = cluster.server.count(cluster.broker.instance)
    for n in range(3):
        said = cluster.broker_running("b-1", after=after + n)
        assert [f for f in said.findings if not f.name.startswith("disk_")] == []


def test_a_segment_the_cleaner_cannot_read_is_found(cluster: Cluster) -> None:
    _fill_compacted("ledger")
    (segment,) = cluster.disks.glob("*/kafka/ledger-0/00000000000000000000.log")
    with segment.open("r+b") as log:
        log.seek(40)
        log.write(b"\xff" * 400)
    _fill_compacted("ledger")
    found = cluster.finding("log_cleaner_gave_up")
    assert found.numbers == {"partitions": 1.0}


def test_a_log_directory_that_fails_under_a_running_broker_is_found(cluster: Cluster) -> None:
    _fill_compacted("other")
    # In one step: the broker makes files in there while they are removed one by one.
    (cluster.disks / "more" / "kafka").rename(cluster.disks / "more" / "gone")
    found = cluster.finding("log_dir_failed")
    assert found.numbers == {"log_dirs": 1.0}
    assert "1 log directories are offline" in found.message


def _fill_compacted(topic: str) -> None:
    """Some segments of a compacted topic of one partition, few keys: there is something to clean at once."""
    admin = AdminClient({"bootstrap.servers": f"{BROKER}:9092", "log_level": 0})
    if topic not in admin.list_topics(timeout=20).topics:
        config = {
            "cleanup.policy": "compact",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0.01",
            "min.insync.replicas": "1",
        }
        admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1, config=config)])[topic].result(20)
    producer = Producer({"bootstrap.servers": f"{BROKER}:9092", "acks": "all", "log_level": 0})
    for n in range(2400):
        producer.produce(topic, key=str(n % 7), value=b"x" * 1000)
        producer.poll(0)
    assert producer.flush(30) == 0
