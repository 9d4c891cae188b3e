"""Topics in a file: each alone, beside each other, and beside their cluster."""

import pytest

from events.spec.document import LoadResult, load_documents
from events.spec.setting_table import TABLES
from events.spec.topic_rules import check_topic_change
from events.spec.topic_table import EXECUTOR_KEYS, topic_keys_of
from events.spec.topic_tiers import effective_config, effective_replicas
from tests.unit.events.spec_texts import ORDERS

HEAD = "apiVersion: kedge/v1alpha1\nkind: KafkaTopic\n"


def _text(*lines: str, name: str = "payments", cluster: str = "orders", partitions: int = 6) -> str:
    body = "".join(f"  {line}\n" for line in (f"cluster: {cluster}", f"partitions: {partitions}", *lines))
    return f"{HEAD}metadata: {{name: {name}}}\nspec:\n{body}"


def _load(*texts: str) -> LoadResult:
    return load_documents("---\n".join(texts), file="topics.yaml")


def _codes(*texts: str) -> list[tuple[int, str]]:
    return [(p.line, p.code) for p in _load(*texts).problems]


def _line_of(text: str) -> int:
    return len(text.splitlines())


def test_a_file_may_hold_clusters_and_topics() -> None:
    result = _load(ORDERS, _text(), _text(name="clicks"))
    assert result.ok
    assert [d.metadata.name for d in result.documents] == ["orders"]
    assert [t.topic for t in result.topics] == ["payments", "clicks"]
    assert [at.at(("kind",)).line for at in result.topic_positions] == [_line_of(ORDERS) + 3, _line_of(ORDERS) + 10]


def test_the_name_in_kafka_may_be_another_one() -> None:
    assert [t.topic for t in _load(_text("topicName: Payments_v1")).topics] == ["Payments_v1"]


def test_a_slip_in_a_topic_is_told_with_the_keys_of_topics() -> None:
    found = _load(_text("partition: 3"))
    assert [(p.line, p.code) for p in found.problems] == [(7, "KEDGE-SPEC-020")]
    assert "Did you mean `partitions`?" in found.problems[0].fix


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("__consumer_offsets", "Kafka"),
        ("__transaction_state", "Kafka"),
        ("__share_group_state", "Kafka"),
        ("__cluster_metadata", "Kafka"),
        ("__kedge_metrics", "Kedge"),
    ],
)
def test_topics_kafka_and_kedge_make_for_themselves_are_refused(name: str, owner: str) -> None:
    (problem,) = _load(_text(name=name)).problems
    assert (problem.line, problem.code) == (3, "KEDGE-SPEC-090")
    assert problem.message == f"`{name}` is a topic of {owner} itself"


CASE_07 = """\
apiVersion: kedge/v1alpha1
kind: KafkaTopic
metadata: {name: __debezium-heartbeat.shop}
spec: {cluster: orders, partitions: 1, replicas: 3}
"""


def test_case_07_topics_of_other_programs_with_two_underscores_may_be_declared() -> None:
    assert [t.topic for t in _load(CASE_07).topics] == ["__debezium-heartbeat.shop"]
    for name in ("__kedgelike", "__confluent.support.metrics", "__amazon_msk_canary", "__consumer_offsets_copy"):
        assert _codes(_text(name=name)) == []


def test_names_that_differ_in_dots_and_underscores_only_are_refused() -> None:
    assert _codes(_text(name="a.b"), _text(name="a_b")) == [(10, "KEDGE-SPEC-091")]
    assert _codes(_text(name="a.b"), _text(name="a_b", cluster="other")) == []


def test_a_topic_declared_twice_is_refused() -> None:
    assert _codes(_text(), _text()) == [(10, "KEDGE-SPEC-095")]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("config: {retention: 5}", "KEDGE-SPEC-044"),
        ("config: {retention.ms: soon}", "KEDGE-SPEC-045"),
        ("config: {cleanup.policy: shrink}", "KEDGE-SPEC-045"),
        ("config: {leader.replication.throttled.replicas: '0:1'}", "KEDGE-SPEC-042"),
        ("replicas: 1", "KEDGE-SPEC-049"),
        ("tier: gold", "KEDGE-SPEC-023"),
    ],
)
def test_what_is_wrong_with_a_topic_alone_is_told_at_its_line(line: str, code: str) -> None:
    assert _codes(_text(line)) == [(7, code)]


