"""Each property can fail: one broken world per property and way to break it, told from all the others by its name."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.converger.tick.cluster_tick import new_events
from controlplane.converger.tick.report import Said
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Origin
from events.ids import ClusterUid
from planner.rollout.live_step import LiveStep
from tests.builders import a_document
from tests.changed_view import changed_view
from tests.sim.evidence import Violation
from tests.sim.properties import LONGEST_POSTPONED_S, PROPERTIES, judge
from tests.sim.vms import Vm
from tests.sim.world import NEIGHBOUR, UID, World


def _born(min_isr: int = 2) -> World:
    world = World()
    world.declare(a_document())
    world.converge()
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=min_isr, bytes_per_partition=50_000_000)
    for _ in range(3):
        world.tick()
    return world


def _lenient() -> World:
    """Its topic asks for one replica in sync: two brokers down take nothing below that."""
    return _born(min_isr=1)


def _record(world: World, *told: object, epoch: int | None = None) -> None:
    """Recorded by the converger, though it never decided it."""
    version = world.view().version
    events = new_events(cluster_stream(UID), version, told)
    origin = Origin("converger", epoch=world.epoch if epoch is None else epoch)
    world.store.append(cluster_stream(UID), events, expected_version=version, origin=origin)


# --- the broken worlds --------------------------------------------------------------------------------------------


def two_brokers_are_stopped(world: World) -> None:
    world.kafka.stop_broker(1001)
    world.kafka.stop_broker(1002)


def min_isr_changes_in_the_middle_of_a_roll(world: World) -> None:
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=100)
    gateway = world.converger._ports.kafka(world.view())
    gateway.change_settings(LiveStep({"min.insync.replicas": "1"}))


def records_are_lost(world: World) -> None:
    for broker in (1000, 1001, 1002):
        world.kafka.destroy_broker(broker)


def a_full_broker_is_deleted(world: World) -> None:
    world.machines.terminate(world.view(), "vm-brokers-a-0.g1")


def a_broker_is_stopped_while_another_is_down(world: World) -> None:
    world.machines.vms["brokers-b-0.g1"].deaf = True
    world.machines.stop_process("brokers-b-0.g1")
    for _ in range(12):
        world.tick()
    _record(world, facts.FenceRequested(("brokers-a-0.g1",), "on a whim"))


def brokers_of_two_racks_are_stopped(world: World) -> None:
    _record(world, facts.FenceRequested(("brokers-a-0.g1", "brokers-b-0.g1"), "on a whim"))


def a_broker_is_stopped_while_another_is_about_to_restart(world: World) -> None:
    _record(world, facts.RestartRequested("brokers-b-0.g1", 1, 2, {}, {}, canary=False, reason="on a whim"))
    _record(world, facts.FenceRequested(("brokers-a-0.g1",), "on a whim"))


def a_controller_is_stopped_without_a_majority(world: World) -> None:
    world.machines.vms["controllers-b-0.g1"].deaf = True
    world.machines.stop_process("controllers-b-0.g1")
    world.tick()  # in the moment it dies nobody can know it
    _record(world, facts.FenceRequested(("controllers-a-0.g1",), "on a whim"))


def an_old_server_records(world: World) -> None:
    world.start_server()
    _record(world, facts.ConditionChanged("Blocked", True, "Zombie", "woke up late"), epoch=int(world.epoch) - 1)


def an_old_server_moves_replicas(world: World) -> None:
    old = world.converger._ports.kafka(world.view())
    world.start_server()
    partition = world.kafka.partitions()[0]
    old.reassign({partition.name: tuple(reversed(partition.replicas))})


def an_old_server_does_not_ask_for_its_right(world: World) -> None:
    """Its clock stopped in the middle of a tick, and what it does next does not look at the lease again."""
    world.declare(a_document(version="4.2.0"))
    world.points.usurp = True
    right = world._right_to_act
    world._right_to_act = lambda own: own  # type: ignore[method-assign]
    world.start_server()
    for _ in range(3):
        world.tick()
    world._right_to_act = right  # type: ignore[method-assign]


def a_vm_is_made_twice(world: World) -> None:
    world.machines.evidence.created.append("brokers-a-0.g1")


def a_vm_is_there_that_nobody_asked_for(world: World) -> None:
    foreign = replace(world.machines.vms["brokers-a-0.g1"], generation=7, process=None)
    assert isinstance(foreign, Vm)
    world.machines.vms[foreign.key] = foreign


def a_broker_id_is_used_on_a_second_disk(world: World) -> None:
    world.machines.stop_process("brokers-a-0.g1")
    vm = world.machines.vms["brokers-a-0.g1"]
    document = world._document(UID, vm.key).services[0]
    disk = document.log_dirs[0].model_copy(update={"volume": "brokers-a-0.data.v9"})
    world.machines._start(vm, document.model_copy(update={"log_dirs": (disk,)}))


def it_does_something_at_rest(world: World) -> None:
    for _ in range(5):
        world.tick()
    decide = world.converger.tick

    def restless() -> object:
        report = decide()
        report.effects += 1
        return report

    world.converger.tick = restless  # type: ignore[method-assign,assignment]


def it_never_gets_there(world: World) -> None:
    world.declare(a_document(version="4.2.0"))
    world.machines.apply = lambda run, changes=None: None  # type: ignore[method-assign,misc]
    world.calm.since_tick -= 2000


def it_always_says_later(world: World) -> None:
    """A deadlock that tells, at every tick, that it is tried again in ten minutes."""
    _never_gets_there_for(world, 2000 + int(LONGEST_POSTPONED_S))
    world.calm.postponed_ticks = 2000 + int(LONGEST_POSTPONED_S)
    assert world.is_postponed()


def _never_gets_there_for(world: World, ticks: int) -> None:
    """It was left alone for so long, and names a time at which it tries again."""
    world.declare(a_document(version="4.2.0"))
    world.machines.apply = lambda run, changes=None: None  # type: ignore[method-assign,misc]
    world.calm.since_tick -= ticks
    words = world.converger.said

    def later(uid: ClusterUid) -> Said | None:
        said = words(uid)
        return said and replace(said, until=world.clock() + timedelta(minutes=10))

    world.converger.said = later  # type: ignore[method-assign]


def it_says_nothing(world: World) -> None:
    world.declare(a_document(version="4.2.0"))
    for _ in range(3):
        world.tick()
    said = world.converger._said
    said[UID] = replace(said[UID], sentence="")
    world.converger.tick_cluster = lambda uid: world.converger.settle(0)  # type: ignore[method-assign]


def it_speaks_no_more(world: World) -> None:
    """Its last word is old; P9 is not asked, as its neighbour's tick crashed the server."""
    world.declare(a_document(version="4.2.0"))
    for _ in range(3):
        world.tick()
    world.had_work = False
    world.last_tick = replace(world.last_tick, at=world.clock().replace(year=2027), crashed=True)
    judge(world)  # the next tick would put it right


