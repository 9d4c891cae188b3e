"""The audit on its way to a topic: every entry, in order, resumed by what the topic holds, never into another's."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.audit.entry import Entry, Outcome, kept
from controlplane.api.audit.holder import Holder, Relays, RelayWord
from controlplane.api.audit.lock import AuditTurnTaken, NoOtherWriter, Turn
from controlplane.api.audit.relay import PAGE, AuditRelay, audit_room_of
from controlplane.api.audit.store import AuditFilter
from controlplane.api.audit.topic import AuditNotSent, AuditTopicForeign, KafkaAuditTopic, document_of
from controlplane.api.audit.watch import RelayWatch
from tests.fakes.audit import MemoryAuditStore
from tests.fakes.audit_topic import FakeAuditTopic

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CANARY = "canary-8c21-secret"


@dataclass
class Leads:
    may_act: bool = True


def entry(who: str = "ada") -> Entry:
    call = "POST /v1/clusters/orders/pause"
    return Entry(
        NOW, who, "session", "127.0.0.1", call, "steer", "orders", Outcome.DONE, 200, 7, "", "0123456789abcdef"
    )


def trail(count: int, who: str = "ada") -> MemoryAuditStore:
    store = MemoryAuditStore()
    for _ in range(count):
        store.append(entry(who))
    return store


@dataclass
class Turns:
    """One turn for all that share it; what holds it says so by name."""

    holder: str = ""
    holds: int = 0

    def of(self, name: str) -> "OneOf":
        return OneOf(self, name)


@dataclass
class OneOf:
    turns: Turns
    name: str
    lasts: int = 1000
    """Records until it is lost."""

    def take(self) -> int:
        if self.turns.holder not in ("", self.name):
            raise AuditTurnTaken(f"{self.turns.holder} writes")
        self.turns.holder = self.name
        self.turns.holds += 1
        return self.turns.holds

    def is_ours(self) -> bool:
        self.lasts -= 1
        return self.lasts >= 0

    def pass_on(self) -> None:
        self.turns.holder = ""

    def close(self) -> None: ...


def relay(
    store: MemoryAuditStore, topic: FakeAuditTopic, leads: Leads | None = None, turn: Turn | None = None
) -> AuditRelay:
    return AuditRelay(store, topic, leads or Leads(), "audit at 10.0.0.7:9092", turn=turn)


def test_every_entry_is_written_in_order_and_later_ones_after_them() -> None:
    store, topic = trail(3), FakeAuditTopic()
    made = relay(store, topic)
    made.poll()
    assert topic.positions == [1, 2, 3]
    store.append(entry())
    made.poll()
    assert topic.positions == [1, 2, 3, 4]
    assert topic.asked == 1, "while all goes well the topic is not asked again"


def test_a_backlog_is_written_by_pages() -> None:
    store, topic = trail(PAGE + 2), FakeAuditTopic()
    made = relay(store, topic)
    made.poll()
    assert len(topic.taken) == PAGE
    made.poll()
    assert topic.positions == list(range(1, PAGE + 3))


def test_nothing_after_an_entry_that_was_not_taken_is_written_before_it() -> None:
    store, topic = trail(4), FakeAuditTopic(refuses={3})
    made = relay(store, topic)
    with pytest.raises(AuditNotSent):
        made.poll()
    assert (topic.positions, made.sent, made.reached) == ([1, 2], None, 2)
    made.poll()
    assert (topic.positions, made.sent, made.reached) == ([1, 2, 3, 4], 4, 4)


def test_a_lost_answer_and_a_server_that_died_write_nothing_twice() -> None:
    store, topic = trail(4), FakeAuditTopic(loses_answer={2})
    with pytest.raises(AuditNotSent):
        relay(store, topic).poll()
    relay(store, topic).poll()
    assert topic.positions == [1, 2, 3, 4]


def test_who_stops_leading_writes_no_more_and_looks_again_when_it_leads() -> None:
    store, topic, leads = trail(2), FakeAuditTopic(), Leads()
    made = relay(store, topic, leads)
    made.poll()
    store.append(entry())
    leads.may_act = False
    made.poll()
    assert topic.positions == [1, 2]
    relay(store, topic).poll()
    leads.may_act = True
    made.poll()
    assert topic.positions == [1, 2, 3]


def test_two_that_take_turns_write_each_entry_once_and_ask_the_topic_only_for_what_is_new() -> None:
    store, topic, turns = trail(2), FakeAuditTopic(), Turns()
    one, other = relay(store, topic, turn=turns.of("one")), relay(store, topic, turn=turns.of("other"))
    for made in (one, other, one, other, one):
        made.poll()
    assert (topic.positions, topic.asked) == ([1, 2], 2), "with nothing new neither asks again"
    for made in (other, one, other, one):
        store.append(entry())
        made.poll()
    assert topic.positions == [1, 2, 3, 4, 5, 6]


def test_while_another_has_the_turn_nothing_is_written_and_then_only_what_that_one_left() -> None:
    store, topic, turns = trail(2), FakeAuditTopic(), Turns()
    one, other = relay(store, topic, turn=turns.of("one")), relay(store, topic, turn=turns.of("other"))
    one.poll()
    store.append(entry())
    other.poll()
    store.append(entry())
    turns.holder = "other"
    with pytest.raises(AuditTurnTaken):
        one.poll()
    assert topic.positions == [1, 2, 3]
    turns.holder = ""
    one.poll()
    assert topic.positions == [1, 2, 3, 4]


def test_a_turn_that_is_lost_in_between_ends_the_writing_and_is_passed_on_whatever_came_of_it() -> None:
    store, topic, turns = trail(4), FakeAuditTopic(refuses={4}), Turns()
    mine = turns.of("mine")
    mine.lasts = 2
    made = relay(store, topic, turn=mine)
    made.poll()
    assert (topic.positions, made.sent, turns.holder) == ([1, 2], None, "")
    mine.lasts = 10
    with pytest.raises(AuditNotSent):
        made.poll()
    assert (topic.positions, turns.holder) == ([1, 2, 3], "")


@pytest.mark.parametrize("ours", [0, 2, 5])
def test_a_topic_with_the_audit_of_another_installation_is_left_alone(ours: int) -> None:
    topic = FakeAuditTopic()
    relay(trail(3, who="somebody else"), topic).poll()
    with pytest.raises(AuditTopicForeign, match=r"entry 3, the last one of audit at 10\.0\.0\.7:9092"):
        relay(trail(ours), topic).poll()
    assert topic.positions == [1, 2, 3]


def test_writing_to_the_topic_makes_no_entry_so_it_never_feeds_itself() -> None:
    store, topic = trail(3), FakeAuditTopic()
    made = relay(store, topic)
    for _ in range(3):
        made.poll()
    assert [k.position for k in store.page(AuditFilter(), 10)] == [3, 2, 1]
    assert topic.positions == [1, 2, 3]


def test_a_reader_of_the_topic_can_hold_each_record_to_its_hash_and_to_the_one_before() -> None:
    store, topic = trail(2), FakeAuditTopic()
    relay(store, topic).poll()
    documents = [json.loads(json.dumps(document_of(one))) for one in topic.taken]
    assert documents[1]["previous"] == documents[0]["sha256"]
    for told in documents:
        values: dict[str, Any] = {k: told[k] for k in Entry.__dataclass_fields__}
        again = Entry(**{**values, "at": datetime.fromisoformat(told["at"]), "outcome": Outcome(told["outcome"])})
        assert kept(again, told["position"], told["previous"]).sha256 == told["sha256"]
    assert documents[0]["audit_version"] == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"bootstrap": [], "topic": "audit"}, "at least 1 item"),
        ({"bootstrap": ["a:9092"], "topic": "no name"}, "not a name of a topic"),
        ({"bootstrap": ["a:9092"], "topic": "__kedge_logs"}, "agents write to"),
    ],
)
def test_a_topic_that_cannot_be_it_is_refused_at_the_start(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        AuditTopicBinding(**values)


def test_brokers_that_are_away_are_told_with_what_happens_next() -> None:
    topic = KafkaAuditTopic(AuditTopicBinding(bootstrap=("127.0.0.1:9",), topic="audit"), timeout_s=0.3)
    with pytest.raises(AuditNotSent, match=r"does not reach audit at 127\.0\.0\.1:9: .*Nothing is lost"):
        topic.last()
    topic.close()


def test_a_file_of_credentials_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "audit.properties"
    file.write_text(f"sasl.password={CANARY}\n")
    file.chmod(0o644)
    binding = AuditTopicBinding(bootstrap=("127.0.0.1:9",), topic="audit", properties_file=file)
    with pytest.raises(AuditNotSent, match=r"\[audit_topic\]: .*chmod 600") as refused:
        KafkaAuditTopic(binding, timeout_s=0.3).last()
    assert CANARY not in str(refused.value)


def test_without_the_setting_there_is_no_timer_and_with_it_there_is_one() -> None:
    store = MemoryAuditStore()
    without = audit_room_of(None, store, Leads(), turn=NoOtherWriter(), watch=None, clock=lambda: NOW)
    assert (without.poller.last_polls(), without.relay, without.last_status()) == ([], None, None)
    binding = AuditTopicBinding(bootstrap=("127.0.0.1:9",), topic="audit")
    room = audit_room_of(binding, store, Leads(), turn=NoOtherWriter(), watch=None, clock=lambda: NOW)
    assert [look.name for look in room.poller.last_polls()] == ["audit topic"]
    assert room.relay is not None
    room.close()


def test_where_a_relay_apart_writes_the_server_writes_nothing_and_the_same_timer_tells_how_that_does() -> None:
    store = trail(3)
    binding = AuditTopicBinding(bootstrap=("127.0.0.1:9",), topic="audit", apart=True)
    relays = Relays()
    watch = RelayWatch(lambda: relays, store, binding.where, lambda: NOW)
    room = audit_room_of(binding, store, Leads(), turn=NoOtherWriter(), watch=watch, clock=lambda: NOW)
    assert room.relay is None
    room.poller.poll("audit topic")
    (look,) = room.poller.last_polls()
    assert (look.name, "no relay is at work" in look.problem, look.note) == ("audit topic", True, "")
    relays = Relays(Holder("kedge_relay", False, RelayWord(3)), {"kedge_relay": 1})
    room.poller.poll("audit topic")
    (look,) = room.poller.last_polls()
    assert (look.problem, "written entry 3 of 3" in look.note) == ("", True)
    assert look.note.endswith("; relays that wait: 1 of role kedge_relay")
    room.close()
