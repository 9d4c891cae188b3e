"""The fake's own Terraform: it refuses and forgets like the real one, so that simulations mean something."""

from datetime import UTC, datetime, timedelta

import pytest

from providers.base import InstanceState, RunKind
from providers.errors import ResourceConflict, RunInterrupted, UnsafeChange
from providers.handover import Handover
from tests.fakes.cloud import FakeCloud
from tests.fakes.resources import (
    PLACE,
    UID,
    address,
    attachment,
    binding,
    instance,
    resources,
    run,
    surge,
    targets,
    volume,
)

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


OLD = (instance("c-0"), volume("c-0", "meta"), address("c-0"))
ON_OLD = (attachment("c-0.g1", "c-0.meta.v1"), binding("c-0", "c-0.g1"))
NEW, ON_NEW = instance("c-0", 2), (attachment("c-0.g2", "c-0.meta.v1"), binding("c-0", "c-0.g2"))


def test_where_the_old_vm_goes_first_only_the_run_that_makes_a_vm_gives_it_anything() -> None:
    cloud = FakeCloud(kind=Handover.DELETE_FIRST)
    cloud.apply(surge(resources(*OLD, *ON_OLD)))
    both = resources(*OLD, *ON_OLD, NEW)
    cloud.apply(surge(both, only=frozenset({"instance/c-0.g2"}), intent="run-2"))
    ties = {"attachment/c-0.g1.meta", "binding/c-0.g1"}
    cloud.apply(run(RunKind.RELEASE, both, deletes={*ties, "instance/c-0.g1"}, intent="run-3"))
    late = resources(OLD[1], OLD[2], NEW, *ON_NEW)
    with pytest.raises(ResourceConflict, match="when it is made"):
        cloud.apply(run(RunKind.BIND, late, creates={"attachment/c-0.g2.meta", "binding/c-0.g2"}, intent="run-4"))


def test_where_the_old_vm_goes_first_the_bind_makes_the_next_one() -> None:
    cloud = FakeCloud(kind=Handover.DELETE_FIRST)
    first = resources(*OLD, *ON_OLD)
    cloud.apply(surge(first))
    ties = {"attachment/c-0.g1.meta", "binding/c-0.g1"}
    cloud.apply(run(RunKind.RELEASE, first, deletes={*ties, "instance/c-0.g1"}, intent="run-2"))
    after = resources(OLD[1], OLD[2], NEW, *ON_NEW)
    cloud.apply(
        run(RunKind.BIND, after, creates=targets(after) - {"volume/c-0.meta.v1", "address/c-0"}, intent="run-3")
    )
    (vm,) = cloud.list_place(PLACE).instances
    assert (vm.key, vm.volumes, len(vm.addresses)) == ("c-0.g2", ("c-0.meta.v1",), 1)


def test_where_an_address_stays_no_other_vm_gets_it() -> None:
    cloud = FakeCloud(kind=Handover.NONE)
    both = resources(*OLD, NEW, *ON_OLD)
    cloud.apply(surge(both))
    cloud.apply(run(RunKind.RELEASE, both, deletes={"attachment/c-0.g1.meta", "binding/c-0.g1"}, intent="run-2"))
    with pytest.raises(ResourceConflict, match="stays with the VM"):
        cloud.apply(
            run(RunKind.BIND, resources(*OLD, NEW, *ON_NEW), creates={"attachment/c-0.g2.meta", "binding/c-0.g2"})
        )
