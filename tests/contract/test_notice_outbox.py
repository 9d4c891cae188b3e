"""Notices that wait: one suite over memory, SQLite and PostgreSQL; and the way from events to who is told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.notifier import NotTold
from controlplane.background.notifications.outbox import MOST, Outbox, SqlOutbox, WaitingNotice
from controlplane.background.notifications.post import NoticeSender, NoticeSpreader
from controlplane.storage.streams import anomalies_stream
from events import facts
from events.codec import encode
from events.envelope import Origin
from events.ids import ClusterUid
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.outbox import MemoryOutbox

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
UID = ClusterUid("c0ffee")
NOTICE = Notice("e1", "orders", "orders-1", "slow-broker", "b", "healing", "why", "words", NOW, NOW)


@pytest.fixture
def outbox(engine_or_memory: Engine | None) -> Outbox:
    return MemoryOutbox() if engine_or_memory is None else SqlOutbox(engine_or_memory)


def waiting(*positions: int) -> list[WaitingNotice]:
    return [WaitingNotice(p, replace(NOTICE, id=f"e{p}")) for p in positions]


def test_notices_come_in_order_each_once_and_as_they_were(outbox: Outbox) -> None:
    outbox.begin("oncall", 5)
    outbox.keep("oncall", 9, waiting(7, 6))
    outbox.keep("oncall", 9, waiting(6, 7))
    first = outbox.next("oncall", NOW)
    assert first == WaitingNotice(6, replace(NOTICE, id="e6"))
    outbox.told("oncall", 6, NOW)
    outbox.told("oncall", 6, NOW)
    assert outbox.next("oncall", NOW) == WaitingNotice(7, replace(NOTICE, id="e7"))
    assert outbox.standings()["oncall"].delivered == 1
    assert outbox.standings()["oncall"].waiting == 1


def test_one_that_begins_is_not_told_of_what_was_before_and_goes_on_where_it_was(outbox: Outbox) -> None:
    assert outbox.begin("oncall", 5).position == 5
    outbox.keep("oncall", 9, waiting(4))
    assert outbox.next("oncall", NOW) is None
    assert outbox.begin("oncall", 100).position == 9


def test_one_that_failed_is_tried_again_in_its_time_and_keeps_its_place(outbox: Outbox) -> None:
    outbox.begin("oncall", 0)
    outbox.keep("oncall", 2, waiting(1, 2))
    later = NOW + timedelta(seconds=4)
    outbox.failed("oncall", 1, "it answered 500", now=NOW, again_at=later)
    assert outbox.next("oncall", NOW) is None, "the second one does not overtake the first"
    again = outbox.next("oncall", later)
    assert again is not None
    assert (again.position, again.attempts) == (1, 1)
    standing = outbox.standings()["oncall"]
    assert (standing.error, standing.failing_since) == ("it answered 500", NOW)
    outbox.told("oncall", 1, later)
    assert outbox.standings()["oncall"].failing_since is None


def test_more_than_the_bound_drops_the_oldest_and_counts_them(outbox: Outbox) -> None:
    outbox.begin("oncall", 0)
    outbox.begin("other", 0)
    outbox.keep("oncall", MOST + 3, waiting(*range(1, MOST + 4)))
    standing = outbox.standings()["oncall"]
    assert (standing.waiting, standing.dropped) == (MOST, 3)
    first = outbox.next("oncall", NOW)
    assert first is not None
    assert first.position == 4
    assert outbox.standings()["other"].dropped == 0


class Ear:
    """A notifier that hears, or is down."""

    def __init__(self) -> None:
        self.down = False
        self.heard: list[Notice] = []

    def tell(self, notice: Notice) -> None:
        if self.down:
            raise NotTold("it is down")
        self.heard.append(notice)

    def close(self) -> None:
        """Nothing is held."""


class Post:
    """A store with anomalies, who is to be told, and a clock."""

    def __init__(self, outbox: Outbox, *bindings: NotifierBinding) -> None:
        self.now = NOW
        self.outbox, self.store = outbox, MemoryEventStore(clock=lambda: self.now)
        self.bindings = bindings or (NotifierBinding(name="oncall", kind="log"),)
        self.ears = {b.name: Ear() for b in self.bindings}
        self.began()

    def began(self) -> None:
        """A server begins: it remembers nothing."""
        self.spreader = NoticeSpreader(self.bindings, self.store, self.outbox, {})
        self.senders = {n: NoticeSender(n, e, self.outbox, lambda: self.now) for n, e in self.ears.items()}

    def happens(self, *happened: object) -> None:
        stream = anomalies_stream(UID)
        version = len(self.store.read_stream(stream))
        events = [encode(fact, f"{stream}-{version + n}") for n, fact in enumerate(happened)]
        self.store.append(stream, events, expected_version=version, origin=Origin("anomalies"))

    def goes_out(self) -> None:
        self.spreader.poll()
        for sender in self.senders.values():
            sender.poll()

    def told(self, name: str = "oncall") -> list[str]:
        return [f"{n.anomaly} {n.state}" for n in self.ears[name].heard]


def found(n: int, state: str, kind: str = "slow-broker") -> facts.AnomalyFound:
    return facts.AnomalyFound(f"orders-{n}", "orders", kind, "brokers-a-0", "200 ms", state, "words")


def test_alarms_and_their_ends_are_told_and_what_is_known_or_passes_is_not(outbox: Outbox) -> None:
    post = Post(outbox)
    post.goes_out()
    post.happens(found(1, "found"), found(2, "suppressed"), found(3, "healing", "disk-failure"))
    post.happens(facts.AnomalyChanged("orders-1", "waiting", "w"), facts.AnomalyChanged("orders-2", "over", "w"))
    post.happens(facts.AnomalyChanged("orders-3", "over", "healed"))
    post.goes_out()
    assert post.told() == ["orders-3 healing", "orders-1 waiting", "orders-3 over"]
    assert {n.cluster for n in post.ears["oncall"].heard} == {"orders"}


def test_a_server_that_dies_at_any_point_loses_and_doubles_nothing(outbox: Outbox) -> None:
    post = Post(outbox)
    post.goes_out()
    post.happens(found(1, "found"))
    post.goes_out()
    post.began()
    post.happens(facts.AnomalyChanged("orders-1", "healing", "w"))
    post.spreader.poll()
    post.began()
    post.goes_out()
    post.began()
    post.goes_out()
    assert post.told() == ["orders-1 healing"]


def test_one_that_is_down_hears_all_of_it_later_and_keeps_nobody_else_waiting(outbox: Outbox) -> None:
    two = (NotifierBinding(name="oncall", kind="log"), NotifierBinding(name="other", kind="log"))
    post = Post(outbox, *two)
    post.goes_out()
    post.ears["oncall"].down = True
    post.happens(found(1, "healing"), found(2, "waiting"))
    post.goes_out()
    assert post.told("other") == ["orders-1 healing", "orders-2 waiting"]
    assert post.told() == []
    post.ears["oncall"].down = False
    post.goes_out()
    assert post.told() == [], "it is not yet time to try again"
    post.now += timedelta(seconds=3)
    post.goes_out()
    assert post.told() == ["orders-1 healing", "orders-2 waiting"]


def test_what_a_notifier_does_not_want_never_waits_for_it(outbox: Outbox) -> None:
    post = Post(outbox, NotifierBinding(name="oncall", kind="log", kinds=("disk-failure",)))
    post.goes_out()
    post.happens(found(1, "healing"), found(2, "healing", "disk-failure"))
    post.goes_out()
    assert post.told() == ["orders-2 healing"]
