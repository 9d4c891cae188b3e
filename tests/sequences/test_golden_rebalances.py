"""The stories of rebalances, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.converger.situation.situation import LOSS_GRACE_S
from controlplane.converger.steps.moves.rebalances import REST_S
from events import facts
from planner.observed import TopicPartition
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.asking import ask_for_evacuation, ask_for_rebalance, ask_for_restart, cancel_rebalance
from tests.sim.sweep import sweep
from tests.sim.world import World

SLOW = ", throttleMibPerS: 20"
"""A batch then holds about 180 MiB for each broker that receives."""

SIZE = 50_000_000


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=24, rf=3, min_isr=2, bytes_per_partition=SIZE)


def _grown(world: World, brokers: int = 4, **spec: object) -> None:
    """The same with so many brokers; the rebalance is in hand when this returns."""
    _born(world, throttle=SLOW, **spec)
    world.declare(a_document(throttle=SLOW, brokers=brokers, **spec))
    world.run(until=lambda w: w.view().moves.rebalance is not None, ticks=200)


def _moving(world: World) -> None:
    world.run(until=lambda w: bool(w.kafka.snapshot().moving()), ticks=60)


def _held(world: World) -> dict[int, int]:
    return {i.service_id: world.kafka_hosts(i.service_id) for i in world.view().brokers()}


def _check_shared_out(world: World) -> None:
    """Two brokers share a rack, within 9 % of 12 replicas each; the racks of the others hold everything once."""
    first, second, *alone = sorted(_held(world).values())
    assert (first + second, alone) == (24, [24, 24])
    assert first >= 11


def _types(world: World) -> list[str]:
    return [r.type for r in world.history() if r.type.startswith("rebalance.")]


def added_broker_gets_its_share(world: World) -> None:
    """Once the roll is over; afterwards nothing moves any more, and no throttle is left."""
    _grown(world)
    world.converge(ticks=900)
    _check_shared_out(world)
    assert not world.kafka.snapshot().throttles.any
    assert _types(world).count("rebalance.batch_started") > 1


def added_brokers_stay_empty_where_the_spec_says_so(world: World) -> None:
    """Then a person asks; asked again, nothing is left to be moved."""
    _born(world, balance="after: never")
    world.declare(a_document(brokers=6, balance="after: never"))
    world.converge()
    assert [_held(world)[b] for b in (1003, 1004, 1005)] == [0, 0, 0]
    ask_for_rebalance(world)
    world.converge(ticks=200)
    assert set(_held(world).values()) <= {11, 12, 13}, "the bands are 9 % around the mean"
    ask_for_rebalance(world, "once more")
    world.converge(ticks=60)
    assert _types(world)[-2:] == ["rebalance.requested", "rebalance.completed"]


def roll_goes_first(world: World) -> None:
    """The batch in hand is seen through; the roll changes the brokers, so the rest is planned anew."""
    _grown(world)
    _moving(world)
    world.declare(a_document(brokers=4, version="4.2.0"))
    world.converge(ticks=1200)
    kinds = [r.type for r in world.history()]
    assert kinds.index("rebalance.put_off") > kinds.index("drain.requested")
    assert _types(world)[-1] == "rebalance.completed"
    _check_shared_out(world)


def restart_goes_between_batches(world: World) -> None:
    """The plan holds: it goes on where it was."""
    _grown(world)
    _moving(world)
    ask_for_restart(world, "brokers-b-0.g1")
    world.converge(ticks=1200)
    assert "rebalance.put_off" not in _types(world)
    assert _types(world).count("rebalance.planned") == 1


def added_broker_dies_while_it_receives(world: World) -> None:
    """Moves to it are taken back, its VM is replaced, and the successor gets the share."""
    _grown(world)
    _moving(world)
    world.machines.power_cut("brokers-a-1.g1")
    world.disturbed()
    for _ in range(int(LOSS_GRACE_S)):
        world.tick()
    world.converge(ticks=1500)
    assert [i.key for i in world.view().of_node("brokers-a-1")] == ["brokers-a-1.g2"]
    _check_shared_out(world)


def giving_broker_dies(world: World) -> None:
    """It is replaced first; its successor's replicas are where the plan does not know them, so it is made anew."""
    _grown(world)
    _moving(world)
    world.machines.power_cut("brokers-b-0.g1")
    world.declare(a_document(brokers=4))
    for _ in range(int(LOSS_GRACE_S)):
        world.tick()
    world.converge(ticks=900)
    _check_shared_out(world)


