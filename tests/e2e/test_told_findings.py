"""What people and a cloud do to a cluster at rest is told in a condition and an anomaly, and over once it is put right:
a topic changed by hand, replicas in one zone, a second VM of a node, one nobody asked for.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from controlplane.api.schemas import (
    anomalies as anomaly_api,
    conditions as condition_api,
    specs as spec_api,
)
from planner.observed import TopicPartition
from providers import tags
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470)]

SPEC = ClusterSpec(
    name="told",
    sizes={"one": 1, "two": 1, "three": 2},
    heal_after_s=3600,
    healing={"grace": {"topic-anomaly": "5s"}},
)
"""Zone c has two brokers, so that two replicas fit into it. Nothing is healed while it is looked at."""

FOUR = frozenset({"TopicsDegraded", "Misplaced", "Twins", "Orphans"})
TOLD_WITHIN_S = 120.0
"""A cluster at rest is looked at every minute."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    home = tmp_path_factory.mktemp("told") / "home"
    made = LivingCluster(home, spec=SPEC, settings={"KEDGE_ANOMALIES_POLL_S": "2"})
    try:
        made.open()
        yield made
    finally:
        strays = made.close()
    assert strays == []


def test_what_others_change_is_told_and_over_once_it_is_put_right(cluster: LivingCluster) -> None:
    _declare_topic(cluster, partitions=2)
    cluster.until(lambda: "payments" in _topics(cluster) or None, "the declared topic", timeout_s=TOLD_WITHIN_S)
    assert not _told(cluster).keys() & FOUR
    assert _anomalies(cluster) == {}, "nothing is found in a cluster that is well"

    before = cluster.head()
    admin = AdminClient({"bootstrap.servers": ",".join(cluster.bootstrap()), "log_level": 0})
    admin.create_partitions([NewPartitions("payments", 4)])["payments"].result(20)
    in_c = sorted(i.service_id for i in cluster.detail().instances if i.node.startswith("three-"))
    admin.create_topics([NewTopic("together", 1, replica_assignment=[in_c])])["together"].result(20)
    twin, orphan = _copy_of(cluster, "two-b-0"), _copy_of(cluster, "one-a-0", generation="7")

    cluster.until(
        lambda: set(FOUR) <= _told(cluster).keys() or None,
        "the four conditions",
        timeout_s=TOLD_WITHIN_S,
    )
    told = _told(cluster)
    assert told["TopicsDegraded"].reason == "MorePartitions"
    assert "payments" in told["TopicsDegraded"].message
    assert told["Misplaced"].reason == "SharedZone"
    assert f"together-0 has 2 of 2 replicas {in_c} in zone c" in told["Misplaced"].message
    assert told["Twins"].reason == "TwinFound"
    assert f"as {cluster.instance('two-b-0').key}" in told["Twins"].message
    assert told["Orphans"].reason == "OrphanFound"
    assert "as one-a-0.g7" in told["Orphans"].message
    cluster.until(lambda: "topic-anomaly" in _waiting(cluster) or None, "its anomaly to wait", timeout_s=60)
    said = _anomalies(cluster)["topic-anomaly"]
    assert said.subject == "payments"
    assert said.reason.startswith("MorePartitions: it has 4 partitions, 2 are declared")
    print(cluster.detail().sentence, *(f"{k}: {c.message}" for k, c in told.items()), sep="\n")

    _declare_topic(cluster, partitions=4)
    other = cluster.instance("one-a-0").service_id
    assert cluster.kafka().reassign({TopicPartition("together", 0): (in_c[0], other)}) == {}
    shutil.rmtree(twin)
    shutil.rmtree(orphan)
    cluster.until(
        lambda: not _told(cluster).keys() & FOUR or None,
        "nothing to tell any more",
        timeout_s=TOLD_WITHIN_S,
    )
    cluster.until(lambda: "topic-anomaly" not in _anomalies(cluster) or None, "its anomaly to be over", timeout_s=60)
    assert not {e.type for e in cluster.events(before)} & {"surge.requested", "retire.requested", "instance.lost"}


def _declare_topic(cluster: LivingCluster, *, partitions: int) -> None:
    text = f"""
apiVersion: kedge/v1alpha1
kind: KafkaTopic
metadata: {{name: payments}}
spec: {{cluster: {cluster.spec.name}, partitions: {partitions}, tier: standard}}
"""
    applied = cluster.client.apply(spec_api.ApplyIn(text=text, file="payments.yaml", message="e2e"))
    assert applied.ok, applied.problems


def _topics(cluster: LivingCluster) -> set[str]:
    return {p.name.topic for p in cluster.snapshot().partitions}


def _told(cluster: LivingCluster) -> Mapping[str, condition_api.ConditionOut]:
    return {c.type: c for c in cluster.detail().conditions if c.status}


def _anomalies(cluster: LivingCluster) -> Mapping[str, anomaly_api.AnomalyOut]:
    """Those that are not over, by kind."""
    found = cluster.client.anomalies(cluster.spec.name).anomalies
    return {a.kind: a for a in found if a.state != "over"}


def _waiting(cluster: LivingCluster) -> set[str]:
    return {kind for kind, a in _anomalies(cluster).items() if a.state == "waiting"}


def _copy_of(cluster: LivingCluster, node: str, *, generation: str = "") -> os.PathLike[str]:
    """Somebody made another VM with the tags of that one, or of a generation nobody asked for: the cloud lists both as
    running."""
    own = cluster.vm(cluster.instance(node).key)
    record = json.loads((own / "vm.json").read_text())
    record["tags"][tags.GENERATION] = generation or record["tags"][tags.GENERATION]
    copy = own.with_name(f"copied-{own.name}")
    copy.mkdir()
    (copy / "vm.json").write_text(json.dumps(record))
    return copy
