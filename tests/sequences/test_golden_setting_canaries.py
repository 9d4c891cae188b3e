"""The stories of a live value on its first broker: it stands it, falls, refuses, or somebody comes in between."""

from collections.abc import Callable

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.running_settings import SettingStage
from controlplane.converger.situation.situation import LOSS_GRACE_S
from events import facts
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.settingstories import born, running, told, with_settings
from tests.sim.crashes import Crashes
from tests.sim.world import World


def _is_watched(world: World) -> bool:
    change = world.view().settings.change
    return change is not None and change.stage is SettingStage.WATCH


def live_value_fells_its_canary(world: World) -> None:
    """It is taken back, no other broker ever has it, and nothing is tried again before a person says so."""
    born(world, "message.max.bytes: 1000000")
    world.declare(with_settings("message.max.bytes: 2000000, num.io.threads: 32", soak="60s"))
    world.run(until=_is_watched, ticks=60)
    assert running(world, "num.io.threads") == ["32", "8", "8"]
    world.machines.vms["brokers-a-0.g1"].deaf = True
    world.machines.stop_process("brokers-a-0.g1")
    world.run(until=lambda w: "settings.revert_requested" in {r.type for r in w.history()}, ticks=60)
    for _ in range(5):
        world.tick()
    assert world.kafka.settings.own[1000], "only the broker itself takes them back, and it is down"
    world.machines.vms["brokers-a-0.g1"].deaf = False
    world.run(until=lambda w: w.is_held(), ticks=100)
    assert running(world, "message.max.bytes") == ["1000000"] * 3
    assert running(world, "num.io.threads") == ["8", "8", "8"]
    assert not any(world.kafka.settings.own.values())
    assert not world.kafka.settings.defaults.keys() & {"message.max.bytes", "num.io.threads"}
    tried = len(world.kafka.settings.changes)
    for _ in range(30):
        world.tick()
    assert len(world.kafka.settings.changes) == tried
    assert told(world, "message.max.bytes") == {"1000000"}
    world.person(facts.ClusterResumed("its memory was another program's"))
    world.converge(ticks=200)
    assert running(world, "message.max.bytes") == ["2000000"] * 3


def live_value_refused_half_way(world: World) -> None:
    """The first broker takes a step of a pool of threads and refuses the next one: it goes back as it came."""
    born(world, "num.io.threads: 8")
    world.kafka.settings.refuses[(1000, "num.io.threads", "32")] = "not that many"
    world.declare(with_settings("num.io.threads: 32"))
    world.run(until=lambda w: w.is_held(), ticks=40)
    assert world.kafka.settings.changes == ["1000:num.io.threads=16", "1000:num.io.threads=None"]
    world.declare(with_settings("num.io.threads: 16"))
    world.converge(ticks=40)
    assert running(world, "num.io.threads") == ["16"] * 3


def spec_changes_while_a_live_value_is_watched(world: World) -> None:
    """The first broker gets the newer one, is watched anew, and keeps nothing of its own."""
    born(world, "message.max.bytes: 1000000")
    world.declare(with_settings("message.max.bytes: 2000000", soak="60s"))
    world.run(until=_is_watched, ticks=60)
    world.declare(with_settings("message.max.bytes: 3000000", soak="10s"))
    world.converge(ticks=60)
    assert running(world, "message.max.bytes") == ["3000000"] * 3
    assert not any(world.kafka.settings.own.values())


def spec_changes_while_a_live_value_is_taken_back(world: World) -> None:
    """What the first broker did not stand is off it before anybody tries the newer one."""
    born(world, "message.max.bytes: 1000000")
    world.declare(with_settings("message.max.bytes: 2000000", soak="60s"))
    world.run(until=_is_watched, ticks=60)
    world.machines.vms["brokers-a-0.g1"].deaf = True
    world.machines.stop_process("brokers-a-0.g1")
    world.run(until=lambda w: "settings.revert_requested" in {r.type for r in w.history()}, ticks=60)
    world.declare(with_settings("message.max.bytes: 3000000", soak="10s"))
    for _ in range(5):
        world.tick()
    world.machines.vms["brokers-a-0.g1"].deaf = False
    world.converge(ticks=200)
    kinds = [r.type for r in world.history()]
    assert kinds.count("settings.change_requested") == 2
    assert kinds.index("settings.reverted") < kinds.index("settings.changed")
    assert "settings.change_requested" in kinds[kinds.index("settings.reverted") :]
    assert running(world, "message.max.bytes") == ["3000000"] * 3
    assert not any(world.kafka.settings.own.values())


