"""Each scenario tells a whole roll as a readable log, compared with the one on record: a changed story is a decision.

`KEDGE_GOLDEN=update python -m pytest tests/sequences` writes them anew; review the difference before it is committed.
"""

from collections.abc import Callable

import pytest

from controlplane.cluster.commands import CommandRefused
from controlplane.converger.situation.situation import LOSS_GRACE_S
from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.asking import confirm_loss
from tests.sim.drains import is_copying
from tests.sim.world import World


def _with_data(world: World, name: str = "orders") -> None:
    world.kafka.create_topic(name, partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _born(world: World) -> None:
    world.declare(a_document())
    world.converge()


def create(world: World) -> None:
    _born(world)


def _is_planned(world: World) -> bool:
    drain = world.view().moves.drain
    return drain is not None and bool(drain.plan.sha256)


def version_roll(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.converge()


def scale_up_and_down(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(brokers=6))
    world.converge()
    _with_data(world, "payments")
    world.declare(a_document(brokers=3))
    world.converge()


def spec_changes_mid_roll(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=100)
    world.declare(a_document(version="4.2.0", machine="medium"))
    world.converge(ticks=900)


def broker_of_another_rack_down(world: World) -> None:
    _born(world)
    _with_data(world)
    world.machines.vms["brokers-b-0.g1"].deaf = True
    world.machines.stop_process("brokers-b-0.g1")
    world.declare(a_document(version="4.2.0"))
    for _ in range(60):
        world.tick()
    world.machines.vms["brokers-b-0.g1"].deaf = False
    world.converge()


def new_broker_dies_mid_drain(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=is_copying, ticks=100)
    world.machines.power_cut("brokers-a-0.g2")
    world.converge(ticks=900)


def old_broker_dies_mid_drain(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=is_copying, ticks=100)
    world.machines.power_cut("brokers-a-0.g1")
    world.converge(ticks=900)


def vm_never_joins(world: World) -> None:
    _born(world)
    world.machines.stillborn.add("brokers-a-0")
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=900)


def no_broker_joins_at_the_birth(world: World) -> None:
    """Nobody is left to tell of the quorum: its controllers are in by their own word, and brokers are made anew."""
    world.machines.stillborn.update({"brokers-a-0", "brokers-b-0", "brokers-c-0"})
    world.declare(a_document())
    world.converge(ticks=900)
    assert {i.planned.generation for i in world.view().brokers()} == {2}
    assert {i.planned.generation for i in world.view().controllers()} == {1}


def topic_arrives_while_it_lingers(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: bool(w.view().in_phase("lingering")), ticks=100)  # type: ignore[arg-type]
    world.kafka.create_topic("late", partitions=8, rf=3, min_isr=2, bytes_per_partition=1_000_000)
    world.converge(ticks=600)


def topic_arrives_after_the_successor_has_died(world: World) -> None:
    """What came to the emptied broker has nowhere to go in its rack before the next successor is made: that comes
    first."""
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: any(i.phase == "lingering" for i in w.view().alive()), ticks=100)
    world.machines.power_cut("brokers-a-0.g2")
    _with_data(world, "payments")
    world.converge(ticks=900)


def successor_of_one_of_two_lost_brokers_dies(world: World) -> None:
    """The other one's drain waits for the next successor: it would empty both, and cannot name one that is dead."""
    world.declare(a_document(brokers=6))
    world.converge()
    world.kafka.create_topic("orders", partitions=24, rf=3, min_isr=1, bytes_per_partition=50_000_000)
    world.machines.power_cut("brokers-a-0.g1")
    world.disturbed()
    world.tick()
    world.machines.power_cut("brokers-b-0.g1")
    world.disturbed()
    world.run(until=lambda w: any(r.type == "drain.requested" for r in w.history()), ticks=900)
    world.machines.power_cut("brokers-b-0.g2")
    world.disturbed()
    world.converge(ticks=1500)
    assert [r.type for r in world.history()].count("drain.abandoned") == 1


def two_brokers_of_different_racks_lost_in_a_drain(world: World) -> None:
    """Who was emptied meanwhile is not stopped before both were made anew, rack by rack. They are filled together: no
    move of a partition that both held can end with one of them away. Their ids go last."""
    world.declare(a_document(brokers=6, healing="lostAfter: 30s"))
    world.converge()
    world.kafka.create_topic("orders", partitions=24, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.person(facts.NodeReplaceRequested("brokers-a-0.g1", "its disk clicks"))
    world.run(until=lambda w: any(r.type == "drain.batch_started" for r in w.history()), ticks=200)
    for key in ("brokers-b-0.g1", "brokers-c-0.g1"):
        world.machines.power_cut(key)
    world.disturbed()
    world.converge(ticks=900)
    stopped = [r.data["keys"] for r in world.history() if r.type == "instance.fence_requested"]
    assert stopped == [["brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1"]]


def somebody_reassigns_by_hand(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=_is_planned, ticks=100)
    moving = next(p for p in world.kafka.partitions() if 1000 in p.replicas)
    world.kafka.reassign({moving.name: tuple(reversed(moving.replicas))})
    world.converge()


def terraform_dies_half_way(world: World) -> None:
    _born(world)
    world.interrupt_runs = 2
    world.declare(a_document(brokers=6))
    world.converge()


def pause_and_resume(world: World) -> None:
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=100)
    world.person(facts.ClusterPaused("lunch", None))
    for _ in range(60):
        world.tick()
    world.person(facts.ClusterResumed("back"))
    world.converge()


