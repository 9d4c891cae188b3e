"""`kedge topics`, `kedge topic …`, and what plan and apply say of topics."""

import json
from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import commands as command_api, specs as spec_api, topics as topic_api
from controlplane.api.schemas.rollbacks import TopicDeclarationOut, TopicDeclarationsOut
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import START, World

DECLARED = topic_api.DeclaredTopicOut(
    partitions=6,
    replicas=3,
    config={"retention.ms": "5"},
    tier="critical",
    owner="payments",
    deletion_policy="delete",
    on_loss="tell",
    labels={},
    source="git:teams",
    path="kafka/topics.yaml",
    commit="ab" * 20,
    since=START,
)
OBSERVED = topic_api.ObservedTopicOut(
    partitions=3, replicas=3, most_replicas=3, min_isr=2, under_replicated=0, offline=0, moving=0, size_bytes=2048
)


def a_topic(name: str = "payments", **changes: Any) -> topic_api.TopicOut:
    fields: dict[str, Any] = {
        "cluster": "orders",
        "name": name,
        "state": "Degraded",
        "reason": "TooFewBrokers",
        "message": "3 replicas need 3 brokers that take replicas",
        "internal": name.startswith("__"),
        "declared": DECLARED,
        "observed": OBSERVED,
    }
    return topic_api.TopicOut(**{**fields, **changes})


BY_HAND = a_topic("byhand", state="Observed", reason="", message="not kept by Kedge", declared=None)
INTERNAL = a_topic("__consumer_offsets", state="Observed", reason="", message="", declared=None)


@pytest.fixture
def world(tmp_path: Any) -> World:
    world = World(tmp_path)
    topics = [a_topic(), BY_HAND, INTERNAL]
    found = topic_api.TopicsOut(cluster="orders", metadata_age_s=3.0, topics=topics, total=3)
    world.server.on("GET", "/clusters/orders/topics", found)
    world.server.on("GET", "/clusters/orders/topics/payments", a_topic())
    return world


def test_topics_are_told_with_what_they_should_be_beside_what_they_are(world: World) -> None:
    lines = world.run("topics", "orders").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["TOPIC", "STATE"],
        ["payments", "Degraded"],
        ["byhand", "Observed"],
    ]
    assert "3 -> 6" in lines[1]
    assert "__consumer_offsets" in world.run("topics", "orders", "--internal").stdout
    items = json.loads(world.run("topics", "orders", "-o", "json").stdout)["topics"]
    assert [t["name"] for t in items] == ["payments", "byhand"]


def an_unhealthy(partition: int, state: str, **changes: Any) -> topic_api.UnhealthyPartitionOut:
    fields: dict[str, Any] = {
        "id": f"2/payments-{partition}",
        "topic": "payments",
        "partition": partition,
        "state": state,
        "leader": 1000,
        "replicas": [1000, 1001, 1002],
        "isr": [1000],
        "min_isr": 2,
        "adding": [],
        "removing": [],
        "size_bytes": 7,
    }
    return topic_api.UnhealthyPartitionOut(**{**fields, **changes})


def unhealthy(
    *partitions: topic_api.UnhealthyPartitionOut, age_s: float | None = 3.0
) -> topic_api.UnhealthyPartitionsOut:
    words = [p.state for p in partitions]
    return topic_api.UnhealthyPartitionsOut(
        cluster="orders",
        metadata_age_s=age_s,
        recorded=False,
        partitions=list(partitions),
        total=len(partitions),
        no_leader=words.count("no leader"),
        below_min_isr=words.count("below min ISR"),
        out_of_sync=words.count("out of sync"),
    )


def test_the_partitions_that_ail_are_told_a_line_each_with_who_is_missing_since_when(world: World) -> None:
    lost = an_unhealthy(4, "no leader", leader=-1, isr=[])
    slow = an_unhealthy(7, "out of sync", isr=[1000, 1001], behind_since={1002: START - timedelta(seconds=90)})
    world.server.on("GET", "/clusters/orders/ailing-partitions", unhealthy(lost, slow))
    told, first, second, third = world.run("topics", "orders", "--ailing", "--match", "pay").stdout.splitlines()
    assert told == "1 no leader, 1 out of sync; metadata read 3 s ago"
    assert first.split()[:3] == ["PARTITION", "STATE", "LEADER"]
    assert " ".join(second.split()) == "payments-4 no leader - 2 0 of 3 1000, 1001, 1002 1000, 1001, 1002"
    assert third.split()[:5] == ["payments-7", "out", "of", "sync", "1000"]
    assert third.endswith("1002 (seen 1 min 30 s ago)")
    assert world.server.requests[-1].url.params["q"] == "pay"
    document = json.loads(world.run("topics", "orders", "--ailing", "-o", "json").stdout)
    assert (document["kind"], [p["partition"] for p in document["partitions"]]) == ("AilingPartitions", [4, 7])


