"""How slowly producers may write while a disk is nearly full."""

import pytest

from planner.disk_protection import LEAST_BYTES_PER_S, is_near, producer_rate

GIB = 2**30


@pytest.mark.parametrize(("free_gib", "replicas"), [(25, 3), (25, 1), (400, 2)])
def test_what_is_free_lasts_a_day(free_gib: int, replicas: int) -> None:
    rate = producer_rate(free_gib * GIB, replicas)
    assert rate * replicas * 86400 == pytest.approx(free_gib * GIB, rel=1e-3)
    assert rate == int(rate)


def test_nobody_is_stopped_by_it() -> None:
    assert producer_rate(0, 3) == LEAST_BYTES_PER_S
    assert producer_rate(10 * GIB, 0) == producer_rate(10 * GIB, 1)


@pytest.mark.parametrize(
    ("share", "was", "near"), [(0.94, False, False), (0.95, False, True), (0.91, True, True), (0.89, True, False)]
)
def test_it_is_over_only_well_below_the_threshold(share: float, was: bool, near: bool) -> None:
    assert is_near(share, 0.95, was=was) is near
