"""What a reset of offsets would have read again, or never: counts of records that the log has."""

import pytest

from planner.consumers.reset import LogSpan, OffsetSeen, ResetPlan, ResetWish, Whither, reset_plan
from tests.unit.planner.group_samples import P0, a_group


def planned(committed: int, to: Whither, *, first: int = 0, end: int = 14, number: int = 0) -> ResetPlan:
    seen = OffsetSeen(a_group({P0: committed}), {P0: LogSpan(first, end)})
    return reset_plan(seen, ResetWish(to=to, number=number))


def counts(plan: ResetPlan) -> tuple[int, int]:
    (change,) = plan.changes
    return change.again, change.skipped


@pytest.mark.parametrize(("to", "again"), [(Whither.LATEST, 0), (Whither.EARLIEST, 14)])
def test_an_offset_beyond_the_log_has_no_more_records_read_again_than_there_are(to: Whither, again: int) -> None:
    """Reported: 1000 committed on a log of 14, and "986 a second time" to its end, "1000" to its beginning."""
    plan = planned(1000, to)
    assert counts(plan) == (again, 0)
    assert plan.changes[0].beyond


def test_an_offset_before_the_log_skips_only_what_the_log_still_has() -> None:
    plan = planned(3, Whither.LATEST, first=10)
    assert counts(plan) == (0, 4)
    assert not plan.changes[0].beyond
    assert counts(planned(3, Whither.EARLIEST, first=10)) == (0, 0)


@pytest.mark.parametrize(("committed", "number", "expected"), [(9, 4, (5, 0)), (4, 9, (0, 5)), (0, 14, (0, 14))])
def test_inside_the_log_it_is_the_difference(committed: int, number: int, expected: tuple[int, int]) -> None:
    assert counts(planned(committed, Whither.OFFSET, number=number)) == expected
