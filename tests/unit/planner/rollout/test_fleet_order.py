"""The fleet's order: which stage a cluster is of, who goes first, for whom it waits."""

from datetime import UTC, datetime, timedelta

import pytest

from planner.rollout.fleet_order import PRODUCTION, FleetMember, in_order, stage_of, stage_word, waits_for

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
DEV, STAGING = 0, 2


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        ({"stage": "staging"}, "staging"),
        ({"stage": " Staging "}, "staging"),
        ({"environment": "dev"}, "development"),
        ({"stage": "qa", "environment": "production"}, "testing"),
        ({"stage": "", "environment": "canary"}, "canary"),
        ({"stage": "prod"}, "production"),
        ({"stage": "blue"}, "production"),
        ({"team": "staging"}, "production"),
        ({}, "production"),
    ],
)
def test_a_stage_is_read_off_the_labels_and_an_unknown_one_is_production(labels: dict[str, str], word: str) -> None:
    assert stage_word(stage_of(labels)) == word


def test_the_more_urgent_go_first_then_the_earlier_stage_then_by_name() -> None:
    members = [
        FleetMember("b", PRODUCTION, urgency=1),
        FleetMember("a", PRODUCTION, urgency=1),
        FleetMember("z", STAGING, urgency=1),
        FleetMember("y", PRODUCTION, urgency=3),
    ]
    assert [m.name for m in in_order(members)] == ["y", "z", "a", "b"]


def test_nobody_is_waited_for_in_the_own_or_a_later_stage() -> None:
    others = [FleetMember("a", STAGING), FleetMember("b", PRODUCTION)]
    assert waits_for(STAGING, others, NOW) == ()
    assert waits_for(DEV, others, NOW) == ()


def test_who_is_not_there_yet_is_named_with_its_state() -> None:
    others = [FleetMember("b", STAGING, state="is paused: lunch"), FleetMember("a", DEV)]
    assert waits_for(PRODUCTION, others, NOW) == (
        "a (development), which has not begun",
        "b (staging), which is paused: lunch",
    )


def test_a_cluster_counts_once_it_has_soaked() -> None:
    soaking = FleetMember("a", STAGING, soak=timedelta(seconds=600), reached_at=NOW - timedelta(seconds=590))
    assert waits_for(PRODUCTION, [soaking], NOW) == ("a (staging), which soaks 10 s more",)
    assert waits_for(PRODUCTION, [soaking], NOW + timedelta(seconds=10)) == ()
