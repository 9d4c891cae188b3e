"""What Prometheus is told of the audit's topic: of a server that writes it and of a relay apart, by the timer's last
look and by no look of its own; to administrators; what is not known is absent.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.audit.entry import Kept
from controlplane.api.audit.holder import Holder, Relays, RelayWord
from controlplane.api.audit.lock import NoOtherWriter
from controlplane.api.audit.relay import AuditRelay, WritingLook, audit_room_of
from controlplane.api.audit.status import TopicStatus
from controlplane.api.audit.store import AuditFilter
from controlplane.api.audit.topic import AuditNotSent, AuditTopicForeign
from controlplane.api.audit.watch import RelayWatch
from controlplane.api.metrics.audit_topic_families import YOUNG, audit_topic_families
from events.errors import EventsError, StoreUnavailable
from tests.fakes.audit import MemoryAuditStore
from tests.fakes.audit_topic import FakeAuditTopic
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.api.test_audit_relay import Leads, Turns, entry
from tests.unit.controlplane.api.test_metrics_route import a_house

CANARY = "canary-4711-secret"
PREFIX = "kedge_audit_topic_"


def figures(told: TopicStatus | None, now: datetime = START) -> dict[str, float]:
    """Each sample by its name without the prefix, with its labels' values."""
    return {
        ":".join((sample.name.removeprefix(PREFIX), *sample.labels.values())): sample.value
        for family in audit_topic_families(told, now)
        for sample in family.samples
    }


@dataclass
class CountedStore(MemoryAuditStore):
    """Counts its pages; `is_away` answers none."""

    is_away: bool = False
    pages: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def page(self, wanted: AuditFilter, limit: int) -> list[Kept]:
        self.pages += 1
        if self.is_away:
            raise StoreUnavailable(f"gone: {CANARY}")
        return list(super().page(wanted, limit))


@dataclass
class Watched:
    """A look at the topic, by a server that writes it or at a relay, whose time a test moves."""

    store: CountedStore = field(default_factory=CountedStore)
    topic: FakeAuditTopic = field(default_factory=FakeAuditTopic)
    relays: Relays = field(default_factory=Relays)
    wrong: Exception | None = None
    now: datetime = START

    def entries(self, count: int) -> None:
        for _ in range(count):
            self.store.append(entry(CANARY))

    def writing(self, turns: Turns | None = None) -> WritingLook:
        turn = turns.of("server") if turns is not None else NoOtherWriter()
        relay = AuditRelay(self.store, self.topic, Leads(), "kedge-audit", turn=turn)
        return WritingLook(relay, self.store, lambda: self.now)

    def watch(self) -> RelayWatch:
        return RelayWatch(self._seen, self.store, "kedge-audit", lambda: self.now)

    def _seen(self) -> Relays:
        if self.wrong is not None:
            raise self.wrong
        return self.relays

    def looked(self, look: WritingLook | RelayWatch) -> dict[str, float]:
        with suppress(EventsError, RuntimeError):  # the timer tells it
            look.poll()
        return figures(look.last_status, self.now)


def a_relay(position: int | None, problem: str = "", waiting: int = 0) -> Relays:
    return Relays(
        Holder("kedge_relay", False, RelayWord(position, problem)), {"kedge_relay": waiting} if waiting else {}
    )


def test_a_server_that_writes_tells_how_far_the_topic_is() -> None:
    seen = Watched()
    seen.entries(3)
    assert seen.looked(seen.writing()) == {
        "newest_entry": 3,
        "last_entry": 3,
        "problem": 0,
        "state:server:reached": 1,
        "reached_timestamp_seconds": START.timestamp(),
    }


def test_a_topic_that_refuses_keeps_its_place_and_the_time_of_the_last_look_that_went_well() -> None:
    seen = Watched(topic=FakeAuditTopic(refuses={5}))
    look = seen.writing()
    seen.entries(3)
    seen.looked(look)
    seen.entries(3)
    seen.now += timedelta(seconds=5)
    assert seen.looked(look) == {
        "newest_entry": 6,
        "last_entry": 4,
        "problem": 1,
        "state:server:not_sent": 1,
        "reached_timestamp_seconds": START.timestamp(),
    }
    seen.now += timedelta(seconds=5)
    told = seen.looked(look)
    assert (told["last_entry"], told["problem"]) == (6, 0)
    assert told["reached_timestamp_seconds"] == seen.now.timestamp()


