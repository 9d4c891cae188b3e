"""Case 3 of issue 27 with real Kafka: a founding that Kafka refuses says so in Kafka's words, keeps its VMs, and a
mended spec founds the cluster on them."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.producer_ids import WIDTH, first_producer_id
from events.ids import ClusterUid
from tests.begun_producers import begun_producer
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import types_told

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

_ALONE = {
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}
_REFUSED = {"replica.fetch.wait.max.ms": 40000}
"""Fine alone, and not beside replica.socket.timeout.ms, which stays at 30000."""
_RULE = "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms"
SPEC = ClusterSpec(name="fresh", brokers_in=("one",), join_deadline_s=12, config={**_ALONE, **_REFUSED})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def _refused_and_mended(home: Path, spec: ClusterSpec, mended: ClusterSpec) -> None:
    cluster = LivingCluster(home, spec=spec)
    try:
        cluster.start_server()
        cluster.declare(spec)
        blocked = cluster.blocked("ConfigurationRefused", within_s=120)
        assert blocked.message.count(_RULE) == 1
        assert "kedge apply" in blocked.message
        vms = {i.key for i in cluster.detail().instances}
        _past_two_deadlines(cluster, spec)
        still = cluster.detail()
        assert {i.key for i in still.instances} == vms == {k for k in vms if k.endswith(".g1")}
        assert not next(c for c in still.conditions if c.type == "Converged").status
        assert next(c for c in still.conditions if c.type == "Blocked").reason == "ConfigurationRefused"
        cluster.declare(mended)
        cluster.converged(within_s=240)
        assert {i.key for i in cluster.detail().instances} == vms, "the very VMs, with their disks"
        told = types_told(cluster, 0)
        assert "instance.join_failed" not in told
        assert told.count("instance.reconfigured") >= len(spec.brokers_in)
        if spec.quorum != "zookeeper":
            _has_producer_ids_of_its_own(cluster)
    finally:
        assert cluster.close() == []


def _has_producer_ids_of_its_own(cluster: LivingCluster) -> None:
    """Also behind a founding that took two tries."""
    [founded] = [event for event in cluster.events(0) if event.type == "quorum.founded"]
    first = first_producer_id(ClusterUid(cluster.detail().uid), frozenset())
    assert first is not None
    assert founded.data["first_producer_id"] == first
    assert begun_producer(cluster.bootstrap()) in range(first, first + WIDTH)


def _past_two_deadlines(cluster: LivingCluster, spec: ClusterSpec) -> None:
    """By the server's own clock: it looked again and again, long after a VM that is dead would have been replaced."""
    began = cluster.detail().sentence_at
    assert began is not None
    cluster.until(
        lambda: (
            (at := cluster.detail().sentence_at) is not None and (at - began).total_seconds() > 2 * spec.join_deadline_s
        ),
        "two deadlines to pass",
        timeout_s=120,
        every_s=1.0,
    )


def test_a_founding_with_one_controller_that_kafka_refuses_is_founded_by_a_mended_spec(home: Path) -> None:
    _refused_and_mended(home, SPEC, replace(SPEC, config=_ALONE))


@pytest.mark.soak
def test_a_founding_with_three_controllers_that_kafka_refuses_is_founded_by_a_mended_spec(home: Path) -> None:
    spec = replace(SPEC, controllers=3, join_deadline_s=20)
    _refused_and_mended(home, spec, replace(spec, config=_ALONE))


@pytest.mark.soak
def test_brokers_of_an_ensemble_that_kafka_refuses_are_founded_by_a_mended_spec(home: Path) -> None:
    alone = {k: v for k, v in _ALONE.items() if not k.startswith("share.")}
    spec = replace(SPEC, quorum="zookeeper", version="3.9.1", join_deadline_s=20, config={**alone, **_REFUSED})
    _refused_and_mended(home, spec, replace(spec, config=alone))


@pytest.mark.soak
def test_refused_founders_are_mended_by_another_machine_which_takes_over_disks_nobody_wrote_to(home: Path) -> None:
    cluster = LivingCluster(home, spec=replace(SPEC, controllers=3, join_deadline_s=20))
    try:
        cluster.start_server()
        cluster.declare(cluster.spec)
        cluster.blocked("ConfigurationRefused", within_s=120)
        cluster.declare(replace(cluster.spec.rolled("controllers"), config=_ALONE))
        cluster.converged(within_s=300)
        told = types_told(cluster, 0)
        assert "volume.lost" not in told
        controllers = {i.key for i in cluster.detail().instances if i.node.startswith("controllers")}
        assert controllers == {f"controllers-{zone}-0.g2" for zone in "abc"}
    finally:
        assert cluster.close() == []
