"""What is changed of a running cluster in ZooKeeper mode, on real brokers of Kafka 3.8 and an ensemble of three, under
traffic: settings live and by restarts, a setting brokers do not start with, a broker on its next VM, larger disks."""

import json
from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import (
    active_controller,
    declare_settings,
    ensemble_of,
    java_processes,
    ledger_files,
    running_values,
    types_told,
)
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(
    name="worked",
    version="3.8.1",
    quorum="zookeeper",
    controllers=3,
    strategy="reattach",
    join_deadline_s=120,
)
LOCK = "/kedge/locks/restart"


def test_what_kafka_takes_live_is_set_on_one_broker_first_and_no_process_ends(living_cluster: LivingCluster) -> None:
    cluster, before, processes = living_cluster, living_cluster.head(), java_processes(living_cluster)
    with traffic(cluster.bootstrap):
        declare_settings(cluster, **{"num.io.threads": 4, "message.max.bytes": 2000000})
        settled(cluster)
    assert java_processes(cluster) == processes
    assert running_values(cluster, "num.io.threads") == {"4"}
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    assert types_told(cluster, before) == [
        "settings.change_requested",
        "settings.tried",
        "settings.canary_stood",
        "settings.changed",
        "recycle.completed",
    ]


def test_restarts_wait_for_who_has_the_lock_then_go_one_by_one_under_it_the_active_controller_last(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    before, processes, vms = cluster.head(), java_processes(cluster), cluster.vms()
    with traffic(cluster.bootstrap), ensemble_of(cluster) as zookeeper:
        leads = active_controller(zookeeper)
        zookeeper.ensure_path("/kedge/locks")
        theirs = json.dumps({"holder": "the night's script", "why": "new certificates"}).encode()
        zookeeper.create(LOCK, theirs, ephemeral=True)
        declare_settings(cluster, **{"num.partitions": 3})
        cluster.says("the night's script holds it: new certificates", within_s=60)
        assert "restart.requested" not in types_told(cluster, before)
        zookeeper.delete(LOCK)

        cluster.event("restart.requested", before, within_s=60)
        held, _ = zookeeper.get(LOCK)
        assert json.loads(held)["holder"] != "the night's script", "Kedge restarts under the lock"
        settled(cluster, within_s=300)
        assert zookeeper.exists(LOCK) is None, "it is given back"
    assert cluster.vms() == vms
    assert running_values(cluster, "num.partitions") == {"3"}
    now = java_processes(cluster)
    assert all(now[key] == processes[key] for key in vms if key.startswith(CONTROLLERS)), "servers read no such setting"
    assert not any(now[key] & processes[key] for key in vms if not key.startswith(CONTROLLERS))
    steps = [e for e in cluster.events(before) if e.type in ("restart.requested", "restart.completed")]
    assert [e.type for e in steps] == ["restart.requested", "restart.completed"] * 3, "one at a time"
    asked = [e.data for e in steps if e.type == "restart.requested"]
    assert [d["canary"] for d in asked] == [True, False, False]
    assert asked[-1]["key"] == _key(cluster, leads)


def test_a_setting_the_first_broker_does_not_start_with_is_taken_back_and_no_other_broker_is_touched(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    before, processes, usual = cluster.head(), java_processes(cluster), cluster.spec
    with traffic(cluster.bootstrap), ensemble_of(cluster) as zookeeper:
        # Kafka holds it against replica.lag.time.max.ms (30 s) when it starts, and ends.
        bad = {**usual.config, "replica.fetch.wait.max.ms": 60000}
        cluster.declare(replace(usual, join_deadline_s=40, config=bad))
        blocked = cluster.blocked("RestartReverted", within_s=200)
        assert "old settings back, and 2 other services were not restarted" in blocked.message
        (asked,) = [e.data for e in cluster.events(before) if e.type == "restart.requested"]
        assert asked["canary"]
        assert asked["key"] != _key(cluster, active_controller(zookeeper))
        now = java_processes(cluster)
        assert {key for key in now if now[key] != processes[key]} == {asked["key"]}
        assert running_values(cluster, "replica.fetch.wait.max.ms") == {"500"}
        assert len(cluster.snapshot().live_brokers()) == 3
        cluster.declare(usual)
        settled(cluster)
    assert [e.data["key"] for e in cluster.events(before) if e.type == "restart.reverted"] == [asked["key"]]


def test_a_broker_goes_to_its_next_vm_with_its_id_and_its_very_files(living_cluster: LivingCluster) -> None:
    cluster, before, old = living_cluster, living_cluster.head(), living_cluster.instance("one-a-0")
    files, processes = ledger_files(cluster, old.key), java_processes(cluster)
    with traffic(cluster.bootstrap):
        cluster.roll("one")
        cluster.event("replacement.completed", before, where="one-a-0", within_s=300)
        settled(cluster)
    new = cluster.instance("one-a-0")
    assert (new.service_id, new.generation) == (old.service_id, old.generation + 1)
    assert ledger_files(cluster, new.key) == files, "the very same files, not a copy of them"
    assert "drain.requested" not in types_told(cluster, before)
    now = java_processes(cluster)
    assert {key for key in now if now[key] != processes.get(key)} == {new.key}, "nobody else was started anew"


def test_disks_grow_under_brokers_that_go_on(living_cluster: LivingCluster) -> None:
    cluster, before, processes = living_cluster, living_cluster.head(), java_processes(living_cluster)
    brokers = [i.key for i in cluster.detail().instances if i.service == "broker"]
    free = {key: cluster.free_bytes(key) for key in brokers}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, disk_gib=cluster.spec.disk_gib + 1))
        settled(cluster, within_s=200)
        for key in brokers:
            cluster.until(
                lambda key=key: cluster.free_bytes(key) > free[key] + 2**29 or None,  # type: ignore[misc]
                f"{key} to have more room",
                timeout_s=60,
            )
    assert types_told(cluster, before).count("growth.completed") == 3
    assert java_processes(cluster) == processes


def _key(cluster: LivingCluster, broker: int) -> str:
    return next(i.key for i in cluster.detail().instances if i.service == "broker" and i.service_id == broker)