def _the_only_copies_move(world: World) -> None:
    """Three of six brokers are empty, one of the others has a topic without second copies, and that begins to move."""
    cured = {"balance": "after: never", "healing": "perDay: 40, lostAfter: 60s"}
    _born(world, throttle=SLOW, **cured)
    world.declare(a_document(throttle=SLOW, brokers=6, **cured))
    world.converge()
    world.kafka.create_topic("heap", partitions=6, rf=1, min_isr=1, bytes_per_partition=900_000_000)
    world.kafka.reassign({TopicPartition("heap", n): (1001,) for n in range(6)})
    world.disturbed()
    world.run(until=lambda w: not w.kafka.snapshot().moving(), ticks=400)
    ask_for_rebalance(world)
    world.run(until=lambda w: any(p.name.topic == "heap" for p in w.kafka.snapshot().moving()), ticks=200)
    for _ in range(3):
        world.tick()


def source_of_the_only_copy_freezes(world: World) -> None:
    """Nothing can be copied before it serves again, and a fresh process is what brings it back."""
    _the_only_copies_move(world)
    world.machines.breakdowns.freeze(world.machines, "brokers-b-0.g1")
    world.disturbed()
    world.converge(ticks=3000)
    assert world.view().instances["brokers-b-0.g1"].start.count == 2
    assert _types(world)[-1] == "rebalance.completed"


def target_of_the_only_copy_gets_a_new_vm(world: World) -> None:
    """Its moves are taken back at once: nobody needs them, and the drain would wait for them."""
    _the_only_copies_move(world)
    (target,) = {b for p in world.kafka.snapshot().moving() if p.name.topic == "heap" for b in p.adding}
    key = next(i.key for i in world.view().brokers() if i.service_id == target)
    world.machines.breakdowns.loop(world.machines, key)
    world.disturbed()
    began = world.seconds
    world.run(until=lambda w: key not in w.view().instances or w.view().instances[key].phase == "retired", ticks=600)
    assert world.seconds - began < 200
    world.converge(ticks=2000)
    assert "move_cure.requested" not in [r.type for r in world.history()]


def rebalance_is_cancelled(world: World) -> None:
    """What runs ends, nothing more begins, and what was moved stays."""
    _grown(world)
    _moving(world)
    cancel_rebalance(world)
    world.converge(ticks=400)
    assert 0 < _held(world)[1003] < 12
    assert _types(world)[-1] == "rebalance.abandoned"
    assert not world.kafka.snapshot().throttles.any


def rebalance_is_paused(world: World) -> None:
    """The batch in hand ends; the next one waits for the resume."""
    _grown(world)
    _moving(world)
    world.person(facts.ClusterPaused("lunch", None))
    world.run(until=lambda w: w.sentence().startswith("paused"), ticks=400)
    assert _types(world).count("rebalance.batch_started") == 1
    world.person(facts.ClusterResumed("back"))
    world.converge(ticks=900)
    assert _types(world)[-1] == "rebalance.completed"


def rebalance_is_aborted(world: World) -> None:
    _grown(world)
    _moving(world)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold(ticks=400)
    assert world.view().moves.rebalance is None
    world.person(facts.ClusterResumed("go on"))
    world.converge(ticks=60)
    assert _types(world)[-1] == "rebalance.abandoned"


def evacuation_goes_first(world: World) -> None:
    """A broker that is to be empty gets nothing of what was planned for it."""
    _grown(world, brokers=6)
    _moving(world)
    ask_for_evacuation(world, "brokers-a-1.g1", "strange noises")
    world.converge(ticks=2500)
    broker = world.view().instances["brokers-a-1.g1"].service_id
    assert _held(world)[broker] == 0
    assert _types(world)[-1] == "rebalance.completed"


