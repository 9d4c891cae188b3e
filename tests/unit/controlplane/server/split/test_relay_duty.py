"""A relay's looks: what it says after each, when it looks again, and what its settings have to have."""

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from controlplane.api.audit.holder import RelayWord
from controlplane.api.audit.lock import AuditTurnTaken, NoOtherWriter
from controlplane.api.audit.relay import PAGE, AuditRelay
from controlplane.api.audit.topic import AuditNotSent, AuditTopicForeign, Sent
from controlplane.server.settings import ServerSettingsRefused, Settings, load_settings
from controlplane.server.split.relay import GoesOn, RelayDuty
from events.errors import EventsError, StoreUnavailable
from tests.fakes.audit import MemoryAuditStore
from tests.fakes.audit_topic import FakeAuditTopic
from tests.unit.controlplane.api.test_relay_watch import Watched

TOPIC = {"bootstrap": ["10.0.0.7:9092"], "topic": "kedge-audit"}


@dataclass
class FailingTopic(FakeAuditTopic):
    """`wrong` is what asking it ends in."""

    wrong: Exception | None = None

    def last(self) -> Sent | None:
        if self.wrong is not None:
            raise self.wrong
        return super().last()


@dataclass
class TakenTurn(NoOtherWriter):
    is_taken: bool = False

    def take(self) -> int:
        if self.is_taken:
            raise AuditTurnTaken("role kedge_app writes")
        return 0


@dataclass
class OnDuty:
    topic: FailingTopic = field(default_factory=FailingTopic)
    turn: TakenTurn = field(default_factory=TakenTurn)
    said: list[RelayWord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.audit, self.stop = Watched(), threading.Event()
        self.store: MemoryAuditStore = self.audit.store
        self.relay = AuditRelay(self.store, self.topic, GoesOn(self.stop), "kedge-audit", turn=self.turn)
        self.duty = RelayDuty(self.relay, self.said.append, self.stop)


def test_after_each_look_it_says_how_far_it_is() -> None:
    on = OnDuty()
    assert not on.duty.look()
    on.audit.entries(3)
    assert not on.duty.look()
    assert on.said == [RelayWord(0), RelayWord(3)]


def test_a_backlog_is_written_without_a_pause() -> None:
    on = OnDuty()
    on.audit.entries(PAGE + 1)
    assert [on.duty.look(), on.duty.look()] == [True, False]
    assert (len(on.topic.taken), on.said[-1]) == (PAGE + 1, RelayWord(PAGE + 1))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (AuditNotSent("away", "_TRANSPORT"), "not sent: _TRANSPORT"),
        (AuditTopicForeign("not ours"), "its topic is of another audit"),
        (StoreUnavailable("gone"), "the database did not answer"),
        (ValueError("a token"), "failed: ValueError"),
    ],
)
def test_what_goes_wrong_is_said_shortly_logged_once_and_over_when_it_is(
    wrong: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    on = OnDuty(FailingTopic(wrong=wrong))
    on.audit.entries(1)
    with caplog.at_level(logging.INFO):
        assert [on.duty.look(), on.duty.look()] == [False, False]
        on.topic.wrong = None
        assert not on.duty.look()
    assert on.said == [RelayWord(None, said), RelayWord(None, said), RelayWord(1)]
    told = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert told == ([str(wrong)] if isinstance(wrong, EventsError) else ["the look failed: ValueError"])
    assert caplog.records[-1].message == "the audit reaches its topic again"


def test_a_problem_keeps_the_place_it_came_to() -> None:
    on = OnDuty(FailingTopic(refuses={3}))
    on.audit.entries(2)
    on.duty.look()
    on.audit.entries(1)
    on.duty.look()
    on.duty.look()
    assert [(word.position, bool(word.problem)) for word in on.said] == [(2, False), (2, True), (3, False)]


def test_one_that_waits_for_its_turn_writes_nothing_and_goes_on_when_it_comes() -> None:
    on = OnDuty(turn=TakenTurn(is_taken=True))
    on.audit.entries(2)
    assert not on.duty.look()
    assert on.topic.positions == []
    on.turn.is_taken = False
    on.duty.look()
    assert on.topic.positions == [1, 2]


def test_a_stop_ends_it_between_two_records() -> None:
    class StopsAfterTwo(FailingTopic):
        def send(self, kept: object) -> None:
            super().send(kept)  # type: ignore[arg-type]
            if len(self.taken) == 2:
                on.stop.set()

    on = OnDuty(StopsAfterTwo())
    on.audit.entries(5)
    on.duty.run()
    assert on.topic.positions == [1, 2]


def relay_settings(home: Path, **given: object) -> Settings:
    known: dict[str, object] = {"only": "relay", "database_url": "postgresql://kedge_relay@db/kedge"}
    return load_settings(home=home, **(known | given))


def test_a_relay_needs_a_topic_and_postgresql(tmp_path: Path) -> None:
    settings = relay_settings(tmp_path, audit_topic=TOPIC)
    assert settings.audit_topic is not None
    with pytest.raises(ServerSettingsRefused, match=r"only = 'relay' needs \[audit_topic\]"):
        relay_settings(tmp_path)
    with pytest.raises(ServerSettingsRefused, match="only = 'relay' needs PostgreSQL"):
        relay_settings(tmp_path, audit_topic=TOPIC, database_url="")


def test_a_server_on_sqlite_cannot_leave_the_topic_to_a_relay(tmp_path: Path) -> None:
    apart = {**TOPIC, "apart": True}
    with pytest.raises(ServerSettingsRefused, match=r"audit_topic.apart leaves .* needs PostgreSQL"):
        load_settings(home=tmp_path, audit_topic=apart)
    settings = load_settings(home=tmp_path, audit_topic=apart, database_url="postgresql://kedge_app@db/kedge")
    assert settings.audit_topic is not None
    assert not load_settings(home=tmp_path, audit_topic=TOPIC).audit_topic.apart  # type: ignore[union-attr]