def test_no_partition_that_ails_and_none_that_is_known_are_told_apart(world: World) -> None:
    world.server.on("GET", "/clusters/orders/ailing-partitions", unhealthy())
    assert "all partitions are in sync; metadata read 3 s ago" in world.run("topics", "orders", "--ailing").stdout
    world.server.on("GET", "/clusters/orders/ailing-partitions", unhealthy(age_s=None))
    result = world.run("topics", "orders", "--ailing")
    assert (result.stdout, "partitions out of sync are not known" in result.stderr) == ("", True)


def test_topics_are_narrowed_by_a_part_of_their_name(world: World) -> None:
    world.run("topics", "orders", "--match", "pay")
    assert world.server.requests[-1].url.params["q"] == "pay"


def test_one_topic_is_told_whole(world: World) -> None:
    told = world.run("topic", "describe", "orders", "payments").stdout
    for words in ("3 replicas need 3 brokers", "git:teams: kafka/topics.yaml at abababa", "retention.ms=5", "critical"):
        assert words in told


def test_the_declarations_of_a_topic_are_listed_with_what_each_changed(world: World) -> None:
    fields: dict[str, Any] = {
        "declared_at": START,
        "declared_by": "person:ada",
        "source": "api",
        "path": "",
        "commit": "",
        "partitions": 3,
        "replicas": 3,
        "config": {},
        "tier": "standard",
    }
    found = [
        TopicDeclarationOut(
            number=2, in_force=True, changes=["partitions 1 -> 3", "tier scratch -> standard"], **fields
        ),
        TopicDeclarationOut(number=1, in_force=False, changes=[], **fields | {"partitions": 1, "tier": "scratch"}),
    ]
    path = "/clusters/orders/topics/payments/declarations"
    world.server.on("GET", path, TopicDeclarationsOut(cluster="orders", topic="payments", declarations=found))
    lines = world.run("topic", "history", "orders", "payments").stdout.splitlines()
    assert lines[1].startswith("2, in force")
    assert "partitions 1 -> 3; tier scratch -> standard" in lines[1]
    assert lines[2].split()[0] == "1"
    told = json.loads(world.run("topic", "history", "orders", "payments", "-o", "json").stdout)
    assert (told["kind"], told["declarations"][0]["number"]) == ("TopicDeclarations", 2)
    world.server.on("GET", path, TopicDeclarationsOut(cluster="orders", topic="payments", declarations=[]))
    assert "created outside Kedge" in world.run("topic", "history", "orders", "payments").stderr


def test_a_topic_is_deleted_only_with_its_name(world: World) -> None:
    answer = command_api.CommandOut(cluster="orders", changed=True, sentence="payments is deleted")
    world.server.on("POST", "/clusters/orders/topics/payments/delete", answer)
    refused = world.run("topic", "delete", "orders", "payments", "--confirm", "payment")
    assert refused.exit_code == 1
    assert "nothing was changed" in refused.stderr
    assert world.server.bodies("POST", "/clusters/orders/topics/payments/delete") == []
    done = world.run("topic", "delete", "orders", "payments", "--confirm", "payments", "--retain")
    assert (done.exit_code, done.stdout.strip()) == (0, "payments is deleted")
    sent = world.server.bodies("POST", "/clusters/orders/topics/payments/delete")
    assert sent == [{"confirm": "payments", "reason": "", "retain": True}]


def test_a_topic_is_adopted_with_the_reason(world: World) -> None:
    answer = command_api.CommandOut(cluster="orders", changed=True, sentence="byhand is kept")
    world.server.on("POST", "/clusters/orders/topics/byhand/adopt", answer)
    assert world.run("topic", "adopt", "orders", "byhand", "--reason", "ours").stdout.strip() == "byhand is kept"
    assert world.server.bodies("POST", "/clusters/orders/topics/byhand/adopt") == [{"reason": "ours"}]


def test_another_replication_factor_is_asked_for_after_what_would_come_of_it_was_told(world: World) -> None:
    answer = command_api.CommandOut(cluster="orders", changed=True, sentence="topic clicks get 3 replicas")
    path = "/clusters/orders/replication-factor"
    world.server.on("POST", path, answer)
    asked = ("replication-factor", "orders", "--topic", "clicks", "--to", "3")
    assert world.run(*asked).exit_code == 1, "nobody said yes"
    assert [body["dry_run"] for body in world.server.bodies("POST", path)] == [True]
    done = world.run(*asked, "--reason", "it matters", "--yes")
    assert (done.exit_code, done.stdout.strip()) == (0, "topic clicks get 3 replicas")
    sent = world.server.bodies("POST", path)[-1]
    wanted = {"topics": ["clicks"], "factor": 3, "below_min_isr": False, "reason": "it matters", "dry_run": False}
    assert sent == wanted


