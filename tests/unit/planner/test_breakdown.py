"""Who of the brokers that are there and do not serve gets a new VM, and why the others do not."""

from datetime import timedelta

import pytest

from planner.breakdown import EXITS_FOR, LEAST, Absence, BreakdownContext, BreakdownKind, Broken, why_left
from tests.builders import NOW

MINUTE = timedelta(minutes=1)
LOST_AFTER = timedelta(minutes=5)


def a_broken(broker: int = 1001, manner: BreakdownKind = BreakdownKind.UNREACHABLE) -> Broken:
    node = f"brokers-{'abc'[broker % 10]}-0"
    return Broken(node, f"{node}.g1", broker, manner, NOW, "it is away")


def left(one: Broken, *others: Broken, **around: object) -> str:
    seen = BreakdownContext(**{"brokers": 3, "not_serving": (one.broker,), **around})  # type: ignore[arg-type]
    return why_left(one, (one, *others), seen)


@pytest.mark.parametrize("manner", BreakdownKind)
def test_one_alone_is_replaced_while_all_others_serve_and_are_heard(manner: BreakdownKind) -> None:
    assert left(a_broken(manner=manner)) == ""


@pytest.mark.parametrize(
    ("manner", "around", "words"),
    [
        (BreakdownKind.UNREACHABLE, {"not_serving": (1001, 1002)}, "broker 1002 does not serve either"),
        (BreakdownKind.CRASH_LOOP, {"not_serving": (1001, 1002)}, "broker 1002 does not serve either"),
        (
            BreakdownKind.UNREACHABLE,
            {"unheard": ("brokers-a-0.g1",)},
            "the agent of brokers-a-0.g1 is not heard either",
        ),
        (BreakdownKind.UNREACHABLE, {"cloud": "its VM is stopped"}, "its VM is stopped"),
        (BreakdownKind.UNREACHABLE, {"brokers": 1}, "no other broker has what it holds"),
        (BreakdownKind.CRASH_LOOP, {"brokers": 1}, "no other broker has what it holds"),
    ],
)
def test_what_speaks_against_it(manner: BreakdownKind, around: dict[str, object], words: str) -> None:
    assert words in left(a_broken(manner=manner), **around)


def test_its_own_silence_and_the_cloud_are_nothing_to_one_whose_agent_speaks() -> None:
    one = a_broken(manner=BreakdownKind.CRASH_LOOP)
    assert left(one, unheard=("brokers-a-0.g1",), cloud="the cloud does not tell") == ""
    assert left(a_broken(), unheard=(a_broken().key,)) == ""


def test_one_that_serves_just_now_is_left_though_it_ended_again_and_again() -> None:
    one = a_broken(manner=BreakdownKind.CRASH_LOOP)
    assert "it serves just now" in left(one, not_serving=())


def test_half_of_the_cluster_away_in_the_same_way_has_a_cause_that_new_vms_would_have() -> None:
    one, other = a_broken(1001, BreakdownKind.CRASH_LOOP), a_broken(1002, BreakdownKind.CRASH_LOOP)
    assert "2 of 3 brokers are away in the same way" in left(one, other, not_serving=(1001, 1002))
    assert "2 of 4 brokers" in left(one, other, brokers=4)
    assert "does not serve either" in left(one, other, brokers=6, not_serving=(1001, 1002))


def test_nobody_is_lost_within_a_minute_whatever_the_spec_says() -> None:
    assert a_broken().due(timedelta(0)) == NOW + LEAST
    assert a_broken().due(LOST_AFTER) == NOW + LOST_AFTER


def ended(*exits: int, every: timedelta = MINUTE) -> Absence:
    """As its agent told it, a minute apart."""
    absence = Absence(NOW, NOW)
    for n, count in enumerate(exits):
        absence = absence.with_exits(count, NOW + n * every)
    return absence


def test_a_process_that_ends_twice_while_it_is_away_ends_again_and_again() -> None:
    assert not Absence(NOW, NOW).ends_again_and_again(NOW)
    assert not ended(7).ends_again_and_again(NOW), "what was before may be years old"
    assert not ended(7, 8).ends_again_and_again(NOW + MINUTE)
    assert ended(7, 8, 9).ends_again_and_again(NOW + 2 * MINUTE)
    assert ended(7, 9).ends_again_and_again(NOW + MINUTE)


def test_a_broker_that_reads_its_logs_for_long_after_its_ends_is_on_its_way() -> None:
    assert ended(7, 9).ends_again_and_again(NOW + MINUTE + EXITS_FOR)
    assert not ended(7, 9, 9, 9, 9, 9).ends_again_and_again(NOW + MINUTE + EXITS_FOR + timedelta(seconds=1))


def test_an_agent_that_counts_anew_is_counted_anew() -> None:
    absence = ended(7, 9, 0)
    assert (absence.exits_then, absence.exits, absence.exited_at) == (0, 0, None)
