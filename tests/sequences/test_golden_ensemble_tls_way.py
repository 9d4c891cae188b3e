"""The stories of a living cluster in ZooKeeper mode that goes from plaintext between its nodes to TLS, and back: what
`test_golden_tls_way` is to KRaft. The simulation knows who finds whom, and who may change what in ZooKeeper
(`tests.sim.ensemble`): a step that is skipped, or taken too early, ends the story."""

from collections.abc import Callable

import pytest

from events.spec.model import KafkaClusterDocument
from planner.rollout.security_steps import ENSEMBLE_STEPS, FIRST, LAST
from tests.builders import a_zookeeper_document, with_tls
from tests.sequences.recorded import told_as_recorded_by
from tests.sequences.tls_way import born, completed, runs, until
from tests.sim.crashes import Crashes
from tests.sim.world import World

NAMES = tuple(step.name for step in ENSEMBLE_STEPS)


def secured(**spec: object) -> KafkaClusterDocument:
    return with_tls(a_zookeeper_document(**spec))


def _is_tls(world: World) -> None:
    assert runs(world) == {("broker", "tls"), ("zookeeper", "tls")}
    assert world.view().security.low == LAST
    assert (world.machines.ensemble.names_plain, world.machines.ensemble.has_owned) == (False, True)
    assert world.kafka.under_min_isr_s == 0


def _is_plain(world: World) -> None:
    assert runs(world) == {("broker", "plain"), ("zookeeper", "plain")}
    assert world.view().security.high == FIRST
    assert (world.machines.ensemble.names_plain, world.machines.ensemble.has_owned) == (True, False)
    assert world.kafka.under_min_isr_s == 0


def ensemble_becomes_tls(world: World) -> None:
    """Six steps, three restarts of each service, no new VM. The first spec that asks for it is all there is to do."""
    born(world, a_zookeeper_document())
    world.declare(secured())
    world.converge(ticks=900)
    assert completed(world) == [(name, n) for n, name in enumerate(NAMES, start=1)]
    _is_tls(world)
    assert {i.planned.generation for i in world.view().alive()} == {1}


def ensemble_is_plaintext_again_after_b2(world: World) -> None:
    """Somebody's clients fail: the spec of before takes the cluster back, step by step."""
    born(world, a_zookeeper_document())
    world.declare(secured())
    until(world, "B2", "completed")
    world.declare(a_zookeeper_document())
    world.converge(ticks=900)
    assert [position for _, position in completed(world)] == [1, 2, 3, 4, 4, 3, 2, 1, 0]
    _is_plain(world)
    assert {i.planned.generation for i in world.view().alive()} == {1}


SCENARIOS: tuple[Callable[[World], None], ...] = (ensemble_becomes_tls, ensemble_is_plaintext_again_after_b2)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    told_as_recorded_by(World(version="3.8.1"), scenario)


@pytest.mark.parametrize("step", NAMES)
@pytest.mark.parametrize("node", ["brokers-b-0", "zookeepers-b-0"])
def test_a_vm_that_is_lost_in_a_step_is_made_anew_at_that_step(step: str, node: str) -> None:
    world = World(version="3.8.1")
    born(world, a_zookeeper_document())
    world.declare(secured())
    until(world, step, "requested")
    world.machines.power_cut(f"{node}.g1")
    world.disturbed()
    world.converge(ticks=1500)
    assert completed(world) == [(name, n) for n, name in enumerate(NAMES, start=1)]
    _is_tls(world)


@pytest.mark.parametrize("step", NAMES)
@pytest.mark.parametrize("restarts", [1, 3])
def test_the_spec_of_before_takes_it_back_from_the_middle_of_every_step(step: str, restarts: int) -> None:
    """With all restarts of B2 made brokers have written what is the nodes' own, and nobody has noted so yet."""
    world = World(version="3.8.1")
    born(world, a_zookeeper_document())
    world.declare(secured())
    until(world, step, "requested")
    begun = len(world.history())

    def made(now: World) -> bool:
        return sum(r.type == "restart.completed" for r in now.history()[begun:]) >= restarts

    world.run(until=made, ticks=120)
    world.declare(a_zookeeper_document())
    world.converge(ticks=1500)
    _is_plain(world)
    world.declare(secured())
    world.converge(ticks=1500)
    _is_tls(world)


def test_agents_that_know_no_steps_of_an_ensemble_are_waited_for() -> None:
    world = World(version="3.8.1")
    world.machines.documents_known = 4
    born(world, a_zookeeper_document())
    world.declare(secured())
    world.run(until=lambda w: "Blocked" in w.view().conditions, ticks=300)
    assert not [r for r in world.history() if r.type.startswith("security.step")]
    assert world.view().conditions["Blocked"].reason == "SecurityBlocked"
    world.machines.documents_known = 5
    world.converge(ticks=900)
    _is_tls(world)


def _as_far_as_b2(world: World) -> None:
    born(world, a_zookeeper_document())
    world.declare(secured())
    until(world, "B2", "completed")


CRASHES = Crashes(_as_far_as_b2, version="3.8.1")
POINTS = [n for n, name in enumerate(CRASHES.points, start=1) if "security." in name or "put_content" in name]


@pytest.mark.parametrize("point", POINTS, ids=CRASHES.id_of)
def test_the_way_goes_on_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)
