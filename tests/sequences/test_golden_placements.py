"""The stories of replicas that are not where they should be, told and compared as those of rolls are."""

from collections import Counter
from collections.abc import Callable

import pytest

from controlplane.kafka.throttle import throttle_for
from planner.observed import TopicPartition
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.sweep import sweep
from tests.sim.world import World

SLOW = ", throttleMibPerS: 20"
SIZE = 50_000_000
CORRECT = "placement: {correct: true}"


def _born(world: World, balance: str = CORRECT, **spec: object) -> None:
    """Six brokers in three zones: 1000 and 1001 in a, 1002 and 1003 in b, 1004 and 1005 in c."""
    world.declare(a_document(brokers=6, throttle=SLOW, balance=balance, **spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=SIZE)


def _by_hand(
    world: World, *numbers: int, to: tuple[int, ...] = (1000, 1003, 1001), bytes_per_s: int | None = None
) -> None:
    """Somebody moves these partitions where two replicas share zone a."""
    names = [TopicPartition("orders", n) for n in numbers]
    if bytes_per_s is not None:
        before = {p.name: p.replicas for p in world.kafka.partitions()}
        world.kafka.set_throttle(throttle_for([(n, before[n], to) for n in names], bytes_per_s=bytes_per_s))
    world.kafka.reassign(dict.fromkeys(names, to))
    world.kafka.put_by_hand = dict.fromkeys(names, to)
    world.disturbed()


def _shared(world: World) -> list[str]:
    racks = {b: seen.rack for b, seen in world.kafka.snapshot().brokers.items()}
    return [str(p.name) for p in world.kafka.partitions() if len({racks.get(b) for b in p.replicas}) < len(p.replicas)]


def _told(world: World) -> list[str]:
    """What the condition was, change by change."""
    changes = [r.data for r in world.history() if r.type == "condition.changed" and r.data["type"] == "Misplaced"]
    return [str(data["reason"]) for data in changes]


def _all_apart(world: World, *, ticks: int = 400) -> None:
    """Left to itself it is as it should be, and nothing happens any more."""
    world.run(until=lambda w: not _shared(w) and w.is_converged(), ticks=ticks)
    for _ in range(65):
        world.tick()
    world.settle()
    assert not world.kafka.snapshot().throttles.any


def moved_by_hand_and_moved_back(world: World) -> None:
    """Seen while it runs, waited for, told by name; then put right in a throttled batch, a replica of each."""
    _born(world)
    moved_before = world.kafka.bytes_moved
    _by_hand(world, 0, 2, bytes_per_s=500_000)
    world.run(until=lambda w: _told(w) == ["MovedByHand"], ticks=80)
    assert not [r for r in world.history() if r.type == "topics.replication_requested"]
    world.run(until=lambda w: len(_shared(w)) == 2 and not w.kafka.snapshot().moving(), ticks=300)
    by_hand = world.kafka.bytes_moved - moved_before
    _all_apart(world)
    asked = [r for r in world.history() if r.type == "topics.replication_requested"]
    assert [r.data["cause"] for r in asked] == ["zones"]
    assert world.kafka.bytes_moved - moved_before - by_hand == pytest.approx(2 * SIZE), "one replica of each"
    assert _told(world)[-1] == "Free"


def left_where_it_is_but_told(world: World) -> None:
    """The default: nothing moves that nobody asked for."""
    _born(world, balance="")
    _by_hand(world, 0)
    world.run(until=lambda w: _told(w)[-1:] == ["SharedZone"], ticks=200)
    for _ in range(130):
        world.tick()
    world.settle()
    assert _shared(world) == ["orders-0"]
    world.declare(a_document(brokers=6, throttle=SLOW, balance=CORRECT))
    _all_apart(world)
    assert _told(world)[-1] == "Free"


def kept_in_place_daily_at_three(world: World) -> None:
    """A scheduled job: what comes to share a zone by day is moved apart at night."""
    _born(world, balance="placement: {correct: true, windows: [{start: '03:00', duration: 1h}]}")
    _by_hand(world, 0, 3)
    world.run(until=lambda w: _told(w)[-1:] == ["SharedZone"], ticks=300)
    assert _shared(world) == ["orders-0", "orders-3"]
    world.seconds = 3 * 3600 - 100
    _all_apart(world)
    began = next(r for r in world.history() if r.type == "topics.replication_requested")
    assert began.recorded_at.hour == 3


def kept_in_place_within_the_budget_of_a_day(world: World) -> None:
    """Two partitions of 700 MiB and a GiB a day: the second one waits for tomorrow."""
    _born(world, balance=f"perDayGib: 1, {CORRECT}")
    world.kafka.write("orders", 6 * 700_000)
    _by_hand(world, 0, 1)
    world.run(until=lambda w: len(_shared(w)) == 2 and not w.kafka.snapshot().moving(), ticks=200)
    world.run(until=lambda w: len(_shared(w)) == 1 and not w.kafka.snapshot().moving(), ticks=300)
    for _ in range(130):
        world.tick()
    assert len(_shared(world)) == 1
    world.seconds += 24 * 3600
    _all_apart(world)


def roll_goes_before_places(world: World) -> None:
    """A version roll is declared together with the wish: the roll is done first."""
    _born(world, balance="")
    _by_hand(world, 0, 2)
    world.run(until=lambda w: len(_shared(w)) == 2 and not w.kafka.snapshot().moving(), ticks=200)
    world.declare(a_document(brokers=6, version="4.2.0", throttle=SLOW, balance=CORRECT))
    world.run(until=lambda w: w.view().roll.converged == w.view().generation, ticks=1500)
    assert not [r for r in world.history() if r.type == "topics.replication_requested"]
    _all_apart(world)


def batch_waits_for_a_broker_that_dies(world: World) -> None:
    """The target of a running batch is lost: its moves are taken back, its VM is replaced, then it is done anew."""
    _born(world)
    _by_hand(world, 0)
    world.run(until=lambda w: w.view().topics.replication is not None, ticks=200)
    world.run(until=lambda w: bool(w.kafka.snapshot().moving()), ticks=20)
    (moving,) = world.kafka.snapshot().moving()
    victim = next(i for i in world.view().brokers() if i.service_id in moving.adding)
    world.machines.power_cut(victim.key)
    world.disturbed()
    world.run(until=lambda w: w.view().topics.replication is None, ticks=100)
    _all_apart(world, ticks=1500)
    assert not world.kafka.lost()


def replicas_of_a_broker_nobody_has(world: World) -> None:
    """Somebody unregistered a broker that held replicas, and its VM was never ours: they are made anew at once."""
    _born(world, balance="")
    world.kafka.add_broker(77, "b")
    _by_hand(world, 0, 1, to=(1000, 77, 1002))
    world.run(until=lambda w: not w.kafka.snapshot().moving(), ticks=100)
    for _ in range(65):
        world.tick()
    world.kafka.destroy_broker(77)
    world.kafka.unregister_broker(77)
    world.disturbed()
    world.run(until=lambda w: not any(77 in p.replicas for p in w.kafka.partitions()), ticks=300)
    _all_apart(world)
    asked = [r for r in world.history() if r.type == "topics.replication_requested"]
    assert [r.data["cause"] for r in asked] == ["gone"]


def roll_does_not_wait_for_a_broker_nobody_has(world: World) -> None:
    """A roll waits for replicas in sync, and those on broker 77 never will be: they are made anew in its midst."""
    _born(world, balance="")
    world.kafka.add_broker(77, "b")
    _by_hand(world, 0, 1, to=(1000, 77, 1004))
    world.run(until=lambda w: not w.kafka.snapshot().moving(), ticks=100)
    world.declare(a_document(brokers=6, version="4.2.0", throttle=SLOW))
    world.run(until=lambda w: w.view().moves.drain is not None, ticks=100)
    world.kafka.destroy_broker(77)
    world.kafka.unregister_broker(77)
    world.disturbed()
    _all_apart(world, ticks=1500)
    assert world.view().roll.converged == 2


def leaders_evened_by_order_alone(world: World) -> None:
    """Somebody puts one broker of each zone first in every list: lists are turned, not a byte is copied."""
    _born(world, balance="preferredLeaders: even")
    replicas = {p.name: p.replicas for p in world.kafka.partitions() if p.name.topic == "orders"}
    lists = {n: tuple(sorted(own)) for n, own in replicas.items()}
    moved_before = world.kafka.bytes_moved
    world.kafka.reassign(lists)
    world.kafka.put_by_hand = dict(lists)
    world.disturbed()
    assert _most_headed(world) > 2
    world.run(until=lambda w: _most_headed(w) == 1 and w.is_converged(), ticks=300)
    for _ in range(65):
        world.tick()
    world.settle()
    asked = [r for r in world.history() if r.type == "topics.replication_requested"]
    assert [(r.data["cause"], r.data["bytes"]) for r in asked] == [("leaders", 0)]
    assert world.kafka.bytes_moved == moved_before
    assert all(p.leader == p.replicas[0] for p in world.kafka.partitions())
    after = {p.name: p.replicas for p in world.kafka.partitions() if p.name.topic == "orders"}
    assert {n: set(own) for n, own in after.items()} == {n: set(own) for n, own in replicas.items()}


def _most_headed(world: World) -> int:
    """How many lists of the topic the busiest broker stands first in."""
    return max(Counter(p.replicas[0] for p in world.kafka.partitions() if p.name.topic == "orders").values())


STORIES = (
    moved_by_hand_and_moved_back,
    left_where_it_is_but_told,
    kept_in_place_daily_at_three,
    kept_in_place_within_the_budget_of_a_day,
    roll_goes_before_places,
    batch_waits_for_a_broker_that_dies,
    replicas_of_a_broker_nobody_has,
    roll_does_not_wait_for_a_broker_nobody_has,
    leaders_evened_by_order_alone,
)


@pytest.mark.parametrize("scenario", STORIES)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def _with_a_crash(crash_at: int) -> World:
    world = World(crash_at=crash_at)
    _born(world)
    world.points.crash_at = world.points.passed + crash_at
    _by_hand(world, 0, 2)
    world.run(until=lambda w: len(_shared(w)) == 2, ticks=200)
    _all_apart(world)
    return world


@pytest.mark.parametrize("crash_at", range(1, 13))
def test_a_crash_before_or_after_anything_it_does_changes_nothing(crash_at: int) -> None:
    world = _with_a_crash(crash_at)
    asked = [r for r in world.history() if r.type == "topics.replication_requested"]
    assert len(asked) == 1


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_crash_at_any_point_leaves_anything_behind() -> None:
    sweep("_with_a_crash, crash_at", range(1, 60), _with_a_crash)
