"""What the network does to calls of any cloud: answers that are lost, after their effect too, or never come."""

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.base import InstanceState
from providers.errors import CloudUnavailable
from tests.contract.cloud_harnesses import HARNESSES, Harness
from tests.fakes.clouds.faults import Fault, Faults
from tests.fakes.resources import instance, resources

CLOUDS = sorted(set(HARNESSES) - {"local", "fake"})

MANY = 99
"""More than any SDK tries."""


@pytest.fixture(params=CLOUDS)
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    with HARNESSES[request.param](tmp_path, monkeypatch) as made:
        yield made


def faults(harness: Harness) -> Faults:
    """Those before the fake behind it."""
    found = [getattr(f, "faults", None) for f in vars(harness).values()]
    (before,) = [f for f in found if isinstance(f, Faults)]
    return before


def test_a_connection_that_ends_without_an_answer_says_nothing_about_vms(harness: Harness) -> None:
    harness.create(resources(instance("n-0")))
    faults(harness).append(Fault("*", dropped=True, times=MANY))
    with pytest.raises(CloudUnavailable):
        harness.cloud.list_place(harness.place)
    faults(harness).clear()
    assert [i.state for i in harness.cloud.list_place(harness.place).instances] == [InstanceState.RUNNING]


def test_a_termination_is_asked_for_again_whichever_of_its_answers_was_lost(harness: Harness) -> None:
    for lost in itertools.count():
        harness.create(resources(instance(f"n-{lost}")))
        (vm,) = (i.id for i in harness.cloud.list_place(harness.place).instances)
        fault = Fault("*", done=True, dropped=True, skip=lost, times=MANY)
        faults(harness).append(fault)
        with contextlib.suppress(CloudUnavailable):
            harness.cloud.terminate(harness.place, vm)
        faults(harness).clear()
        harness.cloud.terminate(harness.place, vm)
        assert harness.cloud.describe(harness.place, [vm]) == {vm: InstanceState.GONE}
        if fault.times == MANY:
            break  # it took no more calls than were let pass
    assert lost > 0


@pytest.mark.soak
def test_an_answer_that_never_comes_is_waited_for_no_longer_than_a_call_may_take(harness: Harness) -> None:
    harness.create(resources(instance("n-0")))
    faults(harness).append(Fault("*", dropped=True, held_s=60, times=MANY))
    began = time.monotonic()
    with pytest.raises(CloudUnavailable):
        harness.cloud.list_place(harness.place)
    assert time.monotonic() - began < 30
