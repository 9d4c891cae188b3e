"""The stories of moves that hang, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from events import facts
from events.spec.model import KafkaClusterDocument
from planner.observed import TopicPartition
from tests.builders import a_document, a_zookeeper_document
from tests.sequences.recorded import assert_told_as_recorded, told_as_recorded_by
from tests.sim.drains import is_copying
from tests.sim.world import World

HEALING = "hungAfter: 20s"


def _moving(world: World, *, partitions: int = 12, **spec: object) -> None:
    """A version roll whose first drain copies."""
    world.declare(a_document(healing=HEALING))
    world.converge()
    world.kafka.create_topic("orders", partitions=partitions, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**{"healing": HEALING, "version": "4.2.0", **spec}))
    world.run(until=is_copying, ticks=100)


def _watch(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def _types(world: World) -> list[str]:
    return [r.type for r in world.history()]


def _cures(world: World) -> list[tuple[str, str]]:
    asked = [r for r in world.history() if r.type == "move_cure.requested"]
    return [(r.data["diagnosis"], r.data["cure"]) for r in asked]


def hung_by_a_dead_target(world: World) -> None:
    """Its VM runs, its broker does not come back: ours are taken back, the target gets a new VM, the roll goes on."""
    _moving(world)
    world.machines.vms["brokers-a-0.g2"].deaf = True
    world.machines.stop_process("brokers-a-0.g2")
    world.run(until=lambda w: bool(w.view().requests.to_replace), ticks=100)
    assert _cures(world) == [("TargetDead", "take_back")]
    world.run(until=lambda w: any(i.phase == "fencing" for i in w.view().alive()), ticks=100)
    world.machines.vms["brokers-a-0.g2"].deaf = False
    world.converge(ticks=900)
    assert "brokers-a-0.g3" in {i.key for i in world.view().alive()}
    assert not world.view().conditions["ReassignmentHung"].status


def hung_by_a_throttle(world: World) -> None:
    """More is written than the cap lets through: told with both rates, and a person raises the cap."""
    _moving(world, partitions=3, pause="false, throttleMibPerS: 4")
    for _ in range(40):
        world.kafka.write("orders", 13_000)
        world.tick()
    hung = world.view().conditions["ReassignmentHung"]
    assert (hung.status, hung.reason) == (True, "ThrottleTooLow")
    assert "raise rollout.throttleMibPerS" in hung.message
    world.declare(a_document(healing=HEALING, version="4.2.0", pause="false, throttleMibPerS: 64"))
    for _ in range(20):
        world.kafka.write("orders", 13_000)
        world.tick()
    assert _cures(world) == [("ThrottleTooLow", "raise_throttle")]
    world.converge(ticks=900)


def hung_by_a_controller(world: World) -> None:
    """All is in sync and the active controller ends nothing: it is started anew, and another one takes over."""
    _moving(world)
    world.kafka.hangs.controllers.add(world.kafka.snapshot().quorum.leader)
    world.run(until=lambda w: "move_cure.requested" in _types(w), ticks=100)
    assert _cures(world) == [("ControllerStuck", "restart_controller")]
    world.converge(ticks=900)
    assert _types(world).count("restart.completed") == 1


def hung_by_a_controller_in_zookeeper_mode(world: World) -> None:
    """The controller is a broker: it goes on running, and the brokers are made to elect another one."""
    world.declare(a_zookeeper_document(healing=HEALING))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_zookeeper_document(healing=HEALING, version="3.9.1", config=', metadataVersion: "3.8"'))
    world.run(until=is_copying, ticks=100)
    stuck = world.kafka.active
    world.kafka.hangs.controllers.add(stuck)
    world.run(until=lambda w: "controller_election.requested" in _types(w), ticks=100)
    assert _cures(world) == [("ControllerStuck", "reelect_controller")]
    _watch(world, 5)
    assert world.kafka.active != stuck
    world.kafka.hangs.controllers.clear()
    world.converge(ticks=900)
    assert _types(world).count("controller_election.requested") == 1
    assert "restart.requested" not in _types(world)
    assert world.kafka.under_min_isr_s == 0


def hung_for_no_known_reason(world: World) -> None:
    """A broker serves and fetches nothing: what hangs is taken back and planned anew, and copies once it fetches."""
    _moving(world)
    new = max(world.machines.broker_ids)
    world.kafka.hangs.fetchers.add(new)
    world.run(until=lambda w: "drain.plan_failed" in _types(w), ticks=100)
    assert _cures(world) == [("NoProgress", "take_back")]
    world.kafka.hangs.fetchers.clear()
    world.converge(ticks=900)


def _spreading(world: World, **spec: object) -> None:
    """A fourth broker gets its share; what is copied to it has begun."""
    world.declare(a_document(healing=HEALING))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**{"healing": HEALING, "brokers": 4, **spec}))
    world.run(until=lambda w: w.view().moves.rebalance is not None, ticks=200)


def rebalance_hung_by_a_frozen_broker(world: World) -> None:
    """The new broker serves and fetches nothing: the batch is taken back and planned anew, and copies once it
    fetches."""
    _spreading(world)
    world.kafka.hangs.fetchers.add(1003)
    world.run(until=lambda w: "rebalance.put_off" in _types(w), ticks=150)
    assert _cures(world) == [("NoProgress", "take_back")]
    world.kafka.hangs.fetchers.clear()
    world.converge(ticks=900)
    assert world.kafka_hosts(1003) > 0
    assert not world.view().conditions["ReassignmentHung"].status
    assert not world.kafka.snapshot().throttles.any


def rebalance_hung_by_a_dead_broker(world: World) -> None:
    """Its VM runs and its process does not come back: the batch is taken back, and the broker gets a new VM."""
    _spreading(world)
    world.run(until=lambda w: bool(w.kafka.snapshot().moving()), ticks=60)
    new = next(i.key for i in world.view().brokers() if i.service_id == 1003)
    world.machines.vms[new].deaf = True
    world.machines.stop_process(new)
    world.run(until=lambda w: bool(w.view().requests.to_replace), ticks=150)
    assert _cures(world) == [("TargetDead", "take_back")]
    world.machines.vms[new].deaf = False
    world.converge(ticks=900)
    assert not world.kafka.snapshot().throttles.any


def rebalance_hung_by_a_throttle(world: World) -> None:
    """More is written than the cap lets through: told, a person raises the cap, and the throttle of the batch in hand
    is raised at once."""
    slow = {"pause": "false, throttleMibPerS: 4"}
    _spreading(world, **slow)
    for _ in range(40):
        world.kafka.write("orders", 60_000)
        world.tick()
    hung = world.view().conditions["ReassignmentHung"]
    assert (hung.status, hung.reason) == (True, "ThrottleTooLow")
    assert "raise rollout.throttleMibPerS" in hung.message
    world.declare(a_document(healing=HEALING, brokers=4, pause="false, throttleMibPerS: 64"))
    for _ in range(20):
        world.kafka.write("orders", 60_000)
        world.tick()
    assert _cures(world)[0] == ("ThrottleTooLow", "raise_throttle")
    world.converge(ticks=900)


def rebalance_hung_by_a_controller(world: World) -> None:
    """All is in sync and the active controller ends nothing: another one takes over, and the batch ends."""
    _spreading(world)
    world.kafka.hangs.controllers.add(world.kafka.snapshot().quorum.leader)
    world.run(until=lambda w: "move_cure.requested" in _types(w), ticks=150)
    assert _cures(world) == [("ControllerStuck", "restart_controller")]
    world.converge(ticks=900)
    assert _types(world).count("restart.completed") == 1


def replicas_moved_apart_hang_on_a_frozen_broker(world: World) -> None:
    """Two replicas share a zone, and the broker one goes to fetches nothing: taken back, and begun anew once it
    does."""
    spec = {"healing": HEALING, "balance": "placement: {correct: true}", "brokers": 6}
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    racks = {i.service_id: i.planned.rack for i in world.view().brokers()}
    a, b = sorted(b for b, rack in racks.items() if rack == "a"), sorted(b for b, r in racks.items() if r == "b")
    world.kafka.put_by_hand = {TopicPartition("orders", 0): (*a, b[0])}
    world.kafka.reassign(world.kafka.put_by_hand)
    there = {b for b, rack in racks.items() if rack == "c"}
    world.disturbed()
    world.run(until=lambda w: not w.kafka.snapshot().moving(), ticks=60)
    world.kafka.hangs.fetchers |= there
    while "topics.replication_ended" not in _types(world):
        world.disturbed()
        world.tick()
    assert _cures(world) == [("NoProgress", "take_back")]
    world.kafka.hangs.fetchers.clear()
    _watch(world, 60)
    world.converge(ticks=900)
    together = world.kafka.snapshot().by_name[TopicPartition("orders", 0)]
    assert {racks[b] for b in together.replicas} == {"a", "b", "c"}


def foreign_move_is_told_and_cancelled(world: World) -> None:
    """Nobody's plan names it: after ten minutes it is told, and only a person has it taken back."""
    world.declare(a_document(healing=HEALING))
    world.converge()
    world.kafka.create_topic("orders", partitions=3, rf=2, min_isr=1, bytes_per_partition=50_000_000)
    p = next(p for p in world.kafka.partitions() if p.name == TopicPartition("orders", 0))
    other = next(b for b in (1000, 1001, 1002) if b not in p.replicas)
    world.kafka.hangs.fetchers.add(other)
    world.kafka.reassign({p.name: (*p.replicas, other)})
    _watch(world, 680)
    told = world.view().conditions["StrangersMoves"]
    assert told.status
    assert "orders-0 to" in told.message
    assert not _cures(world)
    world.person(facts.MovesCancelRequested(("orders-0",), "asked by anna: a tool that died"))
    _watch(world, 60)
    assert world.kafka.is_at_rest()
    assert not world.view().conditions["StrangersMoves"].status


