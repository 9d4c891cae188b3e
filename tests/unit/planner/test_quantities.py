"""Bytes as people say them, and long lists cut short."""

import pytest

from planner.quantities import human_bytes, named


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (12 * 1024**3, "12.0 GiB"),
        (5000 * 1024**5, "5000.0 PiB"),
    ],
)
def test_bytes(count: float, words: str) -> None:
    assert human_bytes(count) == words


def test_a_long_list_is_cut_and_says_how_much_is_left() -> None:
    assert named(["a", "b", "c"]) == "a, b, c"
    assert named(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
