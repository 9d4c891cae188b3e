"""What people do by hand, and ask for, in ZooKeeper mode, on real brokers under traffic: settings of running brokers,
a topic made outside, a value brokers refuse or fall with, another VM for one broker."""

from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from controlplane.api.schemas import nodes as node_api, specs as spec_api, topics as topic_api
from planner.observed import PartitionSeen
from planner.rollout.live_step import LiveStep
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import declare_settings, java_processes, running_values, types_told
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

SPEC = ClusterSpec(
    name="handed",
    version="3.9.1",
    quorum="zookeeper",
    disk_gib=2,
    join_deadline_s=180,
    config={"message.max.bytes": 2000000},
)
WITHIN_S = 300.0


def test_what_somebody_set_by_hand_is_put_right_and_what_the_spec_does_not_name_is_left(
    living_cluster: LivingCluster,
) -> None:
    cluster, processes = living_cluster, java_processes(living_cluster)
    before, broker = cluster.head(), min(cluster.snapshot().brokers)
    with traffic(cluster.bootstrap):
        by_hand = {"message.max.bytes": "3000000", "log.retention.ms": "3600000"}
        cluster.kafka().change_settings(LiveStep({}, {broker: by_hand}))
        asked = cluster.event("settings.change_requested", before, within_s=WITHIN_S).data
        assert f"broker {broker} has message.max.bytes=3000000, not 2000000" in asked["reason"]
        cluster.event("settings.changed", before, within_s=WITHIN_S)
        assert running_values(cluster, "message.max.bytes") == {"2000000"}
        assert "3600000" in running_values(cluster, "log.retention.ms"), "the spec does not name it"
        settled(cluster)
    assert java_processes(cluster) == processes


def test_what_somebody_set_by_hand_is_told_and_left_where_the_spec_adopts_it(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, adopt=("message.max.bytes",)))
        settled(cluster)
        before, broker = cluster.head(), min(cluster.snapshot().brokers)
        cluster.kafka().change_settings(LiveStep({}, {broker: {"message.max.bytes": "3000000"}}))
        told = cluster.until(lambda: _told(cluster, "SettingsAdopted"), "it to be told", timeout_s=WITHIN_S)
        assert f"broker {broker} has message.max.bytes=3000000, not 2000000" in told
        settled(cluster)
        assert "settings.change_requested" not in types_told(cluster, before)
        assert running_values(cluster, "message.max.bytes") == {"2000000", "3000000"}
        cluster.declare(replace(cluster.spec, adopt=()))
        cluster.event("settings.changed", before, within_s=WITHIN_S)
        settled(cluster)
    assert running_values(cluster, "message.max.bytes") == {"2000000"}
    assert _told(cluster, "SettingsAdopted") is None


def test_a_live_value_is_taken_back_from_a_first_broker_that_falls(living_cluster: LivingCluster) -> None:
    cluster, spec, processes = living_cluster, living_cluster.spec, java_processes(living_cluster)
    before = cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(spec, soak_s=120, config={**spec.config, "message.max.bytes": 2500000}))
        canary = cluster.event("settings.change_requested", before, within_s=WITHIN_S).data["canary"]
        cluster.event("settings.tried", before, within_s=WITHIN_S)
        assert running_values(cluster, "message.max.bytes") == {"2500000", "2000000"}
        with cluster.frozen(next(i.key for i in cluster.detail().instances if i.service_id == canary)):
            reverting = cluster.event("settings.revert_requested", before, within_s=100)
        assert "it fell while it was watched" in reverting.data["reason"]
        cluster.event("settings.reverted", before, within_s=WITHIN_S)
        blocked = cluster.blocked("SettingReverted", within_s=WITHIN_S)
        assert "no other broker was touched" in blocked.message
        assert running_values(cluster, "message.max.bytes") == {"2000000"}
        assert "settings.changed" not in types_told(cluster, before)
        cluster.declare(spec)
        settled(cluster, within_s=WITHIN_S)
    assert java_processes(cluster) == processes


