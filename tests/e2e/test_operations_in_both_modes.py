"""Operations that are the same in either mode, each on real brokers of both under an audited workload: a security image
that waits for a freeze, topics as they are declared, a broker that comes, is evacuated and goes, another zone, smaller
disks."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from controlplane.api.schemas import (
    conditions as condition_api,
    freezes as freeze_api,
    images as image_api,
    moves as move_api,
    nodes as node_api,
    specs as spec_api,
    topics as topic_api,
)
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import KAFKA_DIR, LivingCluster
from tests.e2e.running import java_process, java_processes
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

KRAFT = ClusterSpec(name="usual", controllers=3, disk_gib=2, join_deadline_s=120, image={"follow": "security"})
ZOOKEEPER = replace(KRAFT, name="elder", version="3.9.1", quorum="zookeeper")
PATCHED = "patched"
"""The directory that is the published image: the same release in another place."""


@pytest.fixture(scope="module", params=[KRAFT, ZOOKEEPER], ids=["kraft", "zookeeper"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    spec: ClusterSpec = request.param
    images: Path = tmp_path_factory.mktemp("images")
    for folder in (images, images / PATCHED):
        folder.mkdir(exist_ok=True)
        (folder / spec.version).symlink_to(KAFKA_DIR / spec.version)
    made = LivingCluster(
        tmp_path_factory.mktemp(spec.name) / "home", spec=spec, settings={"KEDGE_KAFKA_DIR": str(images)}
    )
    try:
        made.open(within_s=300)
        create_topic(made.bootstrap(), "ledger", partitions=12, rf=3, min_isr=2, bytes_per_partition=1024 * 1024)
        yield made
    finally:
        strays = made.close()
    assert strays == []


def test_a_security_image_waits_for_the_end_of_a_freeze_then_every_vm_is_made_from_it(cluster: LivingCluster) -> None:
    spec, before, vms = cluster.spec, cluster.head(), cluster.vms()
    until = datetime.now(UTC) + timedelta(hours=1)
    order = freeze_api.FreezeIn(until=until, reason="the end of the year", clusters=[spec.name])
    freeze = cluster.client.freeze(order).id
    with traffic(cluster.bootstrap):
        published = cluster.client.publish_image(_image(spec.version)).name
        told = cluster.until(lambda: _condition(cluster, "WaitsForWindow"), "it to wait for the freeze", timeout_s=60)
        assert (told.reason, freeze in told.message) == ("Freeze", True), told
        assert [(c.name, c.vms, c.of) for c in cluster.client.image(published).due] == [(spec.name, 0, len(vms))]
        assert cluster.vms() == vms
        cluster.client.thaw(freeze, freeze_api.ThawIn(reason="it cannot wait"))
        cluster.event("drain.batch_started", before)
        running = cluster.client.rolls(spec.name).rolls[0]
        settled(cluster, within_s=400)
    assert {running.state, *(s.state for s in running.steps)} == {"running", "active", "waiting"}
    assert all(s.phase and s.left_s is not None for s in running.steps if s.state == "waiting"), running
    assert all(s.since and s.stages for s in running.steps if s.state == "active"), running
    assert not cluster.vms() & vms
    assert [(c.name, c.vms, c.of) for c in cluster.client.image(published).on] == [(spec.name, len(vms), len(vms))]
    assert all(PATCHED in _classpath(cluster, key) for key in java_processes(cluster))
    over = cluster.client.rolls(spec.name).rolls[0]
    assert (over.state, over.replaced, {s.state for s in over.steps}) == ("done", len(vms), {"done"})


def test_a_declared_topic_is_made_grown_set_copied_cut_back_and_deleted_with_its_name(cluster: LivingCluster) -> None:
    processes = java_processes(cluster)
    with traffic(cluster.bootstrap):
        _declare(cluster, "partitions: 2, tier: scratch, config: {retention.ms: 60000}")
        assert _replicas(cluster) == [1, 1]
        _declare(cluster, "partitions: 4, tier: scratch, config: {cleanup.policy: compact}")
        assert _replicas(cluster) == [1, 1, 1, 1]
        assert _config(cluster) == {"cleanup.policy": "compact", "min.insync.replicas": "1"}
        _declare(cluster, "partitions: 4, tier: critical")
        assert _replicas(cluster) == [3, 3, 3, 3]
        assert _config(cluster)["min.insync.replicas"] == "2"
        _declare(cluster, "partitions: 4, replicas: 2, deletionPolicy: delete")
        assert _replicas(cluster) == [2, 2, 2, 2]
        cluster.client.delete_topic(cluster.spec.name, "life", topic_api.DeleteTopicIn(confirm="life", reason="over"))
        cluster.until(lambda: not _replicas(cluster) or None, "the topic to be gone", timeout_s=60)
        settled(cluster)
    assert java_processes(cluster) == processes


def test_a_broker_comes_and_gets_its_share_is_evacuated_readmitted_and_goes(cluster: LivingCluster) -> None:
    before, spec = cluster.head(), cluster.spec
    with traffic(cluster.bootstrap):
        cluster.declare(replace(spec, sizes={**spec.sizes, "three": 2}))
        cluster.event("rebalance.completed", before)
        settled(cluster)
        broker = cluster.instance("three-c-1").service_id
        assert cluster.snapshot().hosted_by(broker)
        cluster.client.evacuate(spec.name, move_api.EvacuateIn(brokers=[broker], reason="noises"))
        cluster.event("evacuation.completed", before)
        settled(cluster)
        assert cluster.snapshot().hosted_by(broker) == ()
        assert cluster.client.readmit(spec.name, node_api.BrokersIn(brokers=[broker])).changed
        settled(cluster)
        cluster.declare(spec)
        settled(cluster)
    assert broker not in cluster.snapshot().brokers
    assert [i.key for i in cluster.detail().instances if i.node.startswith("three")] == [
        cluster.instance("three-c-0").key
    ]


def test_a_zone_joins_a_pool_whose_nodes_are_dealt_out_anew_and_leaves_it_again(cluster: LivingCluster) -> None:
    spec = cluster.spec
    wide = replace(spec, sizes={**spec.sizes, "three": 2})
    steps = (
        (wide, {"three-c-0", "three-c-1"}),
        (replace(wide, zones={"three": ("c", "a")}), {"three-c-0", "three-a-0"}),
        (spec, {"three-c-0"}),
    )
    stays = cluster.instance("three-c-0").key
    with traffic(cluster.bootstrap):
        for wanted, nodes in steps:
            cluster.declare(wanted)
            settled(cluster)
            there = {i.node: i for i in cluster.detail().instances if i.node.startswith("three")}
            assert there.keys() == nodes
            racks = {node: cluster.snapshot().brokers[i.service_id].rack for node, i in there.items()}
            assert racks == {node: node.split("-")[1] for node in nodes}
    assert cluster.instance("three-c-0").key == stays


def test_a_smaller_disk_is_a_new_vm_with_a_new_disk(cluster: LivingCluster) -> None:
    before, old = cluster.head(), {i.key for i in cluster.detail().instances if i.service == "broker"}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, disk_gib=1))
        settled(cluster, within_s=400)
    new = {i.key for i in cluster.detail().instances if i.service == "broker"}
    assert (len(new), new & old) == (3, set())
    asked = [i for e in cluster.events(before) if e.type == "surge.requested" for i in e.data["instances"]]
    assert [v["size_gib"] for i in asked for v in i["volumes"]] == [1, 1, 1]


def _image(version: str) -> image_api.ImageIn:
    images = {"local/local-1": {"any": PATCHED}}
    order = {"kafka": version, "images": images, "security": "critical", "reason": "CVE-2026-12345"}
    return image_api.ImageIn.model_validate(order)


def _condition(cluster: LivingCluster, kind: str) -> condition_api.ConditionOut | None:
    return next((c for c in cluster.detail().conditions if c.type == kind and c.status), None)


def _classpath(cluster: LivingCluster, key: str) -> str:
    return " ".join(psutil.Process(java_process(cluster, key)).cmdline())


def _declare(cluster: LivingCluster, spec: str) -> None:
    """Applies the topic and waits until Kafka shows it so."""
    head = (
        f"apiVersion: kedge/v1alpha1\nkind: KafkaTopic\nmetadata: {{name: life}}\nspec: {{cluster: {cluster.spec.name}"
    )
    applied = cluster.client.apply(spec_api.ApplyIn(text=f"{head}, {spec}}}\n", file="life.yaml", message="e2e"))
    assert applied.ok, applied.problems

    def as_declared() -> bool | None:
        return cluster.client.topic(cluster.spec.name, "life").state == "InSync" or None

    cluster.until(as_declared, "the topic as it is declared", timeout_s=120)


def _replicas(cluster: LivingCluster) -> list[int]:
    return [len(p.replicas) for p in cluster.snapshot().partitions if p.name.topic == "life"]


def _config(cluster: LivingCluster) -> dict[str, str]:
    return dict(cluster.kafka().topic_configs(["life"])["life"])
