"""Whoever computes in a server keeps the others waiting a millisecond."""

import sys
from collections.abc import Iterator

import pytest

from controlplane.runtime.thread_switching import shorten_turns


@pytest.fixture
def turns_as_before() -> Iterator[float]:
    before = sys.getswitchinterval()
    yield before
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("turns_as_before")
def test_a_thread_that_computes_lets_others_in_after_a_millisecond() -> None:
    sys.setswitchinterval(0.005)
    shorten_turns()
    assert sys.getswitchinterval() == pytest.approx(0.001)
