"""Goals, topics and brokers that were chosen for a rebalance are all it looks at, moves and moves to."""

from typing import get_args

import pytest

from events.spec.housekeeping import GoalName
from planner.balance.goals import DEFAULT_GOALS, Goal
from planner.rebalancing.ask import plan_rebalance
from planner.rebalancing.choice import EVERYTHING, BalanceChoice
from planner.rebalancing.imbalance import deviations
from tests.unit.planner.rebalancing.rebalance_cases import ALL, NEW, asked, seen


def test_a_spec_has_every_goal_the_planner_has() -> None:
    assert set(get_args(GoalName)) == {goal.value for goal in Goal}


def test_goals_are_taken_in_their_order_with_their_usual_tolerance() -> None:
    assert EVERYTHING.aims() == DEFAULT_GOALS
    first, second = BalanceChoice(("leaders", "racks")).aims()
    assert (first.goal, first.tolerance, second.goal, second.hard) == (Goal.LEADERS, 1.10, Goal.RACKS, True)


@pytest.mark.parametrize(
    ("goals", "words"),
    [
        (("dsk",), "there is no goal 'dsk': there is broker-sets, racks, "),
        (("disk", "disk"), "named twice"),
    ],
)
def test_a_goal_there_is_not_is_refused_with_those_there_are(goals: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BalanceChoice(goals).aims()


def test_with_leaders_alone_nothing_is_copied_and_nothing_else_is_judged() -> None:
    kafka = seen()
    choice = BalanceChoice(("leaders",))
    plan = plan_rebalance(asked(receivers=ALL[:3], choice=choice), kafka)
    assert sum(m.bytes for m in plan.copies.moves) == 0
    assert [g.goal for g in plan.goals] == ["leaders"]
    assert set(deviations(kafka, ALL, choice=choice)) == {"leaders"}


def test_excluded_topics_stay_and_excluded_brokers_receive_nothing() -> None:
    kafka = seen()
    stays = plan_rebalance(asked(choice=BalanceChoice(exclude_topics=("orders",))), kafka)
    assert stays.copies.moves == ()
    one_out = plan_rebalance(asked(choice=BalanceChoice(exclude_brokers=(NEW[0],))), kafka)
    assert {b for m in one_out.copies.moves for b in m.added} == set(NEW[1:])
    assert plan_rebalance(asked(), kafka).copies.moves != one_out.copies.moves


def test_an_excluded_broker_that_has_less_is_no_imbalance_and_one_that_has_more_is() -> None:
    """24 partitions on five brokers, none on the sixth: that one lacks all of its share, the others have 14.4 of 12."""
    kafka = seen()
    five = ALL[:5]
    lists = {p.name: tuple(five[(n + k) % 5] for k in range(3)) for n, p in enumerate(kafka.partitions)}
    assert deviations(kafka, ALL, after=lists)["replicas"] == 91.7
    assert deviations(kafka, ALL, choice=BalanceChoice(exclude_brokers=(ALL[5],)), after=lists)["replicas"] == 16.7
    assert deviations(kafka, ALL, choice=BalanceChoice(exclude_brokers=NEW))["replicas"] == 91.7, "the old have double"