def somebody_moves_what_was_planned(world: World) -> None:
    """A foreign reassignment is waited for, and what it changed is planned anew."""
    _born(world, throttle=SLOW, balance="after: never")
    world.declare(a_document(throttle=SLOW, brokers=6, balance="after: never"))
    world.converge()
    ask_for_rebalance(world)
    world.run(until=lambda w: "rebalance.planned" in _types(w), ticks=60)
    world.kafka.reassign({TopicPartition("orders", n): (1003, 1004, 1005) for n in range(24)})
    world.disturbed()
    world.converge(ticks=3000)
    assert set(_held(world).values()) <= {11, 12, 13}, "the bands are 9 % around the mean"


def day_has_a_budget(world: World) -> None:
    """No batch begins that would exceed it; it goes on the day after."""
    _born(world, throttle=SLOW, balance="after: never")
    world.declare(a_document(throttle=SLOW, brokers=4, balance="after: never"))
    world.converge()
    ask_for_rebalance(world, per_day_bytes=290_000_000)
    world.run(until=lambda w: "a day are begun" in w.sentence(), ticks=600)
    assert _types(world).count("rebalance.batch_started") == 1
    world.seconds += 24 * 3600
    world.disturbed()
    world.run(until=lambda w: _types(w).count("rebalance.batch_started") == 2, ticks=60)


def _asked_onto(world: World, *targets: int) -> None:
    """Three of six brokers are empty; a person chose some of those."""
    _born(world, throttle=SLOW, balance="after: never")
    world.declare(a_document(throttle=SLOW, brokers=6, balance="after: never"))
    world.converge()
    ask_for_rebalance(world, targets=targets)


def _nobody_else_receives(world: World, *targets: int) -> bool:
    """Asked at every tick: what is being copied goes to those alone, and the other empty broker stays empty."""
    goes_to = {b for p in world.kafka.snapshot().moving() for b in p.adding}
    assert goes_to <= set(targets)
    assert world.kafka_hosts(1005) == 0
    return world.view().moves.rebalance is None


def chosen_brokers_alone_receive(world: World) -> None:
    """Up to their share, from the others of their racks; asked again, there is nothing to do."""
    _asked_onto(world, 1003, 1004)
    world.run(until=lambda w: _nobody_else_receives(w, 1003, 1004), ticks=900)
    assert _held(world) == {1000: 13, 1001: 13, 1002: 24, 1003: 11, 1004: 11, 1005: 0}
    assert _types(world)[-1] == "rebalance.completed"
    ask_for_rebalance(world, "once more", targets=(1003, 1004))
    world.converge(ticks=60)
    assert _types(world)[-2:] == ["rebalance.requested", "rebalance.completed"]


def chosen_broker_dies_while_it_receives(world: World) -> None:
    """Its moves are taken back. Its successor gets what it held and no more: nobody chose that one."""
    _asked_onto(world, 1003, 1004)
    world.run(until=lambda w: _types(w).count("rebalance.batch_started") == 2, ticks=60)
    world.run(until=lambda w: any(1004 in p.adding for p in w.kafka.snapshot().moving()), ticks=20)
    had = sum(1004 in p.replicas and 1004 not in p.adding for p in world.kafka.partitions())
    assert had > 0
    world.machines.power_cut("brokers-b-1.g1")
    world.disturbed()
    world.run(until=lambda w: len(w.view().of_node("brokers-b-1")) > 1, ticks=int(LOSS_GRACE_S) + 60)
    successor = world.view().instances["brokers-b-1.g2"].service_id
    world.run(until=lambda w: w.view().moves.rebalance is None, ticks=1500)
    world.converge(ticks=200)
    held = _held(world)
    assert (held[1003], held[1005], held[1002]) == (11, 0, 24)
    assert (held[1001], held[successor]) == (24 - had, had)
    assert _types(world)[-1] == "rebalance.completed"
    assert not world.kafka.snapshot().throttles.any


