"""Which connections have had their time, and which go first when there is no room for all."""

from dataclasses import replace

import pytest

from controlplane.api.connections import (
    ANSWER_STALLS_S,
    BODY_STALLS_S,
    BODY_WITHIN_S,
    HEAD_WITHIN_S,
    HEARD_OUT_S,
    ConnectionPhase,
    Seen,
    first_to_go,
    longest_silent,
    overdue,
)
from controlplane.runtime.descriptors import budget_of

NOW_S = 1000.0


def seen(part: ConnectionPhase, *, opened_s: float = 0.0, since_s: float = 0.0, waits_for: str = "") -> Seen:
    return Seen(part, opened_s, since_s, since_s, waits_for)


@pytest.mark.parametrize(
    ("waits_for", "since_ago_s", "moved_ago_s", "why"),
    [
        ("head", HEAD_WITHIN_S + 1, 0.0, "slow-head"),
        ("head", HEAD_WITHIN_S - 1, 0.0, ""),
        ("body", BODY_STALLS_S + 1, BODY_STALLS_S + 1, "slow-body"),
        ("body", BODY_WITHIN_S + 1, 0.0, "slow-body"),
        ("body", BODY_WITHIN_S - 1, 1.0, ""),
        ("reader", 3600.0, ANSWER_STALLS_S + 1, "slow-reader"),
        ("reader", 3600.0, 1.0, ""),
        ("", 3600.0, 3600.0, ""),
    ],
)
def test_a_connection_is_closed_when_its_other_end_keeps_us_waiting(
    waits_for: str, since_ago_s: float, moved_ago_s: float, why: str
) -> None:
    one = seen(ConnectionPhase.PERSON_ASKING, waits_for=waits_for)
    assert overdue(replace(one, since_s=NOW_S - since_ago_s, moved_s=NOW_S - moved_ago_s), NOW_S) == why


def test_agents_go_before_people_the_newest_of_them_first_and_who_is_being_answered_stays() -> None:
    connections = {
        1: seen(ConnectionPhase.PERSON_ASKING),
        2: seen(ConnectionPhase.PERSON_IDLE, since_s=10),
        3: seen(ConnectionPhase.PERSON_IDLE, since_s=5),
        4: seen(ConnectionPhase.AGENT_ASKING, opened_s=100),
        5: seen(ConnectionPhase.AGENT_IDLE, opened_s=100),
        6: seen(ConnectionPhase.AGENT_IDLE, opened_s=200),
        7: seen(ConnectionPhase.ASKED_NOTHING, opened_s=NOW_S - 2 * HEARD_OUT_S, since_s=NOW_S - 2 * HEARD_OUT_S),
    }
    assert first_to_go(connections.items(), 10, NOW_S) == [7, 6, 5, 4, 3, 2]
    assert first_to_go(connections.items(), 2, NOW_S) == [7, 6]


def test_who_has_just_come_is_heard_out_as_it_may_be_a_person() -> None:
    young = seen(ConnectionPhase.ASKED_NOTHING, opened_s=NOW_S - HEARD_OUT_S / 2, since_s=NOW_S - HEARD_OUT_S / 2)
    assert first_to_go({1: young}.items(), 1, NOW_S) == []


def test_of_a_crowd_that_only_knocks_the_first_makes_way_for_the_next_to_come() -> None:
    """All of it had come within the second, and the person after it found no room."""
    crowd = {n: seen(ConnectionPhase.ASKED_NOTHING, opened_s=NOW_S - 0.5 + n / 100) for n in (3, 1, 2)}
    assert (
        longest_silent(
            [*crowd.items(), (0, seen(ConnectionPhase.PERSON_ASKING)), (4, seen(ConnectionPhase.AGENT_ASKING))]
        )
        == 1
    )
    assert longest_silent({0: seen(ConnectionPhase.PERSON_ASKING)}.items()) is None


@pytest.mark.parametrize("limit", [128, 256, 320, 1024, 20_000, 1 << 20])
def test_every_limit_leaves_room_for_files_for_people_and_for_agents(limit: int) -> None:
    budget = budget_of(limit)
    assert budget.agents >= 1
    assert budget.connections - budget.of_agents >= 16
    assert limit - budget.connections >= 96


def test_the_usual_limit_of_1024_fits_336_agents() -> None:
    assert (budget_of(1024).connections, budget_of(1024).agents) == (768, 336)
