"""The stories of what people ask for single nodes, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.cluster.folds.orders import HOLDS_FOR
from controlplane.cluster.lifecycle import Phase
from controlplane.converger.situation.situation import LOSS_GRACE_S
from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.asking import ask_for_evacuation, ask_for_replacement, ask_for_restart
from tests.sim.drains import is_copying
from tests.sim.vms import Vm
from tests.sim.world import World


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _starts(world: World) -> dict[str, int]:
    return {i.key: i.start.count for i in world.view().alive()}


def _keys(world: World, node: str) -> list[str]:
    return [i.key for i in world.view().of_node(node)]


def rolling_restart(world: World) -> None:
    """Brokers rack by rack, then controllers, the active one last; nobody is watched, nothing new is tried."""
    _born(world)
    leader = world.kafka.snapshot().quorum.leader
    ask_for_restart(world)
    world.converge(ticks=120)
    assert set(_starts(world).values()) == {2}
    restarted = [r.data["key"] for r in world.history() if r.type == "restart.requested"]
    assert world.view().instances[restarted[-1]].service_id == leader


def rolling_restart_is_paused(world: World) -> None:
    _born(world)
    ask_for_restart(world)
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=20)
    world.person(facts.ClusterPaused("lunch", None))
    world.run(until=lambda w: w.sentence().startswith("paused"), ticks=60)
    assert sorted(_starts(world).values()) == [1, 1, 1, 1, 1, 2]
    world.person(facts.ClusterResumed("back"))
    world.converge(ticks=120)
    assert set(_starts(world).values()) == {2}


def rolling_restart_is_aborted(world: World) -> None:
    """The one in hand is seen through, and the others are not restarted after a resume either."""
    _born(world)
    ask_for_restart(world)
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=20)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    world.person(facts.ClusterResumed("go on"))
    world.converge(ticks=60)
    assert sorted(_starts(world).values()) == [1, 1, 1, 1, 1, 2]


def rolling_restart_of_one_broker(world: World) -> None:
    _born(world)
    ask_for_restart(world, "brokers-b-0.g1")
    world.converge(ticks=60)
    assert [key for key, starts in _starts(world).items() if starts == 2] == ["brokers-b-0.g1"]


def rolling_restart_waits_for_a_thin_topic(world: World) -> None:
    """Two replicas with min ISR 2 have none to spare: a condition names the topic, and what a person can do."""
    _born(world)
    world.kafka.create_topic("thin", partitions=3, rf=2, min_isr=2, bytes_per_partition=1_000_000)
    ask_for_restart(world)
    for _ in range(60):
        world.tick()
    blocked = world.view().conditions["Blocked"]
    assert (blocked.status, blocked.reason) == (True, "MinIsrGate")
    assert "list thin under rollout.allowUnavailable" in blocked.message
    world.kafka.delete_topic("thin")
    world.converge(ticks=120)


def restarted_broker_does_not_come_back(world: World) -> None:
    """It is started once more; then, where the spec allows no new VM without asking, nobody else is touched until a
    person resumes."""
    _born(world, healing="replace: false")
    world.machines.unwell.add("brokers-b-0.g1")
    ask_for_restart(world)
    world.run(until=lambda w: w.sentence().startswith("brokers-b-0.g1 is not back after another start"), ticks=300)
    world.machines.unwell.clear()
    world.run(until=lambda w: w.is_held(), ticks=60)
    assert sorted(_starts(world).values()) == [1, 1, 1, 1, 2, 3]
    world.person(facts.ClusterResumed("the disk was full"))
    world.converge(ticks=300)


def _is_heard_again_beside_one_down(world: World, late: Vm, down: Vm, *, deaf_ticks: int, heard_ticks: int) -> None:
    """`down` ends while `late` hears nothing, which then hears again and is not started anew; `down` may begin then."""
    down.deaf = True
    world.machines.stop_process(down.key)
    for ticks, deaf in ((deaf_ticks, True), (heard_ticks, False)):
        late.deaf = deaf
        for _ in range(ticks):
            world.tick()
    assert late.process is not None
    assert late.process.document.start_id == f"{late.key}-1", "it is not started anew yet"
    down.deaf = False


def restart_is_heard_late_while_another_broker_is_down(world: World) -> None:
    """It serves on until that one is back, and is told again then."""
    _born(world)
    late, down = world.machines.vms["brokers-b-0.g1"], world.machines.vms["brokers-c-0.g1"]
    late.deaf = True
    ask_for_restart(world)
    world.run(until=lambda w: "brokers-b-0.g1 did not hear of it within 30 s" in w.sentence(), ticks=60)
    _is_heard_again_beside_one_down(world, late, down, deaf_ticks=15, heard_ticks=30)
    world.converge(ticks=300)


def restart_is_heard_in_time_and_another_broker_is_down_by_then(world: World) -> None:
    """Young as the order is, it waits until that one is back."""
    _born(world)
    late, down = world.machines.vms["brokers-b-0.g1"], world.machines.vms["brokers-c-0.g1"]
    late.deaf = True
    ask_for_restart(world)
    world.run(until=lambda w: late.key in w.view().settings.restarts, ticks=60)
    asked_at = world.clock()
    _is_heard_again_beside_one_down(world, late, down, deaf_ticks=11, heard_ticks=15)
    assert world.clock() - asked_at < HOLDS_FOR
    world.converge(ticks=300)


def rolling_restart_meets_a_version_roll(world: World) -> None:
    """A VM that is replaced meanwhile was started anew by that: nobody is restarted twice."""
    _born(world)
    ask_for_restart(world)
    world.run(until=lambda w: bool(w.view().settings.restarts), ticks=20)
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=900)
    assert set(_starts(world).values()) == {1}
    assert world.view().requests.rolling_restart is None


def broker_is_replaced_on_request(world: World) -> None:
    _born(world)
    ask_for_replacement(world, "brokers-b-0.g1", "slow disk")
    world.converge(ticks=200)
    assert _keys(world, "brokers-b-0") == ["brokers-b-0.g2"]
    assert _keys(world, "brokers-a-0") == ["brokers-a-0.g1"]


def dead_broker_is_replaced_on_request(world: World) -> None:
    """Its VM runs, its process does not: it is emptied from the copies that are left."""
    _born(world)
    world.machines.vms["brokers-b-0.g1"].deaf = True
    world.machines.stop_process("brokers-b-0.g1")
    for _ in range(12):
        world.tick()
    ask_for_replacement(world, "brokers-b-0.g1", "it does not start any more")
    world.run(until=lambda w: bool(w.view().in_phase(Phase.FENCING)), ticks=100)
    world.machines.vms["brokers-b-0.g1"].deaf = False
    world.converge(ticks=300)
    assert _keys(world, "brokers-b-0") == ["brokers-b-0.g2"]


def controller_is_replaced_on_request(world: World) -> None:
    _born(world)
    ask_for_replacement(world, "controllers-a-0.g1", "noisy neighbour")
    world.converge(ticks=200)
    assert _keys(world, "controllers-a-0") == ["controllers-a-0.g2"]


def disk_is_replaced_on_request(world: World) -> None:
    """The policy hands disks over; this one is to go: a fresh id on a fresh disk, and the old one is drained."""
    _born(world, strategy="reattach", max_unavailable=1)
    ask_for_replacement(world, "brokers-b-0.g1", "the disk fails", new_disk=True)
    world.converge(ticks=200)
    (there,) = world.view().of_node("brokers-b-0")
    assert (there.service_id, there.planned.volumes[0].key) == (1003, "brokers-b-0.data.v2")


def replacement_is_aborted(world: World) -> None:
    """Before its drain: the new VM goes again, and nobody replaces it after a resume."""
    _born(world)
    ask_for_replacement(world, "brokers-b-0.g1", "slow disk")
    world.run(until=lambda w: bool(w.view().in_phase(Phase.LAUNCHED)), ticks=60)
    world.person(facts.RecycleAborted("it was the network"))
    world.hold()
    world.person(facts.ClusterResumed("go on"))
    world.converge(ticks=120)
    assert _keys(world, "brokers-b-0") == ["brokers-b-0.g1"]


def broker_is_evacuated(world: World) -> None:
    """Emptied, it stays and serves; a drain of another one sends it nothing, and a new topic is moved off again."""
    _born(world, brokers=6)
    ask_for_evacuation(world, "brokers-a-0.g1", "strange noises")
    world.converge(ticks=200)
    assert world.kafka_hosts(1000) == 0
    assert world.view().instances["brokers-a-0.g1"].phase == "joined"
    ask_for_replacement(world, "brokers-a-1.g1", "slow disk")
    world.converge(ticks=200)
    assert world.kafka_hosts(1000) == 0
    world.kafka.create_topic("payments", partitions=12, rf=3, min_isr=2, bytes_per_partition=5_000_000)
    assert world.kafka_hosts(1000) > 0
    world.disturbed()
    world.run(until=lambda w: w.view().is_evacuating(), ticks=100)
    world.converge(ticks=200)
    assert world.kafka_hosts(1000) == 0


def evacuation_is_taken_back(world: World) -> None:
    """What runs goes on to its end, nothing more is begun, and the broker may receive again."""
    _born(world, brokers=6)
    ask_for_evacuation(world, "brokers-a-0.g1", "strange noises")
    world.run(until=is_copying, ticks=60)
    world.tick()
    world.person(facts.EvacuationEnded(("brokers-a-0.g1",), "asked by anna: it was the fan"))
    world.converge(ticks=200)
    assert world.view().requests.evacuations == {}
    assert not world.kafka.snapshot().throttles.any


def evacuation_is_aborted(world: World) -> None:
    _born(world, brokers=6)
    ask_for_evacuation(world, "brokers-a-0.g1", "strange noises")
    world.run(until=is_copying, ticks=60)
    world.person(facts.RecycleAborted("not now"))
    world.hold()
    world.person(facts.ClusterResumed("go on"))
    world.converge(ticks=200)
    assert world.view().requests.evacuations == {}


def evacuating_broker_dies(world: World) -> None:
    """Its VM is lost mid-drain: it is replaced like any other, and its successor is not kept empty."""
    _born(world, brokers=6)
    ask_for_evacuation(world, "brokers-a-0.g1", "strange noises")
    world.run(until=is_copying, ticks=60)
    world.machines.power_cut("brokers-a-0.g1")
    world.disturbed()
    for _ in range(int(LOSS_GRACE_S)):
        world.tick()
    world.converge(ticks=400)
    assert _keys(world, "brokers-a-0") == ["brokers-a-0.g2"]
    assert world.view().requests.evacuations == {}


SCENARIOS: tuple[Callable[[World], None], ...] = (
    rolling_restart,
    rolling_restart_is_paused,
    rolling_restart_is_aborted,
    rolling_restart_of_one_broker,
    rolling_restart_waits_for_a_thin_topic,
    restarted_broker_does_not_come_back,
    restart_is_heard_late_while_another_broker_is_down,
    restart_is_heard_in_time_and_another_broker_is_down_by_then,
    rolling_restart_meets_a_version_roll,
    broker_is_replaced_on_request,
    dead_broker_is_replaced_on_request,
    controller_is_replaced_on_request,
    disk_is_replaced_on_request,
    replacement_is_aborted,
    broker_is_evacuated,
    evacuation_is_taken_back,
    evacuation_is_aborted,
    evacuating_broker_dies,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def _crash_points() -> list[tuple[Callable[[World], None], int, str]]:
    """Before and after every append and effect from the request on."""
    chosen: list[tuple[Callable[[World], None], int, str]] = []
    for story in (rolling_restart, broker_is_replaced_on_request):
        world = World()
        story(world)
        names = world.points.names
        first = max(n for n, name in enumerate(names, start=1) if name == "before recycle.started")
        chosen += [(story, n, names[n - 1]) for n in range(first, len(names) + 1)]
    return chosen


CRASHES = _crash_points()


@pytest.mark.parametrize(("story", "point", "name"), CRASHES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_it_survives_a_crash_at(story: Callable[[World], None], point: int, name: str) -> None:
    world = World(seed=point, crash_at=point)
    story(world)
    assert world.crashes == [name]


def test_the_crashes_are_at_everything_a_rolling_restart_records() -> None:
    kinds = {name.removeprefix("before ").removeprefix("after ") for _, _, name in CRASHES}
    assert {"restart.requested", "restart.completed", "rolling_restart.completed", "recycle.completed"} <= kinds
