"""A real agent that stands still while its broker is asked for a restart, and wakes up when another broker is away: the
broker serves on until that one is back, and only then is it started anew. Under traffic, and nothing is lost."""

from datetime import UTC, datetime

import psutil
import pytest

from controlplane.api.schemas import nodes as node_api
from controlplane.cluster.folds.orders import HOLDS_FOR
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.frozen import go_on, standing_still
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(name="late")


def test_a_restart_that_was_not_heard_waits_for_a_broker_that_went_away_meanwhile(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    first, second, _ = sorted((i for i in cluster.detail().instances if i.service == "broker"), key=lambda i: i.key)
    asked_of, away = first.key, second.key
    (was,) = cluster.running(asked_of, "kafka.Kafka")
    with traffic(cluster.bootstrap):
        with standing_still(_agents(cluster, asked_of)):
            cluster.client.restart(cluster.spec.name, node_api.RestartIn(reason="e2e", brokers=[first.service_id]))
            asked = cluster.event("restart.requested", before, where=asked_of)
            with cluster.frozen(away):
                is_old = asked.at + HOLDS_FOR
                cluster.until(lambda: datetime.now(UTC) > is_old or None, "the order to be old", timeout_s=60)
                go_on(_agents(cluster, asked_of))
                said = cluster.says("and is told again once it is safe", within_s=60)
                assert f"{asked_of} did not hear of it" in said
                assert cluster.running(asked_of, "kafka.Kafka") == [was], "it is started anew though another is away"
        cluster.event("order.renewed", before, where=asked_of, within_s=120)
        cluster.event("restart.completed", before, where=asked_of, within_s=120)
        settled(cluster)
    assert cluster.running(asked_of, "kafka.Kafka") != [was]
    told = [e.type for e in cluster.events(before) if e.type.startswith(("restart.", "order.", "surge.", "instance."))]
    assert told == ["restart.requested", "order.renewed", "restart.completed"]


def _agents(cluster: LivingCluster, key: str) -> list[int]:
    """The agent's processes; Kafka's is none of them."""
    return [pid for pid in cluster.pids(key) if psutil.Process(pid).name() != "java"]