class BrokenTopic(FakeAuditTopic):
    """`wrong` is what asking it ends in."""

    def __init__(self, wrong: Exception) -> None:
        super().__init__()
        self.wrong = wrong

    def last(self) -> None:
        raise self.wrong


@pytest.mark.parametrize(
    ("wrong", "state"),
    [
        (AuditNotSent(CANARY, CANARY), "not_sent"),
        (AuditTopicForeign(CANARY), "foreign_topic"),
        (RuntimeError(CANARY), "failed"),
    ],
)
def test_a_server_whose_topic_was_never_asked_knows_not_what_it_has(wrong: Exception, state: str) -> None:
    seen = Watched(topic=BrokenTopic(wrong))
    seen.entries(2)
    assert seen.looked(seen.writing()) == {"newest_entry": 2, "problem": 1, f"state:server:{state}": 1}


def test_while_another_one_writes_a_server_knows_not_what_the_topic_has() -> None:
    seen, turns = Watched(), Turns()
    look = seen.writing(turns)
    seen.entries(2)
    assert seen.looked(look)["last_entry"] == 2
    turns.holder = "a relay"
    told = seen.looked(look)
    assert ("last_entry" in told, told["newest_entry"], told["state:server:turn_taken"]) == (False, 2, 1)


def test_a_turn_that_is_lost_in_between_is_not_taken_for_a_look_that_went_well() -> None:
    seen, turns = Watched(), Turns()
    turn = turns.of("server")
    turn.lasts = 2
    look = WritingLook(AuditRelay(seen.store, seen.topic, Leads(), "kedge-audit", turn=turn), seen.store, lambda: START)
    seen.entries(4)
    assert seen.looked(look) == {"last_entry": 2, "problem": 1, "state:server:no_database": 1}


@pytest.mark.parametrize("by", ["server", "relay"])
def test_a_database_that_is_away_leaves_its_figures_out(by: str) -> None:
    seen = Watched(relays=a_relay(2))
    look = seen.writing() if by == "server" else seen.watch()
    seen.entries(2)
    seen.looked(look)
    seen.store.is_away = True
    told = seen.looked(look)
    assert (told["problem"], told[f"state:{by}:no_database"]) == (1, 1)
    assert told["reached_timestamp_seconds"] == START.timestamp()
    assert not {"newest_entry", "waiting_relays:kedge_relay"} & told.keys()


def test_a_relay_apart_is_told_with_those_that_wait() -> None:
    seen = Watched(relays=a_relay(2, waiting=2))
    seen.entries(3)
    assert seen.looked(seen.watch()) == {
        "newest_entry": 3,
        "last_entry": 2,
        "problem": 0,
        "state:relay:reached": 1,
        "reached_timestamp_seconds": START.timestamp(),
        "waiting_relays:kedge_relay": 2,
    }


def test_a_lone_relay_is_well_and_has_nobody_that_waits() -> None:
    seen = Watched(relays=a_relay(0))
    told = seen.looked(seen.watch())
    assert (told["problem"], told["waiting_relays:kedge_relay"]) == (0, 0)


STRANGER = Holder("kedge_app", True, None)


@pytest.mark.parametrize(
    ("relays", "state", "last"),
    [
        (Relays(), "no_relay", 2),
        (Relays(STRANGER), "turn_taken", None),
        (a_relay(2, f"not sent: {CANARY}"), "relay_reports", 2),
        (a_relay(None, "the database did not answer"), "relay_reports", 2),
    ],
)
def test_what_is_in_the_way_of_a_relay_is_told_and_what_the_topic_had_as_long_as_nobody_else_writes(
    relays: Relays, state: str, last: int | None
) -> None:
    seen = Watched(relays=a_relay(2))
    look = seen.watch()
    seen.entries(2)
    seen.looked(look)
    seen.entries(1)
    seen.relays = relays
    told = seen.looked(look)
    assert (told["problem"], told[f"state:relay:{state}"], told["newest_entry"]) == (1, 1, 3)
    assert told.get("last_entry") == last


def test_a_relay_that_stands_is_told() -> None:
    seen = Watched(relays=a_relay(2))
    look = seen.watch()
    seen.entries(3)
    seen.looked(look)
    seen.now += timedelta(seconds=60)
    assert seen.looked(look)["state:relay:relay_stands"] == 1


