"""The fake's own Terraform: it refuses and forgets like the real one, so that simulations mean something."""

from datetime import UTC, datetime, timedelta

import pytest

from providers.base import InstanceState, RunKind
from providers.errors import RunInterrupted, UnsafeChange
from tests.fakes.cloud import FakeCloud
from tests.fakes.resources import PLACE, UID, attachment, instance, resources, run, surge, targets, volume

WANTED = resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))


def test_killed_half_way_it_forgets_and_the_next_run_adopts() -> None:
    cloud = FakeCloud()
    with pytest.raises(RunInterrupted):
        cloud.apply(surge(WANTED), die_after=1)
    assert [i.key for i in cloud.list_place(PLACE).instances] == ["b-0.g1"]
    assert cloud.states[UID, PLACE] == {"volume/b-0.data.v1"}
    assert cloud.apply(surge(WANTED)) == ("attachment/b-0.g1.data", "instance/b-0.g1")
    assert len(cloud.list_place(PLACE).instances) == 1


def test_the_guard_is_the_real_one() -> None:
    cloud = FakeCloud()
    cloud.apply(surge(WANTED))
    with pytest.raises(UnsafeChange):
        cloud.apply(surge(resources(instance("b-1"))))
    assert cloud.applied == [surge(WANTED)]


def test_everything_named_is_deleted_in_order() -> None:
    cloud = FakeCloud()
    cloud.apply(surge(WANTED))
    assert set(cloud.apply(run(RunKind.DESTROY, WANTED, deletes=targets(WANTED)))) == targets(WANTED)
    assert cloud.states[UID, PLACE] == set()


def test_a_vm_takes_its_time_to_boot() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cloud = FakeCloud(now=lambda: now, boot_time=timedelta(seconds=5))
    cloud.apply(surge(WANTED))
    assert cloud.list_place(PLACE).instances[0].state is InstanceState.PENDING
    now += timedelta(seconds=5)
    assert cloud.list_place(PLACE).instances[0].state is InstanceState.RUNNING