def test_what_a_broker_refuses_is_told_in_its_words_and_nothing_is_applied(living_cluster: LivingCluster) -> None:
    cluster, usual, before = living_cluster, living_cluster.spec, living_cluster.head()
    with traffic(cluster.bootstrap):
        # Kafka holds the one against the other: what is kept locally is a part of what is kept.
        wrong = {"log.local.retention.bytes": 2000, "log.retention.bytes": 1000}
        declare_settings(cluster, **wrong, **{"message.max.bytes": 4000000})
        blocked = cluster.blocked("SettingRefused", within_s=WITHIN_S)
        assert "log.local.retention.bytes" in blocked.message
        assert "nothing was applied" in blocked.message
        assert running_values(cluster, "message.max.bytes") == {"2000000"}
        cluster.declare(usual)
        settled(cluster)
    assert "settings.change_requested" not in types_told(cluster, before)


def test_a_topic_made_outside_is_left_alone_until_a_person_adopts_it(living_cluster: LivingCluster) -> None:
    cluster, name = living_cluster, living_cluster.spec.name
    with traffic(cluster.bootstrap):
        admin = AdminClient({"bootstrap.servers": ",".join(cluster.bootstrap()), "log_level": 0})
        made = NewTopic("by-hand", 2, 2, config={"min.insync.replicas": "1", "retention.ms": "60000"})
        admin.create_topics([made])["by-hand"].result(30)
        _until_it_is(cluster, "Observed")
        head = "apiVersion: kedge/v1alpha1\nkind: KafkaTopic\nmetadata: {name: by-hand}\nspec: "
        text = f"{head}{{cluster: {name}, partitions: 4, tier: critical, deletionPolicy: delete}}\n"
        applied = cluster.client.apply(spec_api.ApplyIn(text=text, file="by-hand.yaml", message="e2e"))
        assert applied.ok, applied.problems
        cluster.until(
            lambda: cluster.client.topic(name, "by-hand").reason == "Exists" or None,
            "it to be told",
            timeout_s=WITHIN_S,
        )
        assert [len(p.replicas) for p in _partitions(cluster)] == [2, 2], "nothing of it was touched"
        cluster.client.adopt_topic(name, "by-hand", topic_api.AdoptTopicIn(reason="it is ours"))
        _until_it_is(cluster, "InSync")
        assert [len(p.replicas) for p in _partitions(cluster)] == [3, 3, 3, 3]
        order = topic_api.DeleteTopicIn(confirm="by-hand", reason="over")
        cluster.client.delete_topic(name, "by-hand", order)
        cluster.until(lambda: not _partitions(cluster) or None, "the topic to be gone", timeout_s=WITHIN_S)
        settled(cluster)


def test_a_broker_is_replaced_because_somebody_asked_for_it_by_its_id(living_cluster: LivingCluster) -> None:
    cluster, before, old = living_cluster, living_cluster.head(), living_cluster.instance("one-a-0")
    with traffic(cluster.bootstrap):
        cluster.client.replace(cluster.spec.name, node_api.ReplaceIn(broker=old.service_id, reason="slow disk"))
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    new = cluster.instance("one-a-0")
    assert (new.generation, new.service_id > old.service_id) == (old.generation + 1, True)
    assert [e.data["reason"] for e in cluster.events(before) if e.type == "surge.requested"] == [
        "one-a-0: asked by e2e: slow disk"
    ]


def _told(cluster: LivingCluster, condition: str) -> str | None:
    return next((c.message for c in cluster.detail().conditions if c.type == condition and c.status), None)


def _until_it_is(cluster: LivingCluster, state: str) -> None:
    def seen() -> list[str]:
        """Nothing before the first look of the server that finds it."""
        return [t.state for t in cluster.client.topics(cluster.spec.name).topics if t.name == "by-hand"]

    cluster.until(lambda: seen() == [state] or None, f"the topic to be {state}", timeout_s=WITHIN_S)


def _partitions(cluster: LivingCluster) -> list[PartitionSeen]:
    return [p for p in cluster.snapshot().partitions if p.name.topic == "by-hand"]
