"""Which VM is replaced before its host goes down, and why another one is not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from planner.healing import Cure, PastCure
from planner.maintenance import FINDING, Announced, LeftAlone, next_replacement

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def announced(node: str, days: float = 7) -> Announced:
    return Announced(node, f"{node}.g1", NOW + timedelta(days=days), "stop")


def judged(
    *them: Announced, past: tuple[PastCure, ...] = (), replaces: bool = True, a_day: int = 4
) -> tuple[Announced | None, tuple[LeftAlone, ...]]:
    return next_replacement(them, past, replaces=replaces, a_day=a_day, now=NOW)


def test_the_nearest_date_goes_first_and_the_others_wait_for_it() -> None:
    late, soon = announced("a", 9), announced("b", 2)
    chosen, left = judged(late, soon)
    assert chosen == soon
    assert left == (LeftAlone(late, "b.g1 goes first"),)


def test_nothing_is_replaced_where_the_spec_says_tell() -> None:
    chosen, (left,) = judged(announced("a"), replaces=False)
    assert chosen is None
    assert left.reason == "the spec has `healing.maintenance: tell`"


def test_a_date_that_is_past_is_left_to_the_cloud() -> None:
    chosen, (left,) = judged(announced("a", 0))
    assert chosen is None
    assert "the cloud is at it" in left.reason


def test_cures_of_any_kind_use_up_the_day() -> None:
    past = tuple(PastCure(n, "deadlock", Cure.RESTART, NOW - timedelta(hours=2)) for n in "cd")
    chosen, (left,) = judged(announced("a"), past=past, a_day=2)
    assert chosen is None
    assert left.reason == "2 cures in a day are the most this cluster gets, the next at 10:00 UTC"
    assert judged(announced("a"), past=past, a_day=3)[0] is not None
    assert judged(announced("a"), a_day=0)[0] is None


def test_a_node_is_not_replaced_for_announcements_again_and_again() -> None:
    past = (PastCure("a", FINDING, Cure.REPLACE, NOW - timedelta(hours=23)),)
    assert judged(announced("a"), past=past)[0] is None
    assert judged(announced("b"), past=past)[0] == announced("b")
    old = (PastCure("a", FINDING, Cure.REPLACE, NOW - timedelta(hours=25)),)
    assert judged(announced("a"), past=old)[0] == announced("a")


def test_a_vm_that_was_told_itself_is_replaced_though_its_node_was_a_while_ago() -> None:
    """A pre-emptible VM may be taken several times a day; it was left to be lost, with the grace of any lost one."""
    past = (PastCure("a", FINDING, Cure.REPLACE, NOW - timedelta(hours=1)),)
    told = replace(announced("a"), is_certain=True)
    assert judged(told, past=past)[0] == told
    assert judged(told, past=past, a_day=1)[0] is None
