"""A lost state is made anew from what exists: nothing is booted, nothing deleted, and the run goes on from there."""

from dataclasses import replace

import pytest

from providers.base import InstanceState, RunKind
from providers.errors import NotImportable
from providers.tf.imports import import_step
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
from tests.terraform.conftest import Bench

pytestmark = pytest.mark.terraform

OLD = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
CONTROLLER = (
    instance("c-0"),
    volume("c-0", "meta"),
    address("c-0"),
    attachment("c-0.g1", "c-0.meta.v1"),
    binding("c-0", "c-0.g1"),
)
NEW = (instance("b-0", 2), replace(volume("b-0"), version=2), attachment("b-0.g2", "b-0.data.v2"))


def _lose_state(bench: Bench) -> None:
    state = bench.state()
    assert state.targets() == targets(resources(*OLD, *CONTROLLER))
    assert state.set_aside("lost")
    assert state.targets() == frozenset()


def test_a_surge_after_the_loss_creates_the_new_and_adopts_the_old(bench: Bench) -> None:
    stands = resources(*OLD, *CONTROLLER)
    bench.execute(surge(stands))
    pids = {key: bench.first_pid(key) for key in ("b-0.g1", "c-0.g1")}
    _lose_state(bench)
    wanted = resources(*OLD, *CONTROLLER, *NEW)
    adopting = replace(surge(wanted, only=targets(resources(*NEW)), intent="run-2"), adopts=stands)
    result = bench.execute(adopting)
    assert set(result.changed) == targets(resources(*NEW))
    assert {key: bench.first_pid(key) for key in pids} == pids
    assert bench.state().targets() == targets(wanted)
    assert bench.execute(adopting).changed == (), "the state knows all of it now"


def test_a_retire_after_the_loss_really_deletes_what_it_names(bench: Bench) -> None:
    stands = resources(*OLD, *CONTROLLER)
    bench.execute(surge(stands))
    _lose_state(bench)
    going = targets(resources(*OLD))
    bench.execute(replace(run(RunKind.RETIRE, resources(*CONTROLLER), deletes=going, intent="run-2"), adopts=stands))
    assert [i.key for i in bench.listing().instances] == ["c-0.g1"]
    assert [v.key for v in bench.listing().volumes] == ["c-0.meta.v1"]


def test_what_does_not_exist_is_not_made_by_adopting(bench: Bench) -> None:
    stands = resources(*OLD, *CONTROLLER)
    bench.execute(surge(stands))
    _lose_state(bench)
    bench.cloud.power_cut(PLACE, f"{UID}/b-0.g1")
    wanted = resources(*CONTROLLER, *NEW)
    adopting = replace(surge(wanted, only=targets(resources(*NEW)), intent="run-2"), adopts=stands)
    with pytest.raises(Exception, match=r"volume/b-0\.data\.v1"):
        bench.execute(adopting)
    kept = replace(adopting, resources=resources(*CONTROLLER, *NEW, volume("b-0")))
    bench.execute(kept)
    assert bench.vm("b-0.g1").state is InstanceState.GONE, "a dead VM is not booted again"
    assert "instance/b-0.g1" not in bench.state().targets()


def test_a_cloud_that_can_neither_adopt_nor_import_says_what_to_do() -> None:
    stands = resources(*OLD)
    cloud = FakeCloud()
    cloud.apply(surge(stands))
    with pytest.raises(NotImportable, match=r"does not know attachment/b-0\.g1\.data, which exists") as refused:
        import_step(replace(surge(stands, only=frozenset()), adopts=stands), None, cloud)
    assert "Put the state back" in refused.value.what_next