def test_what_nobody_knows_yet_is_absent() -> None:
    seen = Watched()
    seen.entries(1)
    assert figures(None) == {}
    assert figures(seen.watch().last_status) == {}
    assert seen.looked(seen.watch()) == {"newest_entry": 1, "problem": 1, "state:relay:no_relay": 1}
    seen.relays = a_relay(None)
    assert "last_entry" not in seen.looked(seen.watch())
    seen.wrong = RuntimeError("a bug")
    assert seen.looked(seen.watch()) == {"problem": 1, "state:relay:failed": 1}


@pytest.mark.parametrize(("relays", "then"), [(a_relay(1), set()), (Relays(), {"problem"})], ids=["well", "ill"])
def test_of_an_old_look_only_the_time_is_told_and_that_it_became_unhealthy(relays: Relays, then: set[str]) -> None:
    seen = Watched(relays=a_relay(1))
    look = seen.watch()
    seen.entries(1)
    seen.looked(look)
    seen.relays = relays
    seen.looked(look)
    assert "newest_entry" in figures(look.last_status, START + YOUNG)
    late = figures(look.last_status, START + YOUNG + timedelta(seconds=1))
    assert set(late) == {"reached_timestamp_seconds", *then}


def test_a_scrape_asks_neither_the_audit_nor_who_has_the_turn() -> None:
    seen = Watched(relays=a_relay(2))
    look, house = seen.watch(), House()
    seen.looked(look)
    house.audit_topic, before = look.last_status, seen.store.pages
    seen.wrong = AssertionError("asked again")
    for _ in range(3):
        assert f"{PREFIX}newest_entry 0.0" in house.client.get("/v1/metrics").text
    assert seen.store.pages == before


@pytest.mark.parametrize(
    "seen",
    [
        Watched(topic=BrokenTopic(AuditNotSent(CANARY, CANARY))),
        Watched(relays=a_relay(1, f"not sent: {CANARY}")),
        Watched(relays=Relays(Holder("kedge_relay", False, RelayWord.read(f"kedge-relay 1 {CANARY}")))),
        Watched(wrong=RuntimeError(CANARY)),
    ],
    ids=["a topic's words", "a relay's words", "a session's name", "an error's words"],
)
def test_no_word_of_an_entry_a_relay_or_an_error_is_in_a_label(seen: Watched) -> None:
    seen.entries(2)
    for look in (seen.writing(), seen.watch()):
        seen.looked(look)
        assert CANARY not in str(list(audit_topic_families(look.last_status, START)))


def test_a_role_with_any_name_is_one_label() -> None:
    house = a_house()
    assert house.audit_topic is not None
    seen = Watched(relays=Relays(None, {'a"} 1\nkedge_leader{x="': 3}))
    look = seen.watch()
    seen.looked(look)
    house.audit_topic = look.last_status
    lines = [line for line in house.client.get("/v1/metrics").text.splitlines() if line.startswith("kedge_leader")]
    assert lines == ["kedge_leader 1.0"]


@pytest.mark.parametrize("role", ["viewer", "owner", "auditor"])
def test_it_is_told_to_administrators_of_everything(role: str) -> None:
    house = a_house()
    made = house.client.post("/v1/tokens", json={"label": "scrape", "role": role, "scope": "*"}).json()
    theirs = house.client_with({"Authorization": f"Bearer {made['text']}"}).get("/v1/metrics")
    assert theirs.status_code == 200
    assert PREFIX not in "".join(line for line in theirs.text.splitlines() if not line.startswith("#"))
    assert f"{PREFIX}last_entry 40.0" in house.client.get("/v1/metrics").text


def test_a_server_that_no_longer_leads_tells_nothing_of_queries_it_once_made() -> None:
    seen, leads = Watched(relays=a_relay(0)), Leads()
    binding = AuditTopicBinding(bootstrap=("127.0.0.1:9",), topic="audit", apart=True)
    room = audit_room_of(binding, seen.store, leads, turn=NoOtherWriter(), watch=seen.watch(), clock=lambda: START)
    assert room.last_status() is None
    room.poller.poll("audit topic")
    assert room.last_status() is not None
    leads.may_act = False
    assert room.last_status() is None
    room.close()
