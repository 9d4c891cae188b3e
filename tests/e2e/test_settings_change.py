"""Settings change on real brokers the gentlest way: live without a new process, else service by service, else not."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controlplane.api.schemas import nodes as node_api
from controlplane.cli.errors import Refused
from planner.observed import SettingSeen
from planner.rollout.live_step import LiveStep
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import declare_settings, java_processes, running_values, types_told
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="tuned", join_deadline_s=20)

WRITTEN = {
    "compression.type": "lz4",
    "log.cleaner.io.max.bytes.per.second": "5e7",
    "log.cleaner.min.cleanable.ratio": "0.250",
    "log.message.timestamp.type": "LogAppendTime",
    "unclean.leader.election.enable": True,
}
PRINTED = {
    "compression.type": "lz4",
    "log.cleaner.io.max.bytes.per.second": "5.0E7",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "log.message.timestamp.type": "LogAppendTime",
    "unclean.leader.election.enable": "true",
}


def test_what_kafka_takes_live_is_set_under_traffic_and_no_process_ends(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, processes = cluster.head(), _processes(cluster)
    with traffic(cluster.bootstrap):
        declare_settings(cluster, **{"num.io.threads": 7, "message.max.bytes": 2000000})
        settled(cluster)
    assert _processes(cluster) == processes
    assert running_values(cluster, "num.io.threads") == {"7"}
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    assert types_told(cluster, before) == [
        "settings.change_requested",
        "settings.tried",
        "settings.canary_stood",
        "settings.changed",
        "recycle.completed",
    ]
    assert not _of_their_own(cluster, "num.io.threads", "message.max.bytes")


def test_words_booleans_fractions_and_lists_are_set_live_and_leave_again(living_cluster: LivingCluster) -> None:
    """Each as a person writes it; a broker prints some of them in another form. The list alone without traffic: topics
    that are compacted take no record without a key."""
    cluster = living_cluster
    before, spec, processes = cluster.head(), cluster.spec, _processes(cluster)
    at_first = {name: running_values(cluster, name) for name in WRITTEN}
    with traffic(cluster.bootstrap):
        declare_settings(cluster, **WRITTEN)
        settled(cluster)
        assert {name: running_values(cluster, name) for name in WRITTEN} == {n: {v} for n, v in PRINTED.items()}
    declare_settings(cluster, **{"log.cleanup.policy": "compact, delete"})
    settled(cluster)
    assert running_values(cluster, "log.cleanup.policy") == {"compact,delete"}
    cluster.declare(spec)
    settled(cluster)
    assert {name: running_values(cluster, name) for name in WRITTEN} == at_first
    assert running_values(cluster, "log.cleanup.policy") == {"delete"}
    assert _processes(cluster) == processes
    once = ["settings.change_requested", "settings.tried", "settings.canary_stood", "settings.changed"]
    assert types_told(cluster, before) == [*once, "recycle.completed"] * 3
    assert not _of_their_own(cluster, *WRITTEN, "log.cleanup.policy")


def test_a_live_value_is_taken_back_from_a_first_broker_that_falls_and_no_other_one_ever_has_it(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    before, spec, processes = cluster.head(), cluster.spec, _processes(cluster)
    changed = {**spec.config, "message.max.bytes": 2500000, "num.io.threads": 28}
    cluster.declare(replace(spec, soak_s=90, config=changed))
    asked = cluster.event("settings.change_requested", before, within_s=30)
    cluster.event("settings.tried", before, within_s=30)
    canary = asked.data["canary"]
    assert {b: s["message.max.bytes"].value for b, s in _seen(cluster, "message.max.bytes").items()} == {
        b: "2500000" if b == canary else "2000000" for b in cluster.snapshot().brokers
    }
    with cluster.frozen(next(i.key for i in cluster.detail().instances if i.service_id == canary)):
        reverting = cluster.event("settings.revert_requested", before, within_s=60)
    assert "it fell while it was watched" in reverting.data["reason"]
    cluster.event("settings.reverted", before, within_s=60)
    blocked = cluster.blocked("SettingReverted", within_s=30)
    assert "no other broker was touched" in blocked.message
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    assert running_values(cluster, "num.io.threads") == {"7"}
    assert not _of_their_own(cluster, "num.io.threads", "message.max.bytes")
    assert "settings.changed" not in types_told(cluster, before)
    assert _processes(cluster) == processes
    cluster.declare(spec)
    settled(cluster)


def test_what_somebody_set_by_hand_is_put_right(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, broker = cluster.head(), min(cluster.snapshot().brokers)
    gateway = cluster.kafka()
    gateway.change_settings(LiveStep({}, {broker: {"message.max.bytes": "3000000", "log.retention.ms": "3600000"}}))
    asked = cluster.event("settings.change_requested", before, within_s=90).data
    assert f"broker {broker} has message.max.bytes=3000000, not 2000000" in asked["reason"]
    cluster.event("settings.changed", before)
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    assert "3600000" in running_values(cluster, "log.retention.ms"), "the spec does not name it: it is somebody else's"
    settled(cluster)


def test_what_somebody_set_by_hand_is_told_and_left_where_the_spec_adopts_it(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    cluster.declare(replace(cluster.spec, adopt=("message.max.bytes",)))
    settled(cluster)
    before, broker = cluster.head(), min(cluster.snapshot().brokers)
    cluster.kafka().change_settings(LiveStep({}, {broker: {"message.max.bytes": "3000000"}}))
    told = cluster.until(lambda: _told(cluster, "SettingsAdopted"), "the other value to be told", timeout_s=90)
    assert f"broker {broker} has message.max.bytes=3000000, not 2000000" in told
    settled(cluster)
    assert "settings.change_requested" not in types_told(cluster, before)
    assert running_values(cluster, "message.max.bytes") == {"2000000", "3000000"}
    cluster.declare(replace(cluster.spec, adopt=()))
    cluster.event("settings.changed", before, within_s=90)
    settled(cluster)
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    assert _told(cluster, "SettingsAdopted") is None


def test_what_a_broker_refuses_is_told_in_its_words_and_nothing_is_applied(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before = cluster.head()
    # Kafka holds the one against the other: what is kept locally is a part of what is kept.
    wrong = {"log.local.retention.bytes": 2000, "log.retention.bytes": 1000}
    declare_settings(cluster, **wrong, **{"message.max.bytes": 4000000})
    blocked = cluster.blocked("SettingRefused", within_s=60)
    assert "log.local.retention.bytes" in blocked.message
    assert "nothing was applied" in blocked.message
    assert "kedge apply" in blocked.message
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    cluster.declare(replace(cluster.spec, config={"num.io.threads": 7, "message.max.bytes": 2000000}))
    settled(cluster)
    assert "settings.change_requested" not in types_told(cluster, before)


def test_what_kafka_reads_at_its_start_restarts_one_service_after_the_other(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, vms, processes = cluster.head(), cluster.vms(), _processes(cluster)
    with traffic(cluster.bootstrap):
        declare_settings(cluster, **{"num.partitions": 3})
        settled(cluster, within_s=200)
    assert cluster.vms() == vms
    assert not set(_processes(cluster)) & set(processes)
    assert running_values(cluster, "num.partitions") == {"3"}
    asked = [e.data for e in cluster.events(before) if e.type == "restart.requested"]
    assert [d["key"].split("-")[0] for d in asked] == ["one", "two", "three", "controllers"]
    assert [d["canary"] for d in asked] == [True, False, False, True]


def test_a_rolling_restart_that_a_person_asks_for_loses_no_record_and_keeps_every_vm(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    before, vms, processes, name = cluster.head(), cluster.vms(), _processes(cluster), cluster.spec.name
    # The server looks at a cluster at rest once a minute only.
    answer = cluster.until(lambda: _check(cluster), "all services to be safe to restart", timeout_s=90)
    assert [s.service for s in answer.services].count("broker") == 3
    with traffic(cluster.bootstrap):
        said = cluster.client.restart(name, node_api.RestartIn(reason="new certificates"))
        assert "3 brokers and 1 controller" in said.sentence
        with pytest.raises(Refused) as second:
            cluster.client.restart(name, node_api.RestartIn())
        assert second.value.code == "restart-running"
        cluster.event("rolling_restart.completed", before, within_s=120)
        settled(cluster)
    assert cluster.vms() == vms
    assert not set(_processes(cluster)) & set(processes)
    asked = [e.data for e in cluster.events(before) if e.type == "restart.requested"]
    assert [d["key"].split("-")[0] for d in asked] == ["one", "two", "three", "controllers"]
    assert {(d["canary"], d["reason"].split(",")[0]) for d in asked} == {(False, "asked by e2e: new certificates")}


def test_a_broker_that_does_not_start_gets_its_old_settings_back(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before = cluster.head()
    with traffic(cluster.bootstrap):
        # Kafka holds it against replica.lag.time.max.ms (30 s) when it starts, and ends.
        declare_settings(cluster, **{"replica.fetch.wait.max.ms": 60000})
        blocked = cluster.blocked("RestartReverted", within_s=150)
        assert "old settings back" in blocked.message
        assert len(cluster.snapshot().live_brokers()) == 3
        assert running_values(cluster, "replica.fetch.wait.max.ms") == {"500"}
        cluster.declare(replace(cluster.spec, config={**cluster.spec.config, "replica.fetch.wait.max.ms": 500}))
        settled(cluster, within_s=200)
    asked = [e.data["key"] for e in cluster.events(before) if e.type == "restart.revert_requested"]
    assert len(asked) == 1


def _check(cluster: LivingCluster) -> node_api.RestartCheckOut | None:
    """The answer, once every service may be restarted."""
    answer = cluster.client.restart_check(cluster.spec.name)
    return answer if all(s.safe for s in answer.services) else None


def _seen(cluster: LivingCluster, *names: str) -> Mapping[int, Mapping[str, SettingSeen]]:
    return cluster.kafka().running_settings(set(names)).brokers


def _of_their_own(cluster: LivingCluster, *names: str) -> set[tuple[int, str]]:
    """Broker and name of what is set on one broker alone."""
    return {(b, name) for b, seen in _seen(cluster, *names).items() for name, there in seen.items() if there.is_own}


def _processes(cluster: LivingCluster) -> list[int]:
    return sorted(pid for there in java_processes(cluster).values() for pid in there)


def _told(cluster: LivingCluster, condition: str) -> str | None:
    return next((c.message for c in cluster.detail().conditions if c.type == condition and c.status), None)