def a_long_wait_has_no_condition(world: World) -> None:
    world.declare(a_document(version="4.2.0"))
    for _ in range(3):
        world.tick()
    view = world.view()
    since = world.clock().replace(year=2025)
    world.converger._fold.views[UID] = changed_view(view, progressed_at=since, conditions={})
    judge(world)  # the next tick would put it right


def a_neighbour_takes_its_turn(world: World) -> None:
    world.declare(a_document(version="4.2.0"))
    one = world.converger.tick_cluster
    world.converger.tick_cluster = lambda uid: one(NEIGHBOUR)  # type: ignore[method-assign]


BROKEN: tuple[tuple[str, Callable[[], World], Callable[[World], None]], ...] = (
    ("P1", _born, two_brokers_are_stopped),
    ("P1", _born, min_isr_changes_in_the_middle_of_a_roll),
    ("P2", _born, records_are_lost),
    ("P2", _born, a_full_broker_is_deleted),
    ("P3", _lenient, a_broker_is_stopped_while_another_is_down),
    ("P3", _lenient, brokers_of_two_racks_are_stopped),
    ("P3", _lenient, a_broker_is_stopped_while_another_is_about_to_restart),
    ("P3", _born, a_controller_is_stopped_without_a_majority),
    ("P4", _born, an_old_server_records),
    ("P4", _born, an_old_server_moves_replicas),
    ("P4", _born, an_old_server_does_not_ask_for_its_right),
    ("P5", _born, a_vm_is_made_twice),
    ("P5", _born, a_vm_is_there_that_nobody_asked_for),
    ("P5", _born, a_broker_id_is_used_on_a_second_disk),
    ("P6", _born, it_does_something_at_rest),
    ("P7", _born, it_never_gets_there),
    ("P7", _born, it_always_says_later),
    ("P8", _born, it_says_nothing),
    ("P8", _born, it_speaks_no_more),
    ("P8", _born, a_long_wait_has_no_condition),
    ("P9", _born, a_neighbour_takes_its_turn),
)


@pytest.mark.parametrize(("name", "built", "broken"), BROKEN, ids=lambda v: getattr(v, "__name__", v))
def test_a_broken_world_is_told_by_its_property(
    name: str, built: Callable[[], World], broken: Callable[[World], None]
) -> None:
    world = built()

    def break_it() -> None:
        broken(world)
        world.tick()

    with pytest.raises(Violation, match=rf"\A{name}: "):
        break_it()


@pytest.mark.parametrize("told", [True, False])
def test_a_pause_counts_for_nothing_where_the_server_told_how_long_it_is(told: bool) -> None:
    """Two seeds were called stuck though the next cure was three minutes away."""
    world = _born()
    _never_gets_there_for(world, 2000)
    world.calm.postponed_ticks = 2000 if told else 0
    if told:
        world.tick()
    else:
        with pytest.raises(Violation, match=r"\AP7: "):
            world.tick()


def test_every_property_can_fail_and_none_is_left_out() -> None:
    assert list(PROPERTIES) == [f"P{n}" for n in range(1, 10)]
    assert {name for name, _, _ in BROKEN} == set(PROPERTIES)
