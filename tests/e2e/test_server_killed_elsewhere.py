"""kill -9 of the server where a roll does not come by: while a setting is tried and watched, and while disks grow. The
next server goes on, nothing is asked for twice."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import declare_settings, java_processes, running_values, types_told
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

SPEC = ClusterSpec(name="elsewhere", soak_s=10, join_deadline_s=180)
WITHIN_S = 300.0


def test_a_server_killed_while_a_live_setting_is_watched_gives_it_to_the_others_once(
    living_cluster: LivingCluster,
) -> None:
    cluster, before, processes = living_cluster, living_cluster.head(), java_processes(living_cluster)
    with traffic(cluster.bootstrap):
        declare_settings(cluster, **{"message.max.bytes": 2000000})
        cluster.event("settings.change_requested", before, within_s=WITHIN_S)
        cluster.restart_server()
        cluster.event("settings.tried", before, within_s=WITHIN_S)
        cluster.server.kill()
        assert running_values(cluster, "message.max.bytes") == {"2000000", "1048588"}, "on the first broker alone"
        cluster.start_server()
        cluster.event("settings.canary_stood", before, within_s=WITHIN_S)
        cluster.restart_server()
        settled(cluster, within_s=WITHIN_S)
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    assert java_processes(cluster) == processes
    told = types_told(cluster, before)
    assert [told.count(t) for t in ("settings.change_requested", "settings.tried", "settings.changed")] == [1, 1, 1]
    assert "settings.revert_requested" not in told


def test_a_server_killed_while_the_first_restart_is_watched_restarts_each_service_once(
    living_cluster: LivingCluster,
) -> None:
    cluster, before, processes = living_cluster, living_cluster.head(), java_processes(living_cluster)
    with traffic(cluster.bootstrap):
        declare_settings(cluster, **{"num.partitions": 3})
        cluster.event("restart.requested", before, within_s=WITHIN_S)
        cluster.restart_server()
        cluster.event("restart.completed", before, within_s=WITHIN_S)
        cluster.restart_server()
        settled(cluster, within_s=WITHIN_S)
    assert running_values(cluster, "num.partitions") == {"3"}
    asked = [e.data["key"] for e in cluster.events(before) if e.type == "restart.requested"]
    assert (len(asked), set(asked)) == (len(processes), set(processes)), "each service once"
    now = java_processes(cluster)
    assert not any(now[key] & processes[key] for key in processes)
    assert "restart.revert_requested" not in types_told(cluster, before)


def test_a_server_killed_while_a_setting_fails_on_the_first_broker_takes_it_back_there(
    living_cluster: LivingCluster,
) -> None:
    cluster, usual = living_cluster, living_cluster.spec
    before, processes = cluster.head(), java_processes(cluster)
    with traffic(cluster.bootstrap):
        # Kafka holds it against replica.lag.time.max.ms (30 s) when it starts, and ends.
        bad = {**usual.config, "replica.fetch.wait.max.ms": 60000}
        cluster.declare(replace(usual, join_deadline_s=40, config=bad))
        first = cluster.event("restart.requested", before, within_s=WITHIN_S).data["key"]
        cluster.restart_server()
        cluster.event("restart.revert_requested", before, within_s=WITHIN_S)
        cluster.restart_server()
        cluster.blocked("RestartReverted", within_s=WITHIN_S)
        now = java_processes(cluster)
        assert {key for key in now if now[key] != processes[key]} == {first}
        assert running_values(cluster, "replica.fetch.wait.max.ms") == {"500"}
        cluster.declare(usual)
        settled(cluster, within_s=WITHIN_S)
    assert [e.data["key"] for e in cluster.events(before) if e.type == "restart.reverted"] == [first]


def test_a_server_killed_while_disks_grow_makes_each_larger_once(living_cluster: LivingCluster) -> None:
    cluster, before, processes = living_cluster, living_cluster.head(), java_processes(living_cluster)
    brokers = [i.key for i in cluster.detail().instances if not i.node.startswith(CONTROLLERS)]
    free = {key: cluster.free_bytes(key) for key in brokers}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, disk_gib=cluster.spec.disk_gib + 1))
        first = cluster.event("growth.requested", before, within_s=WITHIN_S).data["intent"]
        cluster.until(lambda: cluster.run_state(first) == "running" or None, "its run", timeout_s=60, every_s=0.02)
        cluster.restart_server()
        cluster.event("growth.completed", before, within_s=WITHIN_S)
        cluster.restart_server()
        settled(cluster, within_s=WITHIN_S)
        for key in brokers:
            cluster.until(
                lambda key=key: cluster.free_bytes(key) > free[key] + 2**29 or None,  # type: ignore[misc]
                f"{key} to have more room",
                timeout_s=120,
            )
    told = types_told(cluster, before)
    assert [told.count(t) for t in ("growth.requested", "growth.completed")] == [len(brokers)] * 2
    assert java_processes(cluster) == processes
