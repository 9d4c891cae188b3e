"""Births in which a member of the quorum does not come up, told as the other stories are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from events import facts
from providers.handover import Handover
from tests.builders import a_document, a_zookeeper_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World


def _generations(world: World, node: str) -> list[int]:
    return sorted(vm.generation for vm in world.machines.vms.values() if vm.node == node)


def _disks(world: World, node: str) -> list[str]:
    return sorted(key for key in world.machines.volumes if key.startswith(f"{node}."))


def a_controller_vm_never_runs_at_the_birth(world: World) -> None:
    """Nothing is founded before: its VM, disk and address go by the cloud's word, and the next one founds with the
    others, which are not late for having waited."""
    world.machines.stillborn.add("controllers-a-0")
    world.declare(a_document())
    world.converge(ticks=900)
    assert (_generations(world, "controllers-a-0"), _generations(world, "controllers-b-0")) == ([2], [1])
    assert _disks(world, "controllers-a-0") == ["controllers-a-0.data.v2"]
    assert {i.planned.generation for i in world.view().brokers()} == {1}
    assert [r.type for r in world.history()].count("quorum.founded") == 1


def a_zookeeper_vm_never_runs_at_the_birth(world: World) -> None:
    world.machines.stillborn.add("zookeepers-a-0")
    world.declare(a_zookeeper_document())
    world.converge(ticks=900)
    assert (_generations(world, "zookeepers-a-0"), _generations(world, "zookeepers-b-0")) == ([2], [1])
    assert _disks(world, "zookeepers-a-0") == ["zookeepers-a-0.data.v2"]


def no_controller_runs_at_the_birth_where_old_vms_go_first(world: World) -> None:
    world.machines.handover = Handover.DELETE_FIRST
    world.machines.stillborn.update({"controllers-a-0", "controllers-b-0", "controllers-c-0"})
    world.declare(a_document())
    world.converge(ticks=900)
    assert {i.planned.generation for i in world.view().controllers()} == {2}


def a_controller_nobody_hears_of_at_the_birth(world: World) -> None:
    """The cloud says that it runs, and the quorum is founded with it; the other two lead without it. Its vote goes, its
    VM with the release of its address, and the next one joins with a disk of its own."""
    world.machines.mute.add("controllers-a-0")
    world.declare(a_document())
    world.converge(ticks=900)
    assert _generations(world, "controllers-a-0") == [2]
    assert _disks(world, "controllers-a-0") == ["controllers-a-0.data.v2"]


def a_zookeeper_server_nobody_hears_of_at_the_birth(world: World) -> None:
    world.machines.mute.add("zookeepers-a-0")
    world.declare(a_zookeeper_document())
    world.converge(ticks=900)
    assert _generations(world, "zookeepers-a-0") == [2]


def the_only_controller_is_not_heard_of_at_the_birth(world: World) -> None:
    """A quorum of one is founded with an agent that has spoken: nobody could lead without it."""
    world.machines.mute.add("controllers-a-0")
    world.declare(a_document(controllers=1))
    world.converge(ticks=900)
    kinds = [r.type for r in world.history()]
    assert kinds.index("retire.completed") < kinds.index("quorum.founded")
    assert _generations(world, "controllers-a-0") == [2]


def two_controller_vms_in_a_row_never_run_at_the_birth(world: World) -> None:
    """The second in a row is the last one made without a person."""
    for _ in range(2):
        world.machines.stillborn.add("controllers-a-0")
        if world.view().document is None:
            world.declare(a_document())
        world.run(until=lambda w: "controllers-a-0" not in w.machines.stillborn, ticks=200)
    world.run(until=lambda w: _is_blocked(w, "ReplacementFailed"), ticks=400)
    assert world.view().quorum.founding is None
    world.person(facts.ClusterResumed("another image"))
    world.converge(ticks=400)
    assert _generations(world, "controllers-a-0") == [3]


def _is_blocked(world: World, reason: str) -> bool:
    blocked = world.view().conditions.get("Blocked")
    return blocked is not None and blocked.status and blocked.reason == reason


@pytest.mark.parametrize(
    "scenario",
    [
        a_controller_vm_never_runs_at_the_birth,
        a_zookeeper_vm_never_runs_at_the_birth,
        no_controller_runs_at_the_birth_where_old_vms_go_first,
        a_controller_nobody_hears_of_at_the_birth,
        a_zookeeper_server_nobody_hears_of_at_the_birth,
        the_only_controller_is_not_heard_of_at_the_birth,
        two_controller_vms_in_a_row_never_run_at_the_birth,
    ],
    ids=lambda s: s.__name__,
)
def test_the_story_of_a_founding_is_told_as_recorded(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
