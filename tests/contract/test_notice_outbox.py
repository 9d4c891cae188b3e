"""Notices that wait: one suite over memory, SQLite and PostgreSQL; and the way from events to who is told."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.outbox import MOST, Outbox, SqlOutbox, WaitingNotice
from controlplane.background.notifications.post import NoticeSender, NoticeSpreader
from controlplane.background.notifications.silences import going_out
from controlplane.storage.streams import PROPOSALS, anomalies_stream
from events import facts, proposal_facts
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


def first_of(outbox: Outbox, now: datetime) -> WaitingNotice | None:
    return next(iter(outbox.waiting("oncall", now)), None)


def test_notices_come_in_order_each_once_and_as_they_were(outbox: Outbox) -> None:
    outbox.begin("oncall", 5)
    outbox.keep("oncall", 9, waiting(7, 6))
    outbox.keep("oncall", 9, waiting(6, 7))
    first = first_of(outbox, NOW)
    assert first == WaitingNotice(6, replace(NOTICE, id="e6"))
    outbox.delivered("oncall", [6], NOW)
    outbox.delivered("oncall", [6], NOW)
    assert first_of(outbox, NOW) == WaitingNotice(7, replace(NOTICE, id="e7"))
    assert outbox.statuses()["oncall"].delivered == 1
    assert outbox.statuses()["oncall"].waiting == 1


def test_one_that_begins_is_not_told_of_what_was_before_and_goes_on_where_it_was(outbox: Outbox) -> None:
    assert outbox.begin("oncall", 5).position == 5
    outbox.keep("oncall", 9, waiting(4))
    assert first_of(outbox, NOW) is None
    assert outbox.begin("oncall", 100).position == 9


def test_one_that_failed_is_tried_again_in_its_time_and_keeps_its_place(outbox: Outbox) -> None:
    outbox.begin("oncall", 0)
    outbox.keep("oncall", 2, waiting(1, 2))
    later = NOW + timedelta(seconds=4)
    outbox.failed("oncall", 1, "it answered 500", now=NOW, again_at=later)
    assert first_of(outbox, NOW) is None, "the second one does not overtake the first"
    again = first_of(outbox, later)
    assert again is not None
    assert (again.position, again.attempts) == (1, 1)
    status = outbox.statuses()["oncall"]
    assert (status.error, status.failing_since) == ("it answered 500", NOW)
    outbox.delivered("oncall", [1], later)
    assert outbox.statuses()["oncall"].failing_since is None


def test_more_than_the_bound_drops_the_oldest_and_counts_them(outbox: Outbox) -> None:
    outbox.begin("oncall", 0)
    outbox.begin("other", 0)
    outbox.keep("oncall", MOST + 3, waiting(*range(1, MOST + 4)))
    status = outbox.statuses()["oncall"]
    assert (status.waiting, status.dropped) == (MOST, 3)
    first = first_of(outbox, NOW)
    assert first is not None
    assert first.position == 4
    assert outbox.statuses()["other"].dropped == 0


class Ear:
    """A notifier that hears, or is down."""

    def __init__(self) -> None:
        self.down = False
        self.heard: list[Notice] = []
        self.messages: list[int] = []

    def tell(self, notices: Sequence[Notice]) -> None:
        if self.down:
            raise NotDelivered("it is down")
        self.heard.extend(notices)
        self.messages.append(len(notices))

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
        self.spreader = NoticeSpreader(self.bindings, self.store, self.outbox, {}, {"orders": "team-a"}.__getitem__)
        self.senders = {
            b.name: NoticeSender(b, self.ears[b.name], self.outbox, lambda: self.now) for b in self.bindings
        }

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


def test_notices_of_a_cluster_are_gathered_into_one_message_and_those_of_another_into_another(outbox: Outbox) -> None:
    outbox.begin("oncall", 0)
    payments = replace(NOTICE, cluster="payments")
    outbox.keep("oncall", 3, [*waiting(1), WaitingNotice(2, payments), *waiting(3)])
    gathers = timedelta(seconds=30)
    almost = NOW + timedelta(seconds=29)
    assert going_out(outbox.waiting("oncall", almost), almost, gathers) == ()
    both = going_out(outbox.waiting("oncall", NOW + gathers), NOW + gathers, gathers)
    assert [one.position for one in both] == [1, 3]
    outbox.delivered("oncall", [1, 3], NOW)
    left = going_out(outbox.waiting("oncall", NOW + gathers), NOW + gathers, gathers)
    assert [one.position for one in left] == [2]
    assert outbox.statuses()["oncall"].delivered == 2


def test_a_sender_gathers_for_as_long_as_its_binding_says(outbox: Outbox) -> None:
    post = Post(outbox, NotifierBinding(name="oncall", kind="log", group_s=60))
    post.goes_out()
    post.happens(found(1, "waiting"))
    post.goes_out()
    post.now += timedelta(seconds=59)
    post.happens(found(2, "waiting"))
    post.goes_out()
    assert post.ears["oncall"].messages == []
    post.now += timedelta(seconds=1)
    post.goes_out()
    assert post.ears["oncall"].messages == [2]


def test_a_notice_has_its_severity_and_the_owner_of_its_cluster(outbox: Outbox) -> None:
    post = Post(outbox)
    post.goes_out()
    post.happens(found(1, "waiting", "broker-failure"), found(2, "waiting"))
    post.goes_out()
    assert [(n.severity, n.owner) for n in post.ears["oncall"].heard] == [("critical", "team-a"), ("warning", "team-a")]


def a_proposal(number: str = "p1") -> proposal_facts.ProposalMade:
    expires = NOW + timedelta(days=7)
    return proposal_facts.ProposalMade(
        number, "delete", ("orders",), "", "", "", "", "d", ("orders is of tier critical",), "ada", "", "api", "token",
        "", expires,
    )  # fmt: skip


def decided(post: Post, *happened: object) -> None:
    version = len(post.store.read_stream(PROPOSALS))
    events = [encode(fact, f"proposals-{version + n}") for n, fact in enumerate(happened)]
    post.store.append(PROPOSALS, events, expected_version=version, origin=Origin("ada"))


def test_a_proposal_that_waits_is_told_at_once_and_again_when_it_is_decided(outbox: Outbox) -> None:
    post = Post(outbox)
    post.goes_out()
    decided(post, a_proposal())
    post.goes_out()
    (waits,) = post.ears["oncall"].heard
    assert (waits.kind, waits.subject, waits.state, waits.owner) == ("proposal", "p1", "waiting", "team-a")
    assert waits.reason == "ada asks to delete orders"
    assert waits.words.endswith("Next: kedge proposal show p1")
    post.began()
    decided(post, proposal_facts.ProposalApproved("p1", "grace", "go"), proposal_facts.ProposalExecuted("p1", "done"))
    post.goes_out()
    over = post.ears["oncall"].heard[-1]
    assert (len(post.ears["oncall"].heard), over.is_over, over.words) == (2, True, "approved by grace: go")
    assert over.key == waits.key


def test_a_proposal_nobody_agreed_to_in_time_is_told_as_over(outbox: Outbox) -> None:
    post = Post(outbox, NotifierBinding(name="oncall", kind="log", kinds=("proposal",)))
    post.goes_out()
    decided(post, a_proposal(), proposal_facts.ProposalVoided("p1", "its time was up"))
    post.happens(found(1, "waiting"))
    post.goes_out()
    assert post.told() == ["proposal-p1 waiting", "proposal-p1 over"]
