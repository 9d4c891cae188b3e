"""Drains that are put off as soon as they are begun: counted, and not begun at every tick."""

from datetime import timedelta

import pytest

from controlplane.cluster.fold import fold
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import PostponedView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.decision import record
from controlplane.converger.steps.rolls.postponed import AT_ONCE, paced
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW, a_drain, a_partition, a_situation, a_snapshot, a_view, an_instance

KEY = "brokers-a-0.g1"
DRAIN = facts.DrainRequested("drain-1", (KEY,), (1000,), {}, (1001, 1002), 1, "replaced by brokers-a-0.g2")
PUT_OFF = facts.DrainAbandoned("drain-1", "broker 1004 died")
BEGINS = record(f"draining {KEY}", DRAIN)


def _told(*events: object) -> ClusterView:
    view = a_view()
    new = [(n, encode(event, f"e{n}")) for n, event in enumerate(events, start=view.version + 1)]
    told = fold(
        view, [Recorded(n, "c", n, e.event_id, e.type, e.schema, e.data, "t", None, None, 1, NOW) for n, e in new]
    )
    assert not told.history.unreadable
    return told


def _postponed(times: int, *, ago_s: float = 0.0) -> ClusterView:
    return a_view(postponed=PostponedView(times, NOW - timedelta(seconds=ago_s), PUT_OFF.reason))


def test_drains_that_are_put_off_in_a_row_are_counted_until_something_comes_of_something() -> None:
    twice = _told(DRAIN, PUT_OFF, facts.ConditionChanged("Blocked", True, "Waiting", ""), DRAIN, PUT_OFF)
    assert twice.moves.postponed == PostponedView(2, NOW, "broker 1004 died")
    assert _told(DRAIN, PUT_OFF, facts.ClusterResumed("seen")).moves.postponed is None
    assert _told(DRAIN, PUT_OFF, DRAIN, facts.NodeDrained("drain-1", (KEY,), 0, 0)).moves.postponed is None
    assert _told().moves.postponed is None


@pytest.mark.parametrize(
    ("times", "ago_s", "begins"),
    [
        (AT_ONCE - 1, 0, True),
        (AT_ONCE, 1, False),
        (AT_ONCE, 2, True),
        (AT_ONCE + 3, 15, False),
        (AT_ONCE + 99, 300, True),
    ],
)
def test_after_three_the_next_one_waits_longer_each_time_and_five_minutes_at_most(
    times: int, ago_s: float, begins: bool
) -> None:
    """One was begun and put off 26,000 times in a day of a simulated cluster."""
    decision = paced(a_situation(_postponed(times, ago_s=ago_s)), BEGINS)
    assert (decision is BEGINS) is begins
    assert begins or (decision.events == () and decision.wait is not None and decision.wait.reason == "DrainPutOff")


def test_the_pause_says_why_and_until_when() -> None:
    decision = paced(a_situation(_postponed(5)), BEGINS)
    assert decision.sentence == "5 drains in a row were put off, the last one as broker 1004 died; the next one in 8 s"
    assert decision.wait is not None
    assert decision.wait.until == NOW + timedelta(seconds=8)


def test_nothing_but_the_beginning_of_a_drain_waits() -> None:
    restart = record("restarting", facts.RestartRequested(KEY, 1, 2, {}, {}, False, "asked by anna"))
    assert paced(a_situation(_postponed(9)), restart) is restart
    in_hand = a_situation(a_view(postponed=PostponedView(9, NOW, ""), drain=a_drain()))
    assert paced(in_hand, BEGINS) is BEGINS


def test_a_tick_that_would_begin_the_fourth_at_once_waits() -> None:
    lost = an_instance("brokers-a-0", 1, lost_at=NOW - timedelta(seconds=600))
    instances = (lost, an_instance("brokers-a-0", 2), an_instance("brokers-b-0"), an_instance("brokers-c-0"))
    kafka = a_snapshot(
        a_partition("orders-0", (1000, 1001, 1002), isr=(1001, 1002), leader=1001), brokers=(1001, 1002, 1010)
    )
    first, fourth = (
        decide(a_situation(a_view(*instances, postponed=postponed), kafka=kafka))
        for postponed in (None, PostponedView(3, NOW, "broker 1004 died"))
    )
    assert [type(e) for e in first.events] == [facts.DrainRequested]
    assert fourth.wait is not None
    assert fourth.wait.reason == "DrainPutOff"