def elections_in_vain_are_asked_for_less_and_less(world: World) -> None:
    """No controller gives leadership back: told after a while, asked again every five minutes at most, and each of the
    four controllers a day that are had for it is as idle as the one before."""
    world.declare(a_document(healing=HEALING))
    world.converge()
    world.kafka.create_topic("orders", partitions=3, rf=3, min_isr=2, bytes_per_partition=1_000_000)
    world.kafka.hangs.elections = True
    world.kafka.stop_broker(1000)
    world.kafka.start_broker(1000)
    effects = 0
    for _ in range(400):
        effects += world.tick()[1]
    assert effects <= 30
    assert [r.data["cure"] for r in world.history() if r.type == "election_cure.requested"] == [
        "restart_controller"
    ] * 4
    assert world.view().conditions["ElectionsFail"].status
    world.kafka.hangs.elections = False
    _watch(world, 320)
    assert world.kafka.is_at_rest()
    assert not world.view().conditions["ElectionsFail"].status


def elections_fail_until_another_controller_is_had(world: World) -> None:
    """One controller elects nobody: its process is started anew, and the leaders are home at once."""
    _leaders_away(world, a_document(healing=HEALING))
    world.run(until=lambda w: "election_cure.requested" in _types(w), ticks=100)
    world.converge()
    _watch(world, 10)
    assert world.kafka.is_at_rest()
    assert _types(world).count("restart.completed") == 1
    assert not world.view().conditions["ElectionsFail"].status


