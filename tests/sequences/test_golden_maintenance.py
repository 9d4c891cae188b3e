"""The stories of hosts that a cloud announces to take down, told and compared as those of rolls are."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from agent.wire import PreemptionReport
from controlplane.cluster.lifecycle import Phase
from controlplane.converger.conditions.maintenance import MAINTENANCE
from providers.notices import MaintenanceNotice, NoticeKind
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.drains import drain_of, is_copying
from tests.sim.world import World


def _grown(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _watch(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def _announce(world: World, *keys: str, in_days: float | None = 7.0) -> None:
    at = None if in_days is None else world.clock() + timedelta(days=in_days)
    for key in keys:
        world.machines.announced[key] = MaintenanceNotice(NoticeKind.STOP, at, None, "instance-retirement")


def _asked(world: World) -> list[str]:
    return [r.data["key"] for r in world.history() if r.type == "node.replace_requested"]


def host_goes_down_in_a_week(world: World) -> None:
    """Its VM has a successor long before; the announcement goes with the VM, and the condition with it."""
    _grown(world)
    _announce(world, "brokers-b-0.g1")
    _watch(world, 600)
    world.converge()
    assert _asked(world) == ["brokers-b-0.g1"]
    assert "brokers-b-0.g2" in {i.key for i in world.view().alive()}
    assert not world.view().conditions[MAINTENANCE].status


def host_of_a_controller_goes_down(world: World) -> None:
    """A controller is handed over just the same, its address and its disk with it."""
    _grown(world)
    _announce(world, "controllers-a-0.g1")
    _watch(world, 600)
    assert "controllers-a-0.g2" in {i.key for i in world.view().alive()}
    assert world.is_converged()


def many_hosts_go_down_at_once(world: World) -> None:
    """One after the other, the nearest date first, and no more than the cures of a day; the rest is told."""
    _grown(world, healing="perDay: 2")
    _announce(world, "brokers-a-0.g1", in_days=3)
    _announce(world, "brokers-b-0.g1", in_days=2)
    _announce(world, "brokers-c-0.g1", in_days=5)
    _watch(world, 1200)
    assert _asked(world) == ["brokers-b-0.g1", "brokers-a-0.g1"]
    told = world.view().conditions[MAINTENANCE]
    assert (told.status, told.reason) == (True, "Waiting")
    assert "2 cures in a day are the most" in told.message


def maintenance_is_only_told_where_the_spec_says_so(world: World) -> None:
    """Nothing is done without asking; the condition names the VM and the date."""
    _grown(world, healing="maintenance: tell")
    _announce(world, "brokers-a-0.g1")
    _watch(world, 200)
    assert _asked(world) == []
    told = world.view().conditions[MAINTENANCE]
    assert (told.status, told.reason) == (True, "Waiting")
    assert "brokers-a-0.g1: stop not before" in told.message


def announcement_without_a_date_or_too_late_is_only_told(world: World) -> None:
    """A date that is past means that the cloud is at it."""
    _grown(world)
    _announce(world, "brokers-a-0.g1", in_days=None)
    _announce(world, "brokers-b-0.g1", in_days=-1)
    _watch(world, 200)
    assert _asked(world) == []
    assert "the cloud is at it" in world.view().conditions[MAINTENANCE].message


def _take_back(world: World, key: str, *, in_s: float) -> None:
    deadline = world.clock() + timedelta(seconds=in_s)
    notice = PreemptionReport(kind="preempt", deadline=deadline, since=world.clock(), words="spot terminate")
    world.machines.taken_back[key] = notice


def vm_with_little_data_is_taken_back(world: World) -> None:
    """Two minutes are enough: its successor has all of it, and it is gone before its date."""
    _grown(world)
    _take_back(world, "brokers-b-0.g1", in_s=120)
    _watch(world, 100)
    assert {i.key for i in world.view().alive() if i.node == "brokers-b-0"} == {"brokers-b-0.g2"}
    assert world.is_converged()


def vm_with_much_data_is_taken_back(world: World) -> None:
    """Its successor is begun at once; its broker stops in order before the cut, and what it had is made anew."""
    _grown(world)
    world.kafka.create_topic("payments", partitions=12, rf=3, min_isr=2, bytes_per_partition=2_000_000_000)
    _take_back(world, "brokers-b-0.g1", in_s=120)
    _watch(world, 60)
    assert _asked(world) == ["brokers-b-0.g1"]
    assert "brokers-b-0.g2" in {i.key for i in world.view().alive()}
    assert 1001 in world.kafka.snapshot().live_brokers()
    _watch(world, 40)
    assert 1001 not in world.kafka.snapshot().live_brokers()
    _watch(world, 20)
    world.machines.power_cut("brokers-b-0.g1")
    world.converge()
    assert {i.key for i in world.view().alive() if i.node == "brokers-b-0"} == {"brokers-b-0.g2"}


def vm_is_taken_back_while_another_one_is_drained(world: World) -> None:
    """Its successor is made beside the drain, which takes longer than that; nobody else is stopped meanwhile."""
    _grown(world, throttle=", throttleMibPerS: 30")
    world.kafka.create_topic("payments", partitions=12, rf=3, min_isr=2, bytes_per_partition=400_000_000)
    world.declare(a_document(throttle=", throttleMibPerS: 30", version="4.2.0"))
    world.run(until=is_copying, ticks=60)
    outgoing = drain_of(world)
    _watch(world, 5)
    _take_back(world, "brokers-b-0.g1", in_s=120)
    _watch(world, 60)
    assert _asked(world) == ["brokers-b-0.g1"]
    successor = world.view().instances["brokers-b-0.g2"]
    assert successor.phase is Phase.JOINED, "it was begun after the drain, which ends long after the date"
    assert drain_of(world).id == outgoing.id
    _watch(world, 60)
    world.machines.power_cut("brokers-b-0.g1")
    world.converge(ticks=2000)
    assert {i.key for i in world.view().alive() if i.node == "brokers-b-0"} == {"brokers-b-0.g2"}


STORIES = (
    vm_is_taken_back_while_another_one_is_drained,
    vm_with_little_data_is_taken_back,
    vm_with_much_data_is_taken_back,
    host_goes_down_in_a_week,
    host_of_a_controller_goes_down,
    many_hosts_go_down_at_once,
    maintenance_is_only_told_where_the_spec_says_so,
    announcement_without_a_date_or_too_late_is_only_told,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_host_that_goes_down_is_as_it_was(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)
