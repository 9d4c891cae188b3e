"""Brokers on disks that go with their VMs, in either mode, under an audited workload: they are born, rolled, lost and
retired, always by copies and never by a handover, and get disks that stay by copies, too.

The tests of a mode run in order: each goes on with the cluster the one before it has left.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from controlplane.api.schemas import instances as instance_api, specs as spec_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import ledger_files, types_told
from tests.e2e.traffic import traffic
from tests.e2e.volumes import volumes_of
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

KRAFT = ClusterSpec(
    name="fleeting", disk_kind="ephemeral", sizes={"one": 1, "two": 1, "three": 2}, disk_gib=2, join_deadline_s=180
)
ZOOKEEPER = replace(KRAFT, name="passing", version="3.9.1", quorum="zookeeper")
WITHIN_S = 300.0
HANDED_OVER = {"release.requested", "bind.requested"}
"""What a broker's disk needs to go from one VM to the next."""


@pytest.fixture(scope="module", params=[KRAFT, ZOOKEEPER], ids=["kraft", "zookeeper"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingCluster]:
    spec: ClusterSpec = request.param
    made = LivingCluster(tmp_path_factory.mktemp(spec.name) / "home", spec=spec)
    try:
        made.open(within_s=WITHIN_S)
        create_topic(made.bootstrap(), "ledger", partitions=12, rf=3, min_isr=2, bytes_per_partition=1024 * 1024)
        yield made
    finally:
        strays = made.close()
    assert strays == []


def test_a_broker_whose_disk_goes_with_its_vm_is_emptied_before_it_is_replaced(cluster: LivingCluster) -> None:
    assert {_kind(cluster, i.key) for i in _brokers(cluster)} == {"ephemeral"}
    old = cluster.instance("one-a-0")
    with traffic(cluster.bootstrap):
        before = cluster.roll("one")
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    told = types_told(cluster, before)
    assert told.count("drain.requested") >= 1
    assert not HANDED_OVER & set(told)
    assert cluster.instance("one-a-0").service_id > old.service_id, "a new broker, filled by copies"
    assert _disks_left(cluster) == {i.key for i in _brokers(cluster)}


def test_a_vm_that_is_lost_with_its_disk_is_replaced_and_filled_from_the_others(cluster: LivingCluster) -> None:
    before, lost = cluster.head(), cluster.instance("two-b-0")
    with traffic(cluster.bootstrap):
        cluster.power_cut(lost.key)
        cluster.event("instance.lost", before, within_s=WITHIN_S)
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    successor = cluster.instance("two-b-0")
    assert (successor.generation, successor.service_id > lost.service_id) == (lost.generation + 1, True)
    assert not HANDED_OVER & set(types_told(cluster, before))
    assert lost.service_id not in {b for p in cluster.snapshot().partitions for b in p.replicas}
    assert all(len(p.isr) == 3 for p in cluster.snapshot().partitions if p.name.topic == "ledger")
    assert _disks_left(cluster) == {i.key for i in _brokers(cluster)}


def test_a_broker_that_is_not_wanted_any_more_is_emptied_and_goes_with_its_disk(cluster: LivingCluster) -> None:
    spec, before, leaving = cluster.spec, cluster.head(), cluster.instance("three-c-1")
    with traffic(cluster.bootstrap):
        cluster.declare(replace(spec, sizes={**spec.sizes, "three": 1}))
        cluster.event("retire.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    assert leaving.key not in cluster.vms()
    assert leaving.service_id not in cluster.snapshot().brokers
    assert _disks_left(cluster) == {i.key for i in _brokers(cluster)}


def test_under_reattach_they_are_refused_in_words_and_a_migration_too(cluster: LivingCluster) -> None:
    before = cluster.head()
    refused = _apply(cluster, replace(cluster.spec, strategy="reattach"))
    assert any("ephemeral disk, which `reattach` cannot move to the next VM" in p for p in refused), refused
    if cluster.spec.quorum == "zookeeper":
        kraft = replace(cluster.spec, quorum="controller", quorum_pool="voters")
        refused = _apply(cluster, kraft)
        assert any("ephemeral disks: a broker migrates under its id and with its disk" in p for p in refused), refused
    assert cluster.events(before) == []


def test_disks_that_stay_are_filled_by_copies_under_reattach_and_handed_over_from_then_on(
    cluster: LivingCluster,
) -> None:
    before, old = cluster.head(), {i.service_id for i in _brokers(cluster)}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, disk_kind="persistent", strategy="reattach"))
        settled(cluster, within_s=450)
        told = types_told(cluster, before)
        assert told.count("drain.requested") >= 3
        assert not HANDED_OVER & set(told)
        assert not old & {i.service_id for i in _brokers(cluster)}, "none kept its id, as none kept its disk"
        assert {_kind(cluster, i.key) for i in _brokers(cluster)} == {"persistent"}

        was, before = cluster.instance("one-a-0"), cluster.head()
        files = ledger_files(cluster, was.key)
        cluster.roll("one")
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    now = cluster.instance("one-a-0")
    assert (now.service_id, now.generation) == (was.service_id, was.generation + 1)
    assert ledger_files(cluster, now.key) == files
    assert "drain.requested" not in types_told(cluster, before)


def test_a_disk_that_stays_is_given_up_for_one_that_goes_with_its_vm_by_copies(cluster: LivingCluster) -> None:
    before, old = cluster.head(), {i.service_id for i in _brokers(cluster)}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, disk_kind="ephemeral", strategy="migrate"))
        settled(cluster, within_s=450)
    told = types_told(cluster, before)
    assert told.count("drain.requested") >= 3
    assert not HANDED_OVER & set(told)
    assert not old & {i.service_id for i in _brokers(cluster)}
    assert _disks_left(cluster) == {i.key for i in _brokers(cluster)}


def _brokers(cluster: LivingCluster) -> list[instance_api.InstanceOut]:
    return [i for i in cluster.detail().instances if i.service == "broker"]


def _kind(cluster: LivingCluster, key: str) -> str:
    """Of a VM's only disk, as it was asked for."""
    asked = [i for e in cluster.events() if e.type == "surge.requested" for i in e.data["instances"]]
    return next(str(i["volumes"][0]["kind"]) for i in asked if f"{i['node']}.g{i['generation']}" == key)


def _disks_left(cluster: LivingCluster) -> set[str]:
    """VMs of brokers that have a disk, by what the cloud has on its disks: none outlives its VM."""
    here = {i.key: set(volumes_of(cluster, i.key).values()) for i in _brokers(cluster)}
    known = {path.name.removesuffix(".json") for path in cluster.cloud.glob(f"*/volumes/{cluster.uid}/*.json")}
    mine = {v for v in known if v.split("-")[0] in cluster.spec.sizes}
    assert mine == {v for held in here.values() for v in held}, f"left over, or missing: {mine}, {here}"
    return {key for key, held in here.items() if held}


def _apply(cluster: LivingCluster, spec: ClusterSpec) -> list[str]:
    """What is said against it."""
    said = cluster.client.apply(spec_api.ApplyIn(text=spec.text(), file="living.yaml", message="e2e"))
    assert not said.ok
    return [p.message for p in said.problems]
