"""The quorum of a real cluster grows, loses a disk and shrinks again, while clients write."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from providers.local.layout import Layout
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import REGION, LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(900)]

SPEC = ClusterSpec(name="voting", controllers=1, controller_zones=3, join_deadline_s=180)
GROWN = ClusterSpec(name="voting", controllers=3, controller_zones=3, join_deadline_s=180)


def test_the_only_controller_killed_in_a_drain_is_back_before_the_drain_goes_on(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        before = cluster.roll_slowly("one")
        known = cluster.voters()
        victim = next(i for i in cluster.detail().instances if i.service == "controller")
        cluster.power_cut(victim.key)
        cluster.event("instance.lost", before, where=victim.key)
        cluster.event("replacement.completed", before, where=victim.node, within_s=300)
        cluster.declare(replace(cluster.spec, throttle_mib_per_s=64))
        settled(cluster)
    (successor,) = [i.key for i in cluster.detail().instances if i.service == "controller"]
    told = [(e.type, e.data.get("key", "")) for e in cluster.events(before)]
    assert told.index(("instance.joined", successor)) < [kind for kind, _ in told].index("instance.drained")
    assert cluster.voters() == known, "the disk was kept, and with it the vote"


def test_one_controller_becomes_three_and_brokers_know_of_them(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(GROWN)
        settled(cluster)
    assert set(cluster.voters()) == {100, 101, 102}
    changes = [e.type for e in cluster.events(before) if e.type.startswith("voter.")]
    assert changes == ["voter.add_requested", "voter.added"] * 2, "one after the other"
    # The spec before had another machine for one of them: that one gets a new VM, which is born knowing all three.
    brokers = {i.key for i in cluster.detail().instances if i.service == "broker"}
    told = {e.data["key"] for e in cluster.events(before) if e.type in ("restart.requested", "instance.joined")}
    assert len(brokers) == 3
    assert brokers <= told, "each broker was told of one controller out of three"
    for key in brokers:
        assert _listed(cluster, key) == 3


def test_a_controller_whose_disk_is_lost_comes_back_under_its_id_and_address(living_cluster: LivingCluster) -> None:
    cluster, before, known = living_cluster, living_cluster.head(), living_cluster.voters()
    assert len(known) == 3
    leader = cluster.snapshot().quorum.leader
    victim = next(i for i in cluster.detail().instances if i.service == "controller" and i.service_id != leader)
    with traffic(cluster.bootstrap):
        _lose_disk(cluster, victim.key)
        lost = cluster.event("volume.lost", before, where=victim.key).data
        assert lost["proof"] == "agent"
        cluster.event("replacement.completed", before, where=victim.node, within_s=300)
        settled(cluster)
    new = cluster.instance(victim.node)
    assert (new.service_id, new.address) == (victim.service_id, victim.address)
    now = cluster.voters()
    assert set(now) == set(known)
    assert {i for i in now if now[i] != known[i]} == {victim.service_id}, "its directory alone is another one"
    told = [e.type for e in cluster.events(before) if e.type.startswith("voter.")]
    assert told == ["voter.remove_requested", "voter.removed", "voter.add_requested", "voter.added"]
    assert not Layout(cluster.cloud, REGION).volume(cluster.uid, lost["volume"]).exists(), "the lost volume is gone"


def test_three_controllers_become_one(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(SPEC)
        settled(cluster)
    assert set(cluster.voters()) == {100}
    assert [i.service_id for i in cluster.detail().instances if i.service == "controller"] == [100]
    restarted = [e for e in cluster.events(before) if e.type == "restart.requested"]
    assert not restarted, "a list that names who is gone, too, is good enough"


def _listed(cluster: LivingCluster, key: str) -> int:
    """How many controllers the file that its Kafka was started with names."""
    (file,) = cluster.vm(key).rglob("broker/server.properties")
    line = next(one for one in file.read_text().splitlines() if one.startswith("controller.quorum.bootstrap.servers="))
    return len(line.partition("=")[2].split(","))


def _lose_disk(cluster: LivingCluster, key: str) -> None:
    """Kafka dies, and what it kept is gone."""
    asked = [i for e in cluster.events() if e.type == "surge.requested" for i in e.data["instances"]]
    volume = next(i for i in asked if f"{i['node']}.g{i['generation']}" == key)["volumes"][0]["key"]
    root: Path = Layout(cluster.cloud, REGION).volume(cluster.uid, volume)
    kafkas = cluster.running(key, "kafka.Kafka")
    assert kafkas
    for held in root.iterdir():
        shutil.rmtree(held) if held.is_dir() else None
    for kafka in kafkas:
        kafka.kill()
