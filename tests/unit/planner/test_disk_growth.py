"""How much larger disks become that grow by themselves."""

from datetime import timedelta

import pytest

from planner.disk_growth import GrowthPolicy, cool_down, next_size

POLICY = GrowthPolicy(above=0.8, to_gib=500)


@pytest.mark.parametrize(
    ("gib", "fullest", "wanted"),
    [
        (100, 0.80, 100),  # not above it
        (100, 0.81, 130),  # the fullest is at 65 % then, so the next step is not due at once
        (100, 1.0, 160),
        (10, 0.81, 20),  # 10 GiB at least
        (480, 0.9, 500),  # the last step ends at the bound
        (500, 0.99, 500),
        (600, 0.99, 600),  # the spec's own size is above it
    ],
)
def test_a_step_leaves_room_and_never_goes_past_its_bound(gib: int, fullest: float, wanted: int) -> None:
    assert next_size(gib, fullest, POLICY) == wanted


def test_a_step_is_a_tenth_at_least() -> None:
    wide = GrowthPolicy(above=0.95, to_gib=65536)
    for gib in range(1, 4000, 37):
        size = next_size(gib, 0.951, wide)
        assert size >= gib * 1.1
        assert size % 10 == 0


def test_a_volume_of_a_cloud_is_changed_once_in_six_hours() -> None:
    assert cool_down("aws") == timedelta(hours=6) == cool_down("google")
    assert cool_down("local") < timedelta(hours=1)
