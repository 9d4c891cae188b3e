"""A broker in ZooKeeper mode that comes back as another than it should be, on real Kafka 3.8: with the jars of another
release, on a disk with another id, in another rack. Each is told, costs nobody anything, and is over once put right."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.api.schemas import (
    conditions as condition_api,
    instances as instance_api,
    nodes as node_api,
)
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import KAFKA_DIR, LivingCluster
from tests.e2e.running import active_controller, ensemble_of
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470)]

SPEC = ClusterSpec(
    name="stranger", version="3.8.1", quorum="zookeeper", controllers=1, join_deadline_s=120, heal_after_s=3600
)
"""What is found is told here; nobody is cured of it meanwhile."""

TOLD_WITHIN_S = 200.0
"""A cluster at rest is looked at every minute, and what is wrong has to last for one."""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of releases of its own, in which a name may come to mean another one."""
    made = tmp_path_factory.mktemp("images")
    (made / SPEC.version).symlink_to(KAFKA_DIR / SPEC.version)
    return made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, images: Path) -> Iterator[LivingCluster]:
    home = tmp_path_factory.mktemp("stranger") / "home"
    made = LivingCluster(home, spec=SPEC, settings={"KEDGE_KAFKA_DIR": str(images)})
    try:
        made.open(within_s=200)
        create_topic(made.bootstrap(), "orders", partitions=3, rf=3, min_isr=2)
        yield made
    finally:
        strays = made.close()
    assert strays == []


def test_a_broker_that_comes_back_with_another_release_serves_and_is_told(cluster: LivingCluster, images: Path) -> None:
    victim = _follower(cluster)
    with traffic(cluster.bootstrap):
        _becomes(images, "3.9.1")
        _restart(cluster, victim)
        said = cluster.until(lambda: _finding(cluster, victim), "the finding wrong_identity", timeout_s=120)
        assert said == (
            f"it runs as node {victim.service_id} with Kafka 3.9.1, and node {victim.service_id} with 3.8.1 is wanted"
        )
        _becomes(images, SPEC.version)
        _restart(cluster, victim)
        cluster.until(lambda: _finding(cluster, victim) is None or None, "the finding to be over", timeout_s=120)
        settled(cluster)


def test_a_broker_that_finds_another_id_on_its_disk_does_not_start_and_nothing_of_it_is_touched(
    cluster: LivingCluster,
) -> None:
    victim, before = _follower(cluster), cluster.head()
    meta = cluster.vm(victim.key) / "volumes" / "data" / "kafka" / "meta.properties"
    was = meta.read_text()
    assert f"broker.id={victim.service_id}\n" in was
    with traffic(cluster.bootstrap):
        meta.write_text(was.replace(f"broker.id={victim.service_id}\n", "broker.id=1999\n"))
        for kafka in cluster.running(victim.key, "kafka.Kafka"):
            kafka.kill()
        said = cluster.until(lambda: _refused(cluster, victim), "its agent to refuse the disk", timeout_s=90)
        assert "belongs to somebody else: broker.id is '1999', should be" in said
        assert not cluster.running(victim.key, "kafka.Kafka")
        meta.write_text(was)
        # Until the session of the process that was killed is over it is registered, and no other one can be.
        cluster.until(lambda: _runs(cluster, victim) or None, "it to serve again", timeout_s=90)
        settled(cluster)
    assert cluster.instance(victim.node).key == victim.key
    assert not [e for e in cluster.events(before) if e.type in ("surge.requested", "instance.lost")]


def test_a_broker_in_another_rack_is_told_and_put_right_by_a_restart(cluster: LivingCluster) -> None:
    """Kafka takes a changed registration over where its endpoints differ, and the rack with them: so they are changed,
    and changed back."""
    victim = _follower(cluster)
    assert _told(cluster) is None
    with ensemble_of(cluster) as zookeeper:
        path = f"/brokers/ids/{victim.service_id}"
        told = json.loads(zookeeper.get(path)[0])
        for port in (9, 9092):
            there = {"rack": "z", "endpoints": [f"PLAINTEXT://{victim.address}:{port}"], "port": port}
            zookeeper.set(path, json.dumps({**told, **there}).encode())
            cluster.until(
                lambda port=port: _port(cluster, victim) == port or None,  # type: ignore[misc]
                f"Kafka to believe in port {port}",
                timeout_s=30,
            )
    said = cluster.until(lambda: _told(cluster), "RegistrationWrong", timeout_s=TOLD_WITHIN_S)
    assert said.reason == "WrongRack"
    right = victim.rack
    assert f"{victim.key} runs, and broker {victim.service_id} is registered in rack z, not {right}" in said.message
    _restart(cluster, victim)
    cluster.until(lambda: _told(cluster) is None or None, "nothing to tell any more", timeout_s=TOLD_WITHIN_S)
    assert cluster.snapshot().brokers[victim.service_id].rack == right
    settled(cluster)


def _follower(cluster: LivingCluster) -> instance_api.InstanceOut:
    """A broker that is not the active controller: what befalls it costs no election of that."""
    with ensemble_of(cluster) as zookeeper:
        leads = active_controller(zookeeper)
    brokers = [i for i in cluster.detail().instances if i.service == "broker" and i.service_id != leads]
    return min(brokers, key=lambda i: i.service_id)


def _becomes(images: Path, version: str) -> None:
    """What the directory of the cluster's release is from now on, for processes that start."""
    beside = images / "next"
    beside.symlink_to(KAFKA_DIR / version)
    beside.rename(images / SPEC.version)


def _restart(cluster: LivingCluster, broker: instance_api.InstanceOut) -> None:
    before = cluster.head()
    cluster.client.restart(SPEC.name, node_api.RestartIn(brokers=[broker.service_id], reason="it is told to"))
    cluster.event("rolling_restart.completed", before, within_s=150)


def _finding(cluster: LivingCluster, broker: instance_api.InstanceOut) -> str | None:
    found = cluster.instance(broker.node).findings
    return next((f.message for f in found if f.name == "wrong_identity"), None)


def _refused(cluster: LivingCluster, broker: instance_api.InstanceOut) -> str | None:
    """What its agent says of the disk, once it does; just after the end of a process it speaks of that."""
    seen = cluster.instance(broker.node)
    return seen.reported_message if seen.reported_state == "failed" and "volume" in seen.reported_message else None


def _runs(cluster: LivingCluster, broker: instance_api.InstanceOut) -> bool:
    return cluster.instance(broker.node).reported_state == "running"


def _told(cluster: LivingCluster) -> condition_api.ConditionOut | None:
    return next((c for c in cluster.detail().conditions if c.type == "RegistrationWrong" and c.status), None)


def _port(cluster: LivingCluster, broker: instance_api.InstanceOut) -> int:
    seen = cluster.snapshot().brokers.get(broker.service_id)
    return seen.port if seen is not None else 0
