"""A cluster of plain Kafka processes that nobody of Kedge started: imported, emptied onto VMs of the local cloud while
clients write, let go, and every acknowledged record read back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.imported_cluster import POOL, Imported
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

THEIRS = {1: "a", 2: "b", 3: "c"}
NAME = "theirs"
LEDGER, PARTITIONS = "ledger", 12
PARTITION_BYTES = 2 * 1024 * 1024


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Imported]:
    root = tmp_path_factory.mktemp("import")
    theirs = KafkaProcesses(root / "theirs", network="127.0.36", pace={})
    allow = {"KEDGE_EXTERNAL_ALLOW": '["127.0.36.0/24"]'}
    kedge = LivingCluster(root / "home", spec=ClusterSpec(name=NAME), settings=allow)
    try:
        theirs.found(THEIRS)
        create_topic(theirs.bootstrap, LEDGER, partitions=PARTITIONS, rf=3, bytes_per_partition=PARTITION_BYTES)
        kedge.start_server()
        yield Imported(theirs, kedge, NAME, {})
    finally:
        strays = kedge.close()
        theirs.close()
        assert strays == [], "something outlived the test"


def test_the_spec_is_imported_and_adopting_it_touches_nothing(imported: Imported, tmp_path: Path) -> None:
    imported.read(tmp_path)
    before = imported.kedge.snapshot_at(imported.theirs.bootstrap)

    imported.apply(60)

    assert imported.kedge.vms() == set()
    seen = imported.kedge.snapshot_at(imported.theirs.bootstrap)
    assert [(p.name, p.replicas, p.leader) for p in seen.partitions] == [
        (p.name, p.replicas, p.leader) for p in before.partitions
    ]
    assert imported.told("cluster.imported")[0]["kafka_cluster_id"] == imported.theirs.cluster_id
    again = imported.imports(tmp_path)
    assert yaml.safe_load(again)["metadata"]["name"] == NAME, "its spec in force, under the name it has"


def test_its_brokers_are_emptied_onto_ours_and_nothing_is_lost(imported: Imported) -> None:
    kedge, theirs = imported.kedge, imported.theirs
    counted = _counts(theirs.bootstrap)
    with traffic(kedge.bootstrap):
        imported.apply(120, pools=[POOL], rollout={"throttleMibPerS": 32, "linger": 1, "joinDeadline": 60})
        assert len(kedge.vms()) == 3
        imported.apply(150, external=imported.without(*THEIRS))
        seen = kedge.snapshot()
        assert not [p.name for p in seen.partitions if set(p.replicas) & set(THEIRS)]
        assert {b for b in THEIRS if theirs.nodes[b].is_running} == set(THEIRS), "they are stopped by nobody of ours"
        conditions = {c.type: c for c in kedge.detail().conditions}
        assert conditions["ExternalEmpty"].status
        assert "stop them yourself" in conditions["ExternalEmpty"].message
        for broker in THEIRS:
            theirs.stop(broker)
        kedge.until(lambda: len(imported.told("external.left")) == 3, "the stopped brokers to be gone", timeout_s=240)
    assert set(kedge.snapshot().brokers) == {i.service_id for i in kedge.detail().instances}
    assert _counts(kedge.bootstrap()) == counted
    assert {e.data["broker"] for e in kedge.events() if e.type == "external.stopped"} == set(THEIRS)


def _counts(bootstrap: list[str]) -> dict[int, int]:
    """Records of the ledger that can be read, by partition, each of them read."""
    reader = Consumer(
        {
            "bootstrap.servers": ",".join(bootstrap),
            "group.id": "ledger-audit",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    reader.assign([TopicPartition(LEDGER, n, 0) for n in range(PARTITIONS)])
    counted = dict.fromkeys(range(PARTITIONS), 0)
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        message = reader.poll(30)
        assert message is not None, f"nothing to read any more after {counted}"
        if message.error() is None:
            counted[message.partition() or 0] += 1
        else:
            ended.add(message.partition())
    reader.close()
    assert all(counted.values())
    return counted
