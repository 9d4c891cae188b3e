"""The stories of brokers that are there and do not serve, told and compared as those of rolls (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.cluster.lifecycle import Phase
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World

UNHEALTHY = "brokers-b-0.g1"
LOSS_GRACE_S = 300


def _grown(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _watch(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.disturbed()
        world.tick()


def _types(world: World) -> list[str]:
    return [r.type for r in world.history()]


def _cures(world: World) -> list[tuple[str, str]]:
    return [(r.data["finding"], r.data["cure"]) for r in world.history() if r.type == "healing.requested"]


def _serves(world: World, node: str) -> bool:
    return all(world.kafka.serves(i.service_id) for i in world.view().of_node(node))


def frozen_broker_is_restarted(world: World) -> None:
    """It runs by its agent's word and is fenced: told after a minute, started anew after two."""
    _grown(world)
    world.machines.breakdowns.freeze(world.machines, UNHEALTHY)
    _watch(world, 240)
    assert _cures(world) == [("registration_wrong", "restart")]
    assert _types(world).count("restart.completed") == 1
    assert _serves(world, "brokers-b-0")


def broker_that_cannot_start_gets_a_new_vm(world: World) -> None:
    """It ends again and again for as long as a VM may be gone; another one serves and takes over what it held."""
    _grown(world)
    world.machines.breakdowns.loop(world.machines, UNHEALTHY)
    _watch(world, 700)
    assert _cures(world) == [("crash_loop", "replace")]
    assert [i.key for i in world.view().of_node("brokers-b-0")] == ["brokers-b-0.g2"]
    assert world.is_converged()


def broker_that_cannot_start_hands_its_disk_over(world: World) -> None:
    """The same where brokers keep their disks: the same id, on the disk it had."""
    _grown(world, strategy="reattach", max_unavailable=1)
    world.machines.breakdowns.loop(world.machines, UNHEALTHY)
    _watch(world, 700)
    assert _cures(world) == [("crash_loop", "replace")]
    assert [(i.key, i.service_id) for i in world.view().of_node("brokers-b-0")] == [("brokers-b-0.g2", 1001)]
    assert world.is_converged()


def vm_nobody_hears_gets_a_successor_and_goes_after_the_split(world: World) -> None:
    """Neither Kafka nor Kedge hears it, and the cloud says that it runs: its successor is filled at once, and the VM is
    there until its agent says itself that the broker has stopped."""
    _grown(world)
    world.machines.breakdowns.freeze(world.machines, UNHEALTHY, silent=True)
    _watch(world, 900)
    assert _cures(world) == [("unreachable", "replace")]
    assert world.machines.vms[UNHEALTHY].alive
    assert world.kafka.serves(world.view().of_node("brokers-b-0")[-1].service_id)
    assert not any(p for p in world.kafka.partitions() if len(p.isr) < 3 or 1001 in p.replicas)
    world.machines.breakdowns.thaw(world.machines, UNHEALTHY)
    _watch(world, 120)
    assert UNHEALTHY not in world.machines.vms
    assert world.is_converged()


def while_a_vm_is_not_heard_another_that_is_lost_is_replaced(world: World) -> None:
    """What waits for proof that nobody can give holds no repair up."""
    _grown(world)
    world.machines.breakdowns.freeze(world.machines, UNHEALTHY, silent=True)
    _watch(world, 500)
    assert world.view().instances[UNHEALTHY].phase is Phase.FENCING
    world.machines.power_cut("brokers-c-0.g1")
    _watch(world, 500)
    assert world.kafka.serves(world.view().of_node("brokers-c-0")[-1].service_id)
    assert not any(p for p in world.kafka.partitions() if len(p.isr) < 3)
    assert world.machines.vms[UNHEALTHY].alive
    world.machines.breakdowns.thaw(world.machines, UNHEALTHY)
    _watch(world, 120)
    assert world.is_converged()


def vm_nobody_hears_keeps_its_disk_until_then(world: World) -> None:
    """Where brokers keep their disks: nobody can take it from a VM that nobody hears, so another one is filled."""
    _grown(world, strategy="reattach", max_unavailable=1)
    world.machines.breakdowns.freeze(world.machines, UNHEALTHY, silent=True)
    _watch(world, 900)
    assert world.machines.vms[UNHEALTHY].alive
    assert not any(p for p in world.kafka.partitions() if len(p.isr) < 3 or 1001 in p.replicas)
    world.machines.breakdowns.thaw(world.machines, UNHEALTHY)
    _watch(world, 120)
    assert UNHEALTHY not in world.machines.vms
    assert world.is_converged()


