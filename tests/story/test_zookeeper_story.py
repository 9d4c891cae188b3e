"""A cluster in ZooKeeper mode rolls to the next Kafka under a producer: brokers, ensemble, protocol."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1200)]

SPEC = ClusterSpec(name="keeping", version="3.8.1", quorum="zookeeper", controllers=3, join_deadline_s=120)
SETTINGS = {"KEDGE_PLANNER__SPARK_MASTER": "local[1]", "KEDGE_PLANNER__REQUIRE_SPARK": "true"}
WITHIN_S = 600.0


@pytest.fixture
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    cluster = LivingCluster(tmp_path_factory.mktemp("keeping") / "home", spec=SPEC, settings=SETTINGS)
    try:
        cluster.open(within_s=WITHIN_S)
        create_topic(cluster.bootstrap(), "ledger", partitions=12, rf=3, min_isr=2, bytes_per_partition=1 << 19)
        yield cluster
    finally:
        strays = cluster.close()
    assert strays == [], "something outlived its cluster"


def test_a_zookeeper_cluster_rolls_to_the_next_kafka_and_no_record_is_lost(keeping: LivingCluster) -> None:
    cluster, before = keeping, keeping.head()
    was = _ensemble(cluster)
    assert len(was) == 3
    with traffic(cluster.bootstrap, records_per_s=100):
        cluster.declare(replace(SPEC, version="3.9.1"))
        settled(cluster, within_s=WITHIN_S)
    assert _ensemble(cluster) == was, "servers keep id and address"
    told = [e.type for e in cluster.events(before)]
    assert told.count("replacement.completed") == 6
    assert told.index("protocol.raised") < told.index("restart.requested")
    assert told.count("restart.completed") == 3
    assert {i.kafka_version for i in cluster.detail().instances} == {"3.9.1"}
    plans = [e.data["engine"] for e in cluster.events(before) if e.type == "drain.planned"]
    assert plans == ["spark"] * 3


def _ensemble(cluster: LivingCluster) -> dict[str, tuple[int, str]]:
    there = [i for i in cluster.detail().instances if i.node.startswith(CONTROLLERS)]
    return {i.node: (i.service_id, i.address) for i in there}
