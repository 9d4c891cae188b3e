"""What Kedge exists for, on one cluster under one producer: a version roll in which a server and a VM die, growth and
its way back, a lost VM whose disk stays, settings live and by restart. Nothing acknowledged is lost, nothing is twice.

Real brokers, real Terraform, real Spark: a plan that was made without Spark fails the story. The chapters go on from
each other; the last one is the audit of `make demo` over all of them.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from controlplane.api.schemas import instances as instance_api
from tests.e2e.cluster_spec import CONTROLLERS, POOLS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import declare_settings, java_processes, ledger_files, running_values
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1200)]

SPEC = ClusterSpec(name="story", version="4.1.1", controllers=3, join_deadline_s=120)
SETTINGS = {"KEDGE_PLANNER__SPARK_MASTER": "local[1]", "KEDGE_PLANNER__REQUIRE_SPARK": "true"}
SLOW_MIB_PER_S = 4
"""Of a roll in which something dies in the middle of a drain: seconds for each, and not tenths of one."""
WITHIN_S = 600.0
SPARK_PLANS = ("drain.planned", "rebalance.planned")


@pytest.fixture(scope="module")
def traffic_on_a_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LivingCluster, ExitStack]]:
    """The cluster with its data, and the traffic on it: closing that is the audit."""
    cluster, running = (
        LivingCluster(tmp_path_factory.mktemp("story") / "home", spec=SPEC, settings=SETTINGS),
        ExitStack(),
    )
    try:
        cluster.open(within_s=WITHIN_S)
        create_topic(cluster.bootstrap(), "ledger", partitions=12, rf=3, min_isr=2, bytes_per_partition=1 << 20)
        running.enter_context(traffic(cluster.bootstrap, records_per_s=100))
        yield cluster, running
    finally:
        running.pop_all()
        strays = cluster.close()
    assert strays == [], "something outlived its cluster"


@pytest.fixture
def story(traffic_on_a_cluster: tuple[LivingCluster, ExitStack]) -> LivingCluster:
    """The cluster, if the chapters before left it whole."""
    cluster, _ = traffic_on_a_cluster
    assert cluster.server.is_up, "an earlier chapter left no server behind"
    assert cluster.detail().status == "Converged", f"an earlier chapter left it so: {cluster.detail().sentence}"
    return cluster


def test_a_version_roll_ends_well_though_the_server_and_a_drained_vm_are_killed_in_it(story: LivingCluster) -> None:
    cluster, before, voters = story, story.head(), story.voters()
    controllers = _nodes(cluster, "controller")
    assert len(controllers) == 3
    cluster.declare(replace(SPEC, version="4.2.0", throttle_mib_per_s=SLOW_MIB_PER_S))

    cluster.event("drain.batch_started", before, within_s=WITHIN_S)
    assert cluster.moving().moving()
    cluster.restart_server()
    assert not [e for e in cluster.events(before) if e.type == "instance.drained"], "it was killed in the middle"
    first = cluster.event("replacement.completed", before, within_s=WITHIN_S)

    cluster.event("drain.batch_started", first.position, within_s=WITHIN_S)
    (victim,) = cluster.event("drain.requested", first.position).data["keys"]
    assert cluster.moving().moving()
    cluster.power_cut(victim)
    cluster.event("instance.lost", first.position, where=victim)
    settled(cluster, within_s=WITHIN_S)

    told = [e.type for e in cluster.events(before)]
    assert told.count("replacement.completed") == 6
    assert told.count("surge.requested") == 6, "no VM was asked for twice"
    assert "feature.finalised" in told
    assert "metadata.version" in {e.data["feature"] for e in cluster.events(before) if e.type == "feature.finalised"}
    assert {i.kafka_version for i in cluster.detail().instances} == {"4.2.0"}
    assert _nodes(cluster, "controller") == controllers, "controllers keep id and address"
    assert cluster.voters() == voters, "and the disk they vote from"


def test_a_broker_comes_with_a_rebalance_and_goes_again(story: LivingCluster) -> None:
    cluster, before = story, story.head()
    cluster.declare(replace(cluster.spec, sizes={**SPEC.sizes, "three": 2}, throttle_mib_per_s=64))
    cluster.event("rebalance.completed", before, within_s=WITHIN_S)
    settled(cluster, within_s=WITHIN_S)
    added = cluster.instance("three-c-1")
    assert cluster.snapshot().hosted_by(added.service_id), "it got its share"

    before = cluster.head()
    cluster.declare(replace(cluster.spec, sizes=SPEC.sizes))
    settled(cluster, within_s=WITHIN_S)
    assert added.key not in cluster.vms()
    assert added.key in cluster.event("retire.requested", before).data["keys"]


def test_settings_change_live_whatever_they_are_and_no_process_ends(story: LivingCluster) -> None:
    """Words, fractions, booleans and whole numbers."""
    cluster, before, processes = story, story.head(), java_processes(story)
    live = {
        "compression.type": "lz4",
        "log.cleaner.min.cleanable.ratio": 0.6,
        "log.preallocate": True,
        "message.max.bytes": 2000000,
    }
    declare_settings(cluster, **live)
    settled(cluster)
    assert java_processes(cluster) == processes
    told = [e.type for e in cluster.events(before)]
    assert "settings.canary_stood" in told, "one broker had them first"
    assert {name: running_values(cluster, name) for name in live} == {
        "compression.type": {"lz4"},
        "log.cleaner.min.cleanable.ratio": {"0.6"},
        "log.preallocate": {"true"},
        "message.max.bytes": {"2000000"},
    }


def test_what_kafka_reads_at_its_start_restarts_one_service_after_the_other(story: LivingCluster) -> None:
    cluster, before, vms = story, story.head(), story.vms()
    processes = {pid for there in java_processes(cluster).values() for pid in there}
    declare_settings(cluster, **{"num.partitions": 3})
    settled(cluster, within_s=WITHIN_S)
    assert running_values(cluster, "num.partitions") == {"3"}
    assert cluster.vms() == vms
    assert not processes & {pid for there in java_processes(cluster).values() for pid in there}
    asked = [e.data["key"].split("-")[0] for e in cluster.events(before) if e.type == "restart.requested"]
    assert asked == [*POOLS, *[CONTROLLERS] * 3]


def test_a_lost_vm_whose_disk_stayed_comes_back_as_the_same_broker_with_the_same_files(story: LivingCluster) -> None:
    cluster = story
    cluster.declare(replace(cluster.spec, strategy="reattach"))
    settled(cluster)
    before, old = cluster.head(), cluster.instance("one-a-0")
    files = ledger_files(cluster, old.key)
    cluster.power_cut(old.key)
    cluster.event("instance.lost", before, where=old.key)
    cluster.event("replacement.completed", before, within_s=WITHIN_S, where=old.node)
    settled(cluster)
    new = cluster.instance("one-a-0")
    assert (new.service_id, new.generation) == (old.service_id, old.generation + 1)
    assert ledger_files(cluster, new.key) == files, "the very same files, not a copy of them"
    told = {e.type for e in cluster.events(before)}
    assert not told & {"drain.requested", "drain.planned", "rebalance.requested"}, "nothing was copied"


def test_no_acknowledged_record_was_lost_or_stored_twice_in_any_of_it(
    traffic_on_a_cluster: tuple[LivingCluster, ExitStack],
) -> None:
    """And no partition was below min ISR for a moment; each plan was Spark's."""
    cluster, running = traffic_on_a_cluster
    running.close()
    plans = [e for e in cluster.events() if e.type in SPARK_PLANS]
    assert {e.type for e in plans} == set(SPARK_PLANS)
    assert {e.data["engine"] for e in plans} == {"spark"}


def _nodes(cluster: LivingCluster, service: str) -> dict[str, tuple[int, str]]:
    there: list[instance_api.InstanceOut] = [i for i in cluster.detail().instances if i.service == service]
    return {i.node: (i.service_id, i.address) for i in there}