def handover_does_not_wait_for_ever_for_a_vm_nobody_hears(world: World) -> None:
    """The next VM of another rack stands there, and its gate waits for a broker that nobody hears: that one gets its
    successor first, then the node goes on whose next VM waits. The roll ends once the VM is heard and has stopped."""
    _grown(world, strategy="reattach", max_unavailable=1)
    world.machines.breakdowns.freeze(world.machines, UNHEALTHY, silent=True)
    for _ in range(4):
        world.tick()
    world.declare(a_document(strategy="reattach", max_unavailable=1, version="4.2.0"))
    world.run(until=lambda w: "brokers-a-0.g2" in w.view().instances, ticks=400)
    assert world.kafka.serves(1001), "the session is to end between the surge and the gate"
    _watch(world, 700)
    assert ("unreachable", "replace") in _cures(world)
    assert world.machines.vms[UNHEALTHY].alive
    assert world.kafka.serves(world.view().of_node("brokers-b-0")[-1].service_id)
    world.machines.breakdowns.thaw(world.machines, UNHEALTHY)
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}


def what_is_short_is_no_loss(world: World) -> None:
    """A freeze of 40 s, a reboot, a split shorter than the grace: nothing is done."""
    _grown(world)
    before = len(_types(world))
    world.machines.breakdowns.freeze(world.machines, UNHEALTHY)
    _watch(world, 40)
    world.machines.breakdowns.thaw(world.machines, UNHEALTHY)
    _watch(world, 60)
    world.machines.breakdowns.freeze(world.machines, UNHEALTHY, silent=True)
    _watch(world, LOSS_GRACE_S - 20)
    world.machines.breakdowns.thaw(world.machines, UNHEALTHY)
    _watch(world, 120)
    assert set(_types(world)[before:]) <= {"condition.changed"}


def split_of_the_control_plane_is_no_loss(world: World) -> None:
    """It hears neither Kafka nor any agent, for an hour; the cloud says that all VMs run."""
    _grown(world)
    before = len(_types(world))
    world.kafka.outage = True
    for vm in world.machines.vms.values():
        vm.deaf = True
    _watch(world, 3600)
    world.kafka.outage = False
    for vm in world.machines.vms.values():
        vm.deaf = False
    _watch(world, 60)
    assert set(_types(world)[before:]) <= {"condition.changed"}


def agents_that_nobody_hears_are_no_loss(world: World) -> None:
    """All agents are silent (an upgrade of theirs that went wrong), and Kafka serves."""
    _grown(world)
    before = len(_types(world))
    for vm in world.machines.vms.values():
        vm.deaf = True
    _watch(world, 900)
    assert set(_types(world)[before:]) <= {"condition.changed"}


def whole_rack_that_nobody_hears_is_told(world: World) -> None:
    """Both brokers of a rack are split off: one and the same cause, and nobody is replaced."""
    _grown(world, brokers=6)
    before = len(_types(world))
    for key in ("brokers-b-0.g1", "brokers-b-1.g1"):
        world.machines.breakdowns.freeze(world.machines, key, silent=True)
    _watch(world, 700)
    assert set(_types(world)[before:]) <= {"condition.changed"}
    away = world.view().conditions["BrokerAway"]
    assert (away.status, away.reason) == (True, "Unreachable")
    assert "does not serve either" in away.message


def two_that_end_again_and_again_are_told(world: World) -> None:
    """Two of three: what they share is wrong, and new VMs would have it, too."""
    _grown(world)
    before = len(_types(world))
    for key in (UNHEALTHY, "brokers-c-0.g1"):
        world.machines.breakdowns.loop(world.machines, key)
    _watch(world, 700)
    assert set(_types(world)[before:]) <= {"condition.changed"}
    away = world.view().conditions["BrokerAway"]
    assert (away.status, away.reason) == (True, "CrashLoop")
    assert "2 of 3 brokers are away in the same way" in away.message


STORIES = (
    frozen_broker_is_restarted,
    broker_that_cannot_start_gets_a_new_vm,
    broker_that_cannot_start_hands_its_disk_over,
    vm_nobody_hears_gets_a_successor_and_goes_after_the_split,
    while_a_vm_is_not_heard_another_that_is_lost_is_replaced,
    vm_nobody_hears_keeps_its_disk_until_then,
    handover_does_not_wait_for_ever_for_a_vm_nobody_hears,
    what_is_short_is_no_loss,
    split_of_the_control_plane_is_no_loss,
    agents_that_nobody_hears_are_no_loss,
    whole_rack_that_nobody_hears_is_told,
    two_that_end_again_and_again_are_told,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_breakdown_is_as_it_was(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)