def vm_is_lost_while_a_live_value_is_watched(world: World) -> None:
    """Its successor is made with what is in force; what only one broker has is not on it."""
    born(world, "message.max.bytes: 1000000")
    world.declare(with_settings("message.max.bytes: 2000000", soak="600s"))
    world.run(until=_is_watched, ticks=60)
    world.machines.power_cut("brokers-b-0.g1")
    world.disturbed()
    for _ in range(int(LOSS_GRACE_S)):
        world.tick()
    world.run(until=lambda w: any(i.node == "brokers-b-0" for i in w.view().in_phase(Phase.LAUNCHED)), ticks=60)
    new = world.view().of_node("brokers-b-0")[-1]
    assert new.settings["message.max.bytes"] == "1000000"
    world.converge(ticks=900)
    assert running(world, "message.max.bytes") == ["2000000"] * 3
    assert told(world, "message.max.bytes") == {"2000000"}


def live_value_fells_the_second_rack(world: World) -> None:
    """The first broker stood it, that of the next rack does not: the third never has it, and the former spec takes it
    back from both."""
    born(world)
    world.declare(with_settings("num.io.threads: 32"))
    world.run(until=lambda w: running(w, "num.io.threads") == ["32", "32", "8"], ticks=60)
    world.machines.vms["brokers-b-0.g1"].deaf = True
    world.machines.stop_process("brokers-b-0.g1")
    for _ in range(20):
        world.tick()
    assert running(world, "num.io.threads") == ["32", "8"], "of the two that answer"
    assert "broker 1001 does not answer" in world.sentence()
    world.declare(with_settings("num.io.threads: 8"))
    world.machines.vms["brokers-b-0.g1"].deaf = False
    world.converge(ticks=200)
    assert running(world, "num.io.threads") == ["8"] * 3
    assert not any(world.kafka.settings.own.values())


def bad_live_canary(world: World) -> None:
    """As far as it is taken back from the first broker, which falls and comes back."""
    born(world, "message.max.bytes: 1000000")
    world.declare(with_settings("message.max.bytes: 2000000", soak="60s"))
    world.run(until=_is_watched, ticks=60)
    world.machines.vms["brokers-a-0.g1"].deaf = True
    world.machines.stop_process("brokers-a-0.g1")
    world.run(until=lambda w: "settings.revert_requested" in {r.type for r in w.history()}, ticks=60)
    world.machines.vms["brokers-a-0.g1"].deaf = False
    world.run(until=lambda w: w.is_held(), ticks=100)
    assert running(world, "message.max.bytes") == ["1000000"] * 3
    assert not any(world.kafka.settings.own.values())


@pytest.mark.parametrize(
    "scenario",
    [
        live_value_fells_its_canary,
        live_value_refused_half_way,
        live_value_fells_the_second_rack,
        spec_changes_while_a_live_value_is_watched,
        spec_changes_while_a_live_value_is_taken_back,
        vm_is_lost_while_a_live_value_is_watched,
    ],
    ids=lambda s: s.__name__,
)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


CRASHES = Crashes(bad_live_canary)
FIRST = next(n for n, name in enumerate(CRASHES.points, start=1) if "settings." in name)


@pytest.mark.parametrize("point", range(FIRST, len(CRASHES.points) + 1), ids=CRASHES.id_of)
def test_it_survives_a_crash_at(point: int) -> None:
    CRASHES.at(point)


def test_the_crashes_are_at_everything_a_revert_records_and_does() -> None:
    kinds = {name.removeprefix("before ").removeprefix("after ") for name in CRASHES.points[FIRST - 1 :]}
    begun = {"settings.change_requested", "settings.tried", "change_settings"}
    assert begun | {"settings.revert_requested", "settings.reverted"} <= kinds