def elections_fail_until_another_broker_is_elected_the_controller(world: World) -> None:
    """The same in ZooKeeper mode, where nothing is restarted."""
    _leaders_away(world, a_zookeeper_document(healing=HEALING))
    world.run(until=lambda w: "election_cure.requested" in _types(w), ticks=100)
    _watch(world, 20)
    assert world.kafka.is_at_rest()
    assert _types(world).count("controller_election.requested") == 1
    assert "restart.requested" not in _types(world)
    assert not world.view().conditions["ElectionsFail"].status


def _leaders_away(world: World, document: KafkaClusterDocument) -> None:
    """A broker was away and is back, and the controller of then gives it no leader back."""
    world.declare(document)
    world.converge()
    world.kafka.create_topic("orders", partitions=3, rf=3, min_isr=2, bytes_per_partition=1_000_000)
    world.kafka.stop_broker(1002)
    world.kafka.start_broker(1002)
    world.kafka.hangs.electors.add(world.kafka.active)


STORIES = (
    hung_by_a_dead_target,
    hung_by_a_throttle,
    hung_by_a_controller,
    hung_for_no_known_reason,
    rebalance_hung_by_a_frozen_broker,
    rebalance_hung_by_a_dead_broker,
    rebalance_hung_by_a_throttle,
    rebalance_hung_by_a_controller,
    replicas_moved_apart_hang_on_a_frozen_broker,
    foreign_move_is_told_and_cancelled,
    elections_in_vain_are_asked_for_less_and_less,
    elections_fail_until_another_controller_is_had,
)

IN_ZOOKEEPER_MODE = (
    hung_by_a_controller_in_zookeeper_mode,
    elections_fail_until_another_broker_is_elected_the_controller,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_hung_moves_is_as_it_was(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)


@pytest.mark.parametrize("story", IN_ZOOKEEPER_MODE, ids=lambda story: story.__name__)
def test_the_story_of_a_stuck_controller_in_zookeeper_mode_is_as_it_was(story: Callable[[World], None]) -> None:
    told_as_recorded_by(World(version="3.8.1"), story)