def no_chosen_broker_is_left(world: World) -> None:
    """Then it ends: nobody said that others may receive."""
    _asked_onto(world, 1003)
    _moving(world)
    world.machines.power_cut("brokers-a-1.g1")
    world.disturbed()
    for _ in range(int(LOSS_GRACE_S)):
        world.tick()
    world.converge(ticks=900)
    assert _types(world)[-1] == "rebalance.abandoned"
    held = _held(world)
    assert [held[b] for b in (1001, 1002, 1004, 1005)] == [24, 24, 0, 0]


def cluster_is_kept_balanced(world: World) -> None:
    """At rest it looks by itself; what cannot be spread better sets nothing in motion again."""
    _born(world, balance="continuous: true")
    world.declare(a_document(brokers=4, balance="continuous: true"))
    world.converge(ticks=300)
    done = _types(world)
    for _ in range(3):
        world.seconds += REST_S + 1
        world.disturbed()
        world.converge(ticks=200)
    assert _types(world) == done, "an uneven number of brokers a rack cannot be helped"
    world.kafka.create_topic("heap", partitions=6, rf=1, min_isr=1, bytes_per_partition=900_000_000)
    world.kafka.reassign({TopicPartition("heap", n): (1001,) for n in range(6)})
    world.disturbed()
    world.run(until=lambda w: not w.kafka.snapshot().moving(), ticks=200)
    world.seconds += REST_S + 1
    world.disturbed()
    world.run(until=lambda w: len(_types(w)) > len(done), ticks=200)
    world.converge(ticks=900)
    assert _types(world)[len(done)] == "rebalance.requested"
    again = _types(world)
    world.seconds += REST_S + 1
    world.disturbed()
    world.converge(ticks=200)
    assert _types(world) == again


SCENARIOS: tuple[Callable[[World], None], ...] = (
    added_broker_gets_its_share,
    added_brokers_stay_empty_where_the_spec_says_so,
    roll_goes_first,
    restart_goes_between_batches,
    added_broker_dies_while_it_receives,
    giving_broker_dies,
    source_of_the_only_copy_freezes,
    target_of_the_only_copy_gets_a_new_vm,
    rebalance_is_cancelled,
    rebalance_is_paused,
    rebalance_is_aborted,
    evacuation_goes_first,
    somebody_moves_what_was_planned,
    day_has_a_budget,
    chosen_brokers_alone_receive,
    chosen_broker_dies_while_it_receives,
    no_chosen_broker_is_left,
    cluster_is_kept_balanced,
)


def _crash_points(story: Callable[[World], None], *, all_of_them: bool) -> list[tuple[int, str]]:
    """Before and after every append and effect from the end of the roll on; by default the first and last of a kind."""
    world = World()
    story(world)
    names = world.points.names
    begin = max(n for n, name in enumerate(names) if name.startswith("before recycle.completed"))
    points = [(n, name) for n, name in enumerate(names, start=1) if n > begin]
    if all_of_them:
        return points
    chosen: dict[str, list[tuple[int, str]]] = {}
    for point in points:
        chosen.setdefault(point[1], []).append(point)
    return sorted({p for there in chosen.values() for p in (there[0], there[-1])})


CRASHES = _crash_points(added_broker_gets_its_share, all_of_them=False)


@pytest.mark.parametrize(("point", "name"), CRASHES, ids=str)
def test_a_rebalance_survives_a_crash_at(point: int, name: str) -> None:
    world = World(seed=point, crash_at=point)
    added_broker_gets_its_share(world)
    assert world.crashes == [name]


def test_the_crashes_are_at_everything_a_rebalance_does() -> None:
    kinds = {part for _, name in CRASHES for part in name.removeprefix("before ").removeprefix("after ").split(",")}
    events = {"rebalance.requested", "rebalance.planned", "rebalance.batch_started", "rebalance.completed"}
    assert events | {"reassign", "set_throttle", "clear_throttles", "elect_preferred"} <= kinds


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_rebalance_survives_a_crash_at_every_single_point() -> None:
    for story in (added_broker_gets_its_share, rebalance_is_cancelled, evacuation_goes_first):

        def run(point: int, story: Callable[[World], None] = story) -> None:
            world = World(seed=point, crash_at=point)
            story(world)
            assert world.crashes, f"failpoint {point} was not reached"

        sweep(story.__name__, [n for n, _ in _crash_points(story, all_of_them=True)], run)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