def test_a_min_isr_that_no_replica_may_be_missed_for_is_warned_of() -> None:
    found = _load(_text("replicas: 2", "config: {min.insync.replicas: 2}"))
    assert found.ok
    assert [p.code for p in found.warnings] == ["KEDGE-SPEC-093"]


def test_scratch_topics_may_have_one_copy() -> None:
    assert _codes(_text("tier: scratch")) == []


def test_more_replicas_than_brokers_are_refused_beside_the_cluster() -> None:
    assert _codes(_text("replicas: 5")) == []
    assert [p.code for p in _load(ORDERS, _text("replicas: 5")).errors] == ["KEDGE-SPEC-046"]


def test_more_replicas_than_zones_are_warned_of() -> None:
    larger = ORDERS.replace("size: 3\n      machine: medium", "size: 6\n      machine: medium")
    found = _load(larger, _text("replicas: 4"))
    codes = {p.code for p in found.problems}
    assert codes & {"KEDGE-SPEC-094", "KEDGE-SPEC-046"}


def test_a_key_that_this_kafka_version_lacks_is_refused_beside_the_cluster() -> None:
    line = "config: {message.downconversion.enable: true}"
    assert _codes(_text(line)) == []
    assert [p.code for p in _load(ORDERS, _text(line)).errors] == ["KEDGE-SPEC-044"]


def test_partitions_never_shrink() -> None:
    topic = _load(_text(partitions=6)).topics[0]
    assert check_topic_change(topic, partitions_before=6) == []
    assert [p.code for p in check_topic_change(topic, partitions_before=7)] == ["KEDGE-SPEC-092"]


def test_a_band_of_records_per_second_has_one_end_or_both_and_they_are_in_order() -> None:
    for rate in ("{min: 500}", "{max: 4000}", "{min: 500, max: 500}"):
        (topic,) = _load(ORDERS, _text(f"rate: {rate}")).topics
        assert (topic.spec.rate.min, topic.spec.rate.max) != (None, None)
    (plain,) = _load(ORDERS, _text()).topics
    assert (plain.spec.rate.min, plain.spec.rate.max) == (None, None)
    assert [code for _, code in _codes(_text("rate: {min: 5, max: 4}"))] == ["KEDGE-SPEC-097"]
    assert not _load(_text("rate: {min: 0}")).ok
    assert not _load(_text("rate: {least: 5}")).ok


def test_a_rate_is_declared_or_learned_not_both() -> None:
    (topic,) = _load(ORDERS, _text("rate: {learn: true}")).topics
    assert topic.spec.rate.learn
    (plain,) = _load(ORDERS, _text("rate: {learn: false, min: 5}")).topics
    assert not plain.spec.rate.learn
    for rate in ("{learn: true, min: 5}", "{learn: true, max: 5}"):
        assert [code for _, code in _codes(_text(f"rate: {rate}"))] == ["KEDGE-SPEC-097"]
    assert not _load(_text("rate: {learn: maybe}")).ok


def test_a_tier_says_what_the_document_does_not() -> None:
    result = _load(ORDERS, _text("tier: critical"), _text(name="b"), _text("tier: scratch", name="c"))
    cluster = result.documents[0]
    told = [(effective_replicas(t, cluster), effective_config(t).get("min.insync.replicas")) for t in result.topics]
    assert told == [(3, "2"), (3, None), (1, "1")]


def test_a_document_goes_before_its_tier() -> None:
    topic = _load(_text("tier: critical", "replicas: 5", "config: {min.insync.replicas: 3}")).topics[0]
    assert effective_config(topic)["min.insync.replicas"] == "3"
    assert topic.spec.replicas == 5


@pytest.mark.parametrize("line", sorted(TABLES))
def test_each_release_has_its_table_of_topic_keys(line: str) -> None:
    keys = topic_keys_of(f"{line}.0")
    assert {"retention.ms", "cleanup.policy", "min.insync.replicas", *EXECUTOR_KEYS} <= keys.keys()
    assert ("message.format.version" in keys) == (line.startswith("3."))


def test_a_cluster_that_is_nowhere_is_no_problem_of_the_file_alone() -> None:
    """KEDGE-SPEC-096 is said by the server, which knows what is declared: `test_topic_commands`."""
    assert _load(_text(cluster="nowhere")).ok
