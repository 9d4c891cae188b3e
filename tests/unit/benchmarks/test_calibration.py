"""A benchmark's seconds in units of a fixed piece of work."""

import pytest

from benchmarks.calibration import Calibration, calibrated


def test_a_machine_that_is_twice_as_slow_has_the_same_ratios() -> None:
    fast, slow = Calibration(0.2, 0.1), Calibration(0.4, 0.2)
    of_fast = fast.ratios(fast, wall_s=10.0, processor_s=8.0)
    of_slow = slow.ratios(slow, wall_s=20.0, processor_s=16.0)
    assert (of_fast["wall_ratio"], of_fast["processor_ratio"]) == (50.0, 80.0)
    assert {k: v for k, v in of_fast.items() if "ratio" in k} == {k: v for k, v in of_slow.items() if "ratio" in k}


def test_what_changes_meanwhile_counts_half() -> None:
    told = Calibration(0.1, 0.1).ratios(Calibration(0.3, 0.1), wall_s=2.0, processor_s=1.0)
    assert (told["wall_s"], told["wall_ratio"], told["processor_ratio"]) == (0.2, 10.0, pytest.approx(10.0))


def test_the_piece_of_work_is_done_and_timed() -> None:
    assert calibrated(rounds=1, values=1_000).wall_s > 0
