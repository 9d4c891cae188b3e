"""Others lead what a hot broker does: when a batch begins, when not, and what is not undone afterwards."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.observed.hot_brokers import YOUNG, HotNoted, ListNoted
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import SwitchView
from controlplane.cluster.views.topics import TopicsView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.effects import ElectPreferred, Reassign
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.moves.placements import KEPT, hot_broker_step, leader_order_step
from controlplane.converger.steps.moves.rebalances import rebalance_step
from events import facts
from events.topic_facts import ReplicationEnded
from planner.observed import KafkaSnapshot
from tests.builders import NOW, a_drain, a_partition, a_situation
from tests.unit.controlplane.converger.steps.moves.test_leader_orders import EVEN, UNEVEN
from tests.unit.controlplane.converger.steps.moves.test_placements import a_cluster, a_look, after, begun, situation

HEAVY = [a_partition(f"orders-{n}", (1000, 1001, 1002)) for n in range(3)]
REST = a_look(*HEAVY)
ADVICE = HotNoted(
    NOW,
    "others lead 2 partitions of broker 1000: CPU 90% -> 45%",
    tuple(ListNoted("orders", n, (1000, 1001, 1002), (1001 + n, 1000, 1002 - n)) for n in range(2)),
)
"""orders-0 goes to 1001, orders-1 to 1002."""


def at(view: ClusterView | None = None, kafka: KafkaSnapshot = REST, hot: HotNoted | None = ADVICE) -> Situation:
    return situation(view or a_cluster(""), kafka, hot=hot)


def test_lists_are_put_into_another_order_then_leaders_follow_and_nothing_is_copied() -> None:
    view = a_cluster("")
    asked = begun(decide(at(view)))
    assert (asked.cause, asked.bytes, len(asked.moves), asked.reason) == ("hot", 0, 2, ADVICE.reason)
    in_hand = after(view, asked)
    assert in_hand.topics.handed_over_at == NOW
    (handed,) = decide(a_situation(in_hand, kafka=REST)).effects
    assert isinstance(handed, Reassign), "no throttle: nothing is copied"
    moved = dict(handed.targets)
    there = replace(REST, partitions=tuple(replace(p, replicas=moved.get(p.name, p.replicas)) for p in HEAVY))
    (ended,) = decide(a_situation(in_hand, kafka=there)).events
    assert isinstance(ended, ReplicationEnded)
    rest = after(in_hand, ended)
    election = housekeeping_step(situation(rest, there))
    assert election is not None
    assert [type(e) for e in election.effects] == [ElectPreferred]
    home = a_look(*(replace(p, leader=p.replicas[0]) for p in there.partitions))
    assert hot_broker_step(at(rest, home)) is None, "the same advice is not followed twice"


def test_a_crash_between_queries_gives_the_same_batch() -> None:
    assert begun(decide(at())) == begun(decide(at()))


@pytest.mark.parametrize(
    ("why", "values"),
    [
        ("no advice", {"hot": None}),
        ("it is old", {"hot": replace(ADVICE, at=NOW - YOUNG - timedelta(seconds=1))}),
        ("replicas are to move instead", {"hot": HotNoted(NOW, "why", spread=True)}),
        ("something is in hand", {"view": a_cluster("", drain=a_drain())}),
        ("it is switched off", {"view": a_cluster("", switches={"hot-broker": SwitchView(False, None, "a", NOW)})}),
        ("leaders stay by the spec of now", {"view": a_cluster("preferredLeaders: leave")}),
        ("a list is another one now", {"kafka": a_look(*(replace(p, replicas=(1000, 1002, 1001)) for p in HEAVY))}),
        ("a replica is out of sync", {"kafka": a_look(*HEAVY, a_partition("late-0", isr=(1000, 1001)))}),
        ("a broker is down", {"kafka": a_look(*HEAVY, brokers=tuple(range(1000, 1005)))}),
        ("leaders are on their way home", {"kafka": a_look(*(replace(p, leader=1001) for p in HEAVY))}),
        ("it was followed already", {"view": a_cluster("", topics=TopicsView(handed_over_at=NOW))}),
    ],
)
def test_no_leader_is_handed_over(why: str, values: dict[str, Any]) -> None:
    assert hot_broker_step(at(**values)) is None, why


def test_leaders_taken_off_a_hot_broker_are_not_given_back_for_evenness_for_a_day() -> None:
    def cooled(ago: timedelta) -> Situation:
        return situation(a_cluster(EVEN, topics=TopicsView(handed_over_at=NOW - ago)), UNEVEN)

    assert leader_order_step(cooled(timedelta(hours=1))) is None
    assert leader_order_step(cooled(KEPT)) is not None


def test_replicas_are_spread_where_leading_is_no_cure_and_the_spec_wants_it_continuous() -> None:
    spread = HotNoted(NOW, "broker 1000 is hot: a follower receives what a leader does", spread=True)
    decision = rebalance_step(at(a_cluster("continuous: true, perDayGib: 5"), hot=spread))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.RebalanceRequested)
    assert (asked.cause, asked.threshold_percent, asked.per_day_bytes) == ("policy", 0.0, 5 * 1024**3)
    assert asked.reason == f"{spread.reason} (spec.balance.continuous)"
    assert rebalance_step(at(a_cluster(""), hot=spread)) is None
