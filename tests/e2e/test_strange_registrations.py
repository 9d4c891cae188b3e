"""What ZooKeeper says of living brokers is changed behind their backs: each disagreement is told, and gone once mended.

A registration of Kafka 3.9 is the JSON below `/brokers/ids`, which anybody who reaches ZooKeeper may write.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kazoo.client import KazooClient

from controlplane.api.schemas import (
    conditions as condition_api,
    instances as instance_api,
    nodes as node_api,
)
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import active_controller, ensemble_of
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470)]

SPEC = ClusterSpec(
    name="strange", version="3.9.1", quorum="zookeeper", controllers=1, join_deadline_s=120, heal_after_s=3600
)
"""What is found is told here; nobody is cured of it meanwhile."""

TOLD_WITHIN_S = 200.0
"""A cluster at rest is looked at every minute, and what is wrong has to last for one."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    made = LivingCluster(tmp_path_factory.mktemp("strange") / "home", spec=SPEC)
    try:
        made.open()
        create_topic(made.bootstrap(), "orders", partitions=3, rf=3, min_isr=2)
        yield made
    finally:
        strays = made.close()
    assert strays == []


def test_an_address_that_is_another_and_a_broker_that_is_missing_in_zookeeper_are_told(cluster: LivingCluster) -> None:
    assert _told(cluster) is None, "as they registered themselves they are all well"
    with ensemble_of(cluster) as zookeeper:
        leads = active_controller(zookeeper)
        brokers = (i for i in cluster.detail().instances if i.service == "broker" and i.service_id != leads)
        moved, missing = sorted(brokers, key=lambda i: i.service_id)
        _says(zookeeper, moved, endpoints=[f"PLAINTEXT://{moved.address}:9"], port=9)
        zookeeper.delete(_node(missing))
        said = cluster.until(lambda: _several(cluster), "RegistrationWrong with both", timeout_s=TOLD_WITHIN_S)
        elsewhere = f"{moved.key} runs, and broker {moved.service_id} is registered at {moved.address}:9, not at "
        assert f"{elsewhere}{moved.address}:9092" in said.message
        assert f"{missing.key} runs, and ZooKeeper has no broker {missing.service_id}" in said.message
        print(said.message, cluster.detail().sentence, sep="\n")

        _says(zookeeper, moved, endpoints=[f"PLAINTEXT://{moved.address}:9092"], port=9092)
        before = cluster.head()
        cluster.client.restart(SPEC.name, node_api.RestartIn(brokers=[missing.service_id], reason="it is told to"))
        cluster.event("restart.completed", before, where=missing.key, within_s=150)
        cluster.until(lambda: _told(cluster) is None or None, "nothing to tell any more", timeout_s=TOLD_WITHIN_S)
    assert len(cluster.snapshot().live_brokers()) == 3
    assert not [e for e in cluster.events() if e.type in ("instance.lost", "healing.requested", "move_cure.requested")]


def _told(cluster: LivingCluster) -> condition_api.ConditionOut | None:
    return next((c for c in cluster.detail().conditions if c.type == "RegistrationWrong" and c.status), None)


def _several(cluster: LivingCluster) -> condition_api.ConditionOut | None:
    found = _told(cluster)
    return found if found is not None and found.reason == "Several" else None


def _says(zookeeper: KazooClient, broker: instance_api.InstanceOut, **changed: Any) -> None:
    """The registration with that changed; it stays the broker's own session's."""
    told: Mapping[str, Any] = json.loads(zookeeper.get(_node(broker))[0])
    zookeeper.set(_node(broker), json.dumps({**told, **changed}).encode())


def _node(broker: instance_api.InstanceOut) -> str:
    return f"/brokers/ids/{broker.service_id}"
