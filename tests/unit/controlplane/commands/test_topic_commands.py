"""What may be asked for topics, and what is refused of it."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.api.read_models.change_form import topic_data
from controlplane.cluster.commands import AdoptTopic, CommandRefused, DeclareTopics, DeleteTopic, ReportTopicsGone
from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.admission.topics import topic_problems
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.topics import topic_adopted, topic_deleted, topic_news, topics_gone
from controlplane.commands.policies.files import parse
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.policies.store import PolicySet
from controlplane.commands.previews.topics import topic_lines
from events import topic_facts as facts
from events.codec import encode
from events.envelope import Recorded
from planner.observed import KafkaSnapshot
from providers.price_list import PriceList
from tests.builders import NOW, a_partition, a_snapshot, a_view
from tests.sim.topics import declared, topic_text

WHO: dict[str, Any] = {"name": "orders", "actor": "person:anna", "command_id": "c1"}


def _after(view: ClusterView, *asked: object) -> ClusterView:
    for fact in asked:
        new = encode(fact, f"e{view.version}")
        told = Recorded(1, "s", view.version + 1, "e", new.type, new.schema, new.data, "a", None, None, 1, NOW)
        view = evolve(view, told)
        assert not view.history.unreadable, view.history.unreadable
    return view


def _declare(view: ClusterView, *texts: str, source: str = "api", path: str = "t.yaml") -> ClusterView:
    asked = topic_news(view, DeclareTopics(**WHO, topics=declared(*texts), source=source, path=path))
    return view if asked.fact is None else _after(view, asked.fact)


def _codes(view: ClusterView, *texts: str, snapshot: KafkaSnapshot | None = None) -> list[str]:
    placed = [(one.document, one.positions) for one in declared(*texts)]
    return [p.code for p in topic_problems(view, view.document, placed, snapshot)]


def test_topics_of_a_file_are_one_event_and_the_same_file_again_is_none() -> None:
    view = _declare(a_view(), topic_text("a"), topic_text("b"))
    assert sorted(view.topics.by_name) == ["a", "b"]
    assert view.version == a_view().version + 1
    command = DeclareTopics(**WHO, topics=declared(topic_text("a"), topic_text("b")), source="api", path="t.yaml")
    assert topic_news(view, command).fact is None
    changed = replace(command, topics=declared(topic_text("a"), topic_text("b", partitions=9)))
    fact = topic_news(view, changed).fact
    assert isinstance(fact, facts.TopicsDeclared)
    assert [t.name for t in fact.topics] == ["b"]


def test_a_band_of_records_is_recorded_with_its_topic_and_a_change_of_it_is_shown() -> None:
    banded = topic_text("a", rate="{min: 5}")
    view = _declare(a_view(), banded)
    assert view.document is not None
    known = view.topics.by_name["a"].declared
    assert (known.rate_min, known.rate_max) == (5, None)
    other = [one.document for one in declared(topic_text("a", rate="{min: 6, max: 9}"))]
    assert topic_lines(view, view.document, other) == ("~ topic orders/a: rate.min 5/s -> 6/s; rate.max - -> 9/s",)
    assert topic_data(view.document, known)["spec"]["rate"] == {"min": 5}
    assert "rate" not in topic_data(view.document, replace(known, rate_min=None))["spec"]
    learns = [one.document for one in declared(topic_text("a", rate="{learn: true}"))]
    (line,) = topic_lines(view, view.document, learns)
    assert line == "~ topic orders/a: rate.min 5/s -> -; rate.learn false -> true"


def test_a_cluster_that_is_not_declared_is_no_home() -> None:
    placed = [(one.document, one.positions) for one in declared(topic_text("a"))]
    assert [p.code for p in topic_problems(a_view(), None, placed, None)] == ["KEDGE-SPEC-096"]


def test_a_topic_in_kafka_forbids_fewer_partitions_and_a_colliding_name() -> None:
    snapshot = a_snapshot(*(a_partition(f"a.b-{n}") for n in range(4)))
    assert _codes(a_view(), topic_text("a.b", partitions=3), snapshot=snapshot) == ["KEDGE-SPEC-092"]
    assert _codes(a_view(), topic_text("a_b"), snapshot=snapshot) == ["KEDGE-SPEC-091"]
    assert _codes(a_view(), topic_text("a.b", partitions=4), snapshot=snapshot) == []


def test_a_topic_has_one_source() -> None:
    view = _declare(a_view(), topic_text("a"), source="git:teams", path="kafka/a.yaml")
    with pytest.raises(CommandRefused, match=r"comes from `git:teams`: kafka/a\.yaml"):
        _declare(view, topic_text("a", partitions=9))
    view = _declare(a_view(), topic_text("a"))
    with pytest.raises(CommandRefused, match="was declared through the API"):
        _declare(view, topic_text("a"), source="git:teams", path="kafka/a.yaml")


def test_a_removed_file_deletes_nothing_and_frees_the_topic_for_another_source() -> None:
    view = _declare(a_view(), topic_text("a"), source="git:teams", path="kafka/a.yaml")
    gone = ReportTopicsGone(**WHO, topics=("a",), source="git:teams", commit="c0ffee")
    asked = topics_gone(view, gone)
    view = _after(view, asked.fact)
    assert view.topics.by_name["a"].undeclared
    assert not view.topics.by_name["a"].tombstone
    assert topics_gone(view, gone).fact is None
    view = _declare(view, topic_text("a", partitions=9))
    assert (view.topics.by_name["a"].source, view.topics.by_name["a"].undeclared) == ("api", False)


def _deletion(topic: str = "a", confirm: str = "a", *, retain: bool = False) -> DeleteTopic:
    return DeleteTopic(**WHO, topic=topic, confirm=confirm, reason="done", retain=retain)


def test_a_deletion_needs_the_name_and_no_file_that_declares_it() -> None:
    view = _declare(a_view(), topic_text("a"), source="git:teams", path="kafka/a.yaml")
    with pytest.raises(CommandRefused, match="must be typed out"):
        topic_deleted(view, _deletion(confirm="b"))
    with pytest.raises(CommandRefused, match="still declared by"):
        topic_deleted(view, _deletion())
    with pytest.raises(CommandRefused, match="no topic 'z' that Kedge keeps"):
        topic_deleted(view, _deletion("z", "z"))


@pytest.mark.parametrize(
    ("policy", "owned", "retain", "told"),
    [
        ("delete", True, False, "delete"),
        ("delete", True, True, "retain"),
        ("delete", False, False, "retain"),
        ("retain", True, False, "retain"),
    ],
)
def test_only_what_kedge_keeps_and_whose_policy_says_so_is_destroyed(
    policy: str, owned: bool, retain: bool, told: str
) -> None:
    view = _declare(a_view(), topic_text("a", deletionPolicy=policy))
    if owned:
        view = _after(view, facts.TopicsChanged("", (), ("a",), (), ()))
    fact = topic_deleted(view, _deletion(retain=retain)).fact
    assert isinstance(fact, facts.TopicDeletionRequested)
    assert fact.policy == told


def test_a_dying_topic_is_declared_anew_only_once_it_is_gone() -> None:
    view = _declare(a_view(), topic_text("a", deletionPolicy="delete"))
    view = _after(view, topic_deleted(view, _deletion()).fact)
    with pytest.raises(CommandRefused, match="is being deleted"):
        _declare(view, topic_text("a", partitions=9))
    assert topic_deleted(view, _deletion()).fact is None


def _adopt(view: ClusterView, topic: str, snapshot: KafkaSnapshot | None) -> Any:
    return topic_adopted(view, AdoptTopic(**WHO, topic=topic, reason="ours"), Lookups(kafka=snapshot)).fact


def test_an_adopted_topic_is_kept_as_it_was_found() -> None:
    snapshot = a_snapshot(
        a_partition("a-0"),
        a_partition("a-1"),
        a_partition("__consumer_offsets-0"),
        a_partition("u-0"),
        a_partition("u-1", (1000, 1001)),
    )
    fact = _adopt(a_view(), "a", snapshot)
    assert (fact.topics[0].partitions, fact.topics[0].replicas, fact.topics[0].config) == (2, 3, None)
    view = _after(a_view(), fact)
    assert view.topics.by_name["a"].owned
    assert _adopt(view, "a", snapshot) is None
    for topic, code in (("z", "topic-not-found"), ("__consumer_offsets", "internal-topic"), ("u", "uneven-replicas")):
        with pytest.raises(CommandRefused) as refused:
            _adopt(view, topic, snapshot)
        assert refused.value.code == code
    with pytest.raises(CommandRefused, match="was not read yet"):
        _adopt(view, "a2", None)


def test_case_07_a_topic_of_another_program_is_adopted_whatever_its_name_begins_with() -> None:
    name = "__debezium-heartbeat.shop"
    snapshot = a_snapshot(a_partition(f"{name}-0"), a_partition("__newer_than_this-0"), a_partition("__kedge_logs-0"))
    assert _adopt(a_view(), name, snapshot).topics[0].name == name
    # What brokers call internal is believed, also where this release knows nothing of it.
    told = replace(snapshot, internal=frozenset({"__newer_than_this"}))
    for topic, owner in (("__newer_than_this", "Kafka"), ("__kedge_logs", "Kedge")):
        with pytest.raises(CommandRefused, match=f"is a topic of {owner} itself"):
            _adopt(a_view(), topic, told)


POLICY = """\
apiVersion: kedge/v1alpha1
kind: Policy
metadata: {name: few}
limits: {maxTopicPartitions: 2}
"""


class _Few:
    """A policy that came after the topics."""

    def current(self) -> PolicySet:
        return PolicySet(parse({"few.yaml": POLICY}))

    def prices(self) -> PriceList:
        return PriceList()


def _refused(view: ClusterView, text: str, snapshot: KafkaSnapshot | None = None) -> list[str]:
    judge = SpecJudge(gate=PolicyGate(_Few()))
    return [problem.code for problem in judge.topics(view, view.document, declared(text), snapshot).errors]


def test_a_topic_as_it_is_declared_is_not_judged_again() -> None:
    view = _declare(a_view(), topic_text("a"))
    grown = a_snapshot(*(a_partition(f"a-{n}") for n in range(9)))
    assert _refused(view, topic_text("a"), grown) == []
    assert _refused(view, topic_text("a", tier="critical"), grown) == ["KEDGE-SPEC-092", "KEDGE-POLICY-001"]


def test_a_topic_that_no_file_declares_any_more_is_judged_as_a_new_one() -> None:
    view = _declare(a_view(), topic_text("a"), source="git:teams", path="kafka/a.yaml")
    gone = ReportTopicsGone(**WHO, topics=("a",), source="git:teams", commit="c0ffee")
    assert _refused(view, topic_text("a")) == []
    assert _refused(_after(view, topics_gone(view, gone).fact), topic_text("a")) == ["KEDGE-POLICY-001"]


def test_a_topic_kept_as_it_was_found_is_judged_once_a_document_declares_it() -> None:
    found = a_snapshot(*(a_partition(f"a-{n}") for n in range(3)))
    view = _after(a_view(), _adopt(a_view(), "a", found))
    assert _refused(view, topic_text("a"), found) == ["KEDGE-POLICY-001"]