def abort_before_drain(world: World) -> None:
    """The successor has joined, nothing is drained yet: it is taken back, and the old spec then needs no roll."""
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: "brokers-a-0.g2" in w.machines.vms, ticks=100)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert sorted(i.key for i in world.view().brokers()) == ["brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1"]
    world.declare(a_document(version="4.1.1"))
    world.hold()
    world.person(facts.ClusterResumed("the old version it is"))
    world.converge()


def abort_mid_drain(world: World) -> None:
    """What is being drained is finished; the cluster rests in two versions, and goes on when told to."""
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=is_copying, ticks=100)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert sorted(i.key for i in world.view().brokers()) == ["brokers-a-0.g2", "brokers-b-0.g1", "brokers-c-0.g1"]
    world.person(facts.ClusterResumed("go on"))
    world.converge()


def abort_with_data_on_the_successor(world: World) -> None:
    """A topic was put on the successor before its predecessor was drained: it is drained back before it goes."""
    _born(world)
    _with_data(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: w.kafka.is_running(1003), ticks=100)
    world.kafka.create_topic("late", partitions=8, rf=3, min_isr=2, bytes_per_partition=1_000_000)
    assert any(1003 in p.replicas for p in world.kafka.partitions())
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert sorted(i.service_id for i in world.view().brokers()) == [1000, 1001, 1002]
    world.person(facts.ClusterResumed("go on"))
    world.converge()


def abort_before_handover(world: World) -> None:
    """The controller's successor waits for its node's volume: it is retired and the old one never stops."""
    _born(world)
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: "controllers-b-0.g2" in w.machines.vms, ticks=300)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert "controllers-b-0.g1" in world.machines.vms
    assert "controllers-b-0.g2" not in world.machines.vms
    world.person(facts.ClusterResumed("go on"))
    world.converge()


def one_controller_is_handed_over(world: World) -> None:
    """Nobody stands in for it: metadata cannot change for the while that the plan warned of."""
    world.declare(a_document(controllers=1))
    world.converge()
    _with_data(world)
    world.declare(a_document(controllers=1, version="4.2.0"))
    world.converge()


def two_racks_vanish_from_the_listing(world: World) -> None:
    """Not believed: nothing is recorded and nothing is done until the listing shows them again."""
    _born(world)
    _with_data(world)
    absent = [vm for key, vm in world.machines.vms.items() if "-a-" in key or "-b-" in key]
    before = world.store.head()
    for vm in absent:
        vm.alive = False
    for _ in range(int(LOSS_GRACE_S) + 30):
        world.tick()
    recorded = [e.type for e in world.store.read_all(before)]
    assert set(recorded) <= {"condition.changed", "losses.doubted"}
    for vm in absent:
        vm.alive = True
    world.run(until=lambda w: w.is_converged(), ticks=10)
    world.settle()


def two_racks_are_gone_and_confirmed(world: World) -> None:
    """The disks of the controllers outlive their VMs: with a person's word the quorum comes back, then the brokers."""
    _born(world)
    _with_data(world)
    for key in [k for k in world.machines.vms if "-a-" in k or "-b-" in k]:
        world.machines.power_cut(key)
    for _ in range(int(LOSS_GRACE_S) + 30):
        world.tick()
    assert not any(i.lost for i in world.view().alive())
    with pytest.raises(CommandRefused, match="are in doubt"):
        confirm_loss(world, "c")
    confirm_loss(world, "a", "b")
    world.converge(ticks=1500)
    assert {i.planned.generation for i in world.view().brokers() if i.planned.rack in "ab"} == {2}


def broker_lost_for_good(world: World) -> None:
    _born(world)
    _with_data(world)
    world.machines.power_cut("brokers-c-0.g1")
    for _ in range(int(LOSS_GRACE_S) + 10):
        world.tick()
    world.converge()


def controller_lost_for_good(world: World) -> None:
    _born(world)
    world.machines.power_cut("controllers-b-0.g1")
    for _ in range(int(LOSS_GRACE_S) + 10):
        world.tick()
    world.converge()


def delete_with_its_name(world: World) -> None:
    _born(world)
    world.person(facts.ClusterDeletionRequested("orders", "no longer needed"))
    world.run(until=lambda w: w.view().deleted, ticks=60)
    assert not world.machines.vms


def reattach_roll(world: World) -> None:
    reattach = {"strategy": "reattach", "max_unavailable": 1}
    world.declare(a_document(**reattach))
    world.converge()
    _with_data(world)
    world.declare(a_document(**reattach, version="4.2.0"))
    world.converge(ticks=600)
    assert world.kafka.bytes_moved == 0
    assert sorted(i.service_id for i in world.view().brokers()) == [1000, 1001, 1002]


SCENARIOS: tuple[Callable[[World], None], ...] = (
    create,
    version_roll,
    scale_up_and_down,
    spec_changes_mid_roll,
    broker_of_another_rack_down,
    new_broker_dies_mid_drain,
    old_broker_dies_mid_drain,
    vm_never_joins,
    no_broker_joins_at_the_birth,
    topic_arrives_while_it_lingers,
    topic_arrives_after_the_successor_has_died,
    successor_of_one_of_two_lost_brokers_dies,
    two_brokers_of_different_racks_lost_in_a_drain,
    somebody_reassigns_by_hand,
    terraform_dies_half_way,
    pause_and_resume,
    abort_before_drain,
    abort_mid_drain,
    abort_with_data_on_the_successor,
    abort_before_handover,
    one_controller_is_handed_over,
    two_racks_vanish_from_the_listing,
    two_racks_are_gone_and_confirmed,
    broker_lost_for_good,
    controller_lost_for_good,
    delete_with_its_name,
    reattach_roll,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