def test_a_replication_factor_is_cancelled_and_half_an_order_is_refused(world: World) -> None:
    answer = command_api.CommandOut(cluster="orders", changed=True, sentence="nothing more begins")
    path = "/clusters/orders/replication-factor/cancel"
    world.server.on("POST", path, answer)
    assert world.run("replication-factor", "orders", "--cancel").stdout.strip() == "nothing more begins"
    assert world.server.bodies("POST", path) == [{"topics": [], "reason": ""}]
    assert world.run("replication-factor", "orders", "--cancel", "--to", "3").exit_code == exits.USAGE
    assert world.run("replication-factor", "orders", "--topic", "clicks").exit_code == exits.USAGE


def test_a_file_of_topics_alone_is_planned_agreed_to_and_applied(world: World, tmp_path: Any) -> None:
    file = tmp_path / "topics.yaml"
    file.write_text("kind: KafkaTopic\n")
    line = "+ topic orders/payments: 6 partitions, 3 replicas"
    world.server.plans(spec_api.PlansOut(ok=True, problems=[], plans=[], topics=[line]))
    planned = world.run("plan", "-f", str(file), "--detailed-exitcode")
    assert (planned.exit_code, planned.stdout.strip()) == (2, line)
    said = spec_api.TopicsAppliedOut(cluster="orders", changed=True, sentence="1 topic of orders declared: payments")
    world.server.on("POST", "/apply", spec_api.ApplyOut(ok=True, problems=[], applied=[], plans=[], topics=[said]))
    unattended = world.run("apply", "-f", str(file))
    assert unattended.exit_code == 1
    assert world.server.bodies("POST", "/apply") == []
    applied = world.run("apply", "-f", str(file), "-y")
    assert (applied.exit_code, applied.stdout.strip()) == (0, said.sentence)
    assert world.server.bodies("POST", "/apply")[0]["plan_digest"] is None


def _planned(line: str, digest: str) -> spec_api.PlansOut:
    return spec_api.PlansOut(ok=True, problems=[], plans=[], topics=[line], digest=digest)


def test_a_yes_to_topics_alone_holds_on_to_what_was_shown(world: World) -> None:
    world.server.plans(_planned("+ topic orders/payments: 6 partitions, 3 replicas", "ddd-eee"))
    said = spec_api.TopicsAppliedOut(cluster="orders", changed=True, sentence="1 topic of orders declared: payments")
    world.server.on("POST", "/apply", spec_api.ApplyOut(ok=True, problems=[], applied=[], plans=[], topics=[said]))
    assert world.terminal("apply", "-f", world.spec("kind: KafkaTopic\n"), typed="y\n").exit_code == 0
    assert world.server.bodies("POST", "/apply")[0]["plan_digest"] == "ddd-eee"


def test_a_saved_plan_of_topics_is_refused_once_they_moved_and_it_says_which(world: World) -> None:
    line = "~ topic orders/payments: partitions 3 -> 6"
    out = str(world.home / "topics.plan")
    world.server.plans(_planned(line, "ddd-eee"))
    assert world.run("plan", "-f", world.spec("kind: KafkaTopic\n"), "-o", out).exit_code == 0
    world.server.plans(_planned("~ topic orders/payments: partitions 4 -> 6", "ddd-fff"))
    refused = world.run("apply", out, "-y")
    assert refused.exit_code == 1
    assert "topics: not any more: ~ topic orders/payments: partitions 3 -> 6" in refused.stderr
    assert "topics: now: ~ topic orders/payments: partitions 4 -> 6" in refused.stderr
    world.server.plans(_planned(line, "ddd-ggg"))
    assert "ddd-eee -> ddd-ggg" in world.run("apply", out, "-y").stderr, "the same words, from somewhere else"
    assert world.server.bodies("POST", "/apply") == []


def test_a_topic_tells_the_band_that_is_declared_or_what_was_learned(world: World) -> None:
    def described(learned: str = "", **rate: Any) -> str:
        declared = DECLARED.model_copy(update=rate)
        world.server.on("GET", "/clusters/orders/topics/payments", a_topic(declared=declared, learned_rate=learned))
        return world.run("topic", "describe", "orders", "payments").stdout

    assert "rate " not in described()
    assert "rate          500 to any records/s while all is well" in described(rate_min=500)
    told = "learned from 9 days: 120 to 200 records/s at this hour of the day"
    assert f"rate          {told}" in described(told, rate_learn=True)
