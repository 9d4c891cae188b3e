"""The stories of a living cluster that goes from plaintext between its nodes to TLS, and back: restarts in place, step
by step; told and compared as those of rolls are (`test_golden_rolls`). The simulation has every node find the others by
the listeners it dials (`tests.sim.endpoints`): a step that is skipped, or taken too early, ends the story."""

from collections.abc import Callable

import pytest

from controlplane.cluster.lifecycle import Phase
from events import facts
from events.spec.model import KafkaClusterDocument
from planner.rollout.security_steps import FIRST, LAST, STEPS
from tests.builders import a_document, with_tls
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.tls_way import born, completed, runs, until
from tests.sim.crashes import Crashes
from tests.sim.world import World

NAMES = tuple(step.name for step in STEPS)


def secured(**spec: object) -> KafkaClusterDocument:
    return with_tls(a_document(**spec))


def _is_tls(world: World) -> None:
    assert runs(world) == {("broker", "tls"), ("controller", "tls")}
    assert world.view().security.low == LAST
    told = [p.document.tls for vm in world.machines.vms.values() for p in vm.processes if p.up]
    assert not [user for tls in told if tls is not None for user in tls.super_users if "kedge-server" in user]


def plaintext_becomes_tls(world: World) -> None:
    """Six steps, three restarts of each service, no new VM. The first spec that asks for it is all there is to do."""
    born(world, a_document())
    world.declare(secured())
    world.converge(ticks=900)
    assert completed(world) == [(name, n) for n, name in enumerate(NAMES, start=1)]
    _is_tls(world)
    assert {i.planned.generation for i in world.view().alive()} == {1}


def plaintext_again_after_b2(world: World) -> None:
    """Somebody's clients fail: the spec of before takes the cluster back, step by step."""
    born(world, a_document())
    world.declare(secured())
    until(world, "B2", "completed")
    world.declare(a_document())
    world.converge(ticks=900)
    assert [position for _, position in completed(world)] == [1, 2, 3, 4, 4, 3, 2, 1, 0]
    assert runs(world) == {("broker", "plain"), ("controller", "plain")}
    assert world.view().security.high == FIRST
    assert {i.planned.generation for i in world.view().alive()} == {1}


SCENARIOS: tuple[Callable[[World], None], ...] = (plaintext_becomes_tls, plaintext_again_after_b2)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


@pytest.mark.parametrize("step", NAMES)
@pytest.mark.parametrize("node", ["brokers-b-0", "controllers-b-0"])
def test_a_vm_that_is_lost_in_a_step_is_made_anew_at_that_step(step: str, node: str) -> None:
    world = World()
    born(world, a_document())
    world.declare(secured())
    until(world, step, "requested")
    world.machines.power_cut(f"{node}.g1")
    world.disturbed()
    world.converge(ticks=1500)
    assert completed(world) == [(name, n) for n, name in enumerate(NAMES, start=1)]
    _is_tls(world)


@pytest.mark.parametrize("step", NAMES)
def test_the_spec_of_before_takes_it_back_from_the_middle_of_every_step(step: str) -> None:
    world = World()
    born(world, a_document())
    world.declare(secured())
    until(world, step, "requested")
    world.run(until=lambda w: any(r.type == "restart.completed" for r in w.history()[-3:]), ticks=60)
    world.declare(a_document())
    world.converge(ticks=1500)
    assert runs(world) == {("broker", "plain"), ("controller", "plain")}
    world.declare(secured())
    world.converge(ticks=1500)
    _is_tls(world)


def test_a_broker_that_comes_in_the_middle_is_born_at_the_step_of_then() -> None:
    world = World()
    born(world, a_document())
    world.declare(secured())
    until(world, "B1", "completed")
    world.declare(secured(brokers=6))
    world.converge(ticks=1500)
    _is_tls(world)
    assert len(world.view().brokers()) == 6


def test_a_controller_whose_endpoint_stays_the_old_one_is_given_back_what_it_had_and_all_stops() -> None:
    """Its port is open and it keeps up: nobody but the metadata log tells that the others would not find it."""
    world = World()
    born(world, a_document())
    stubborn = next(i for i in world.view().controllers() if i.node == "controllers-b-0")
    world.kafka.stubborn_voters.add(stubborn.service_id)
    world.declare(secured())
    world.run(until=lambda w: "Blocked" in w.view().conditions, ticks=900)
    assert [r.type for r in world.history() if r.type.startswith("restart.rev")][-1] == "restart.reverted"
    assert completed(world) == []
    blocked = world.view().conditions["Blocked"]
    assert blocked.reason == "RestartReverted"
    assert "the metadata log names controller" in blocked.message
    assert "kedge resume" in blocked.message
    world.kafka.stubborn_voters.clear()
    world.person(facts.ClusterResumed("looked at it"))
    world.converge(ticks=900)
    _is_tls(world)


def test_agents_that_know_no_steps_are_waited_for() -> None:
    world = World()
    born(world, a_document())
    world.machines.documents_known = 2
    world.declare(secured())
    world.run(until=lambda w: "Blocked" in w.view().conditions, ticks=300)
    assert not [r for r in world.history() if r.type.startswith("security.")]
    assert world.view().conditions["Blocked"].reason == "SecurityBlocked"
    world.machines.documents_known = 3
    world.converge(ticks=900)
    _is_tls(world)


def _one_step_and_a_half(world: World) -> None:
    """As far as the first broker of B1."""
    born(world, a_document())
    world.declare(secured())
    until(world, "B1", "requested")
    world.run(until=lambda w: w.history()[-1].type == "restart.completed", ticks=60)
    assert all(i.phase is Phase.JOINED for i in world.view().alive())


CRASHES = Crashes(_one_step_and_a_half)
BEGINS = next(n for n, name in enumerate(CRASHES.points, start=1) if "security." in name)


@pytest.mark.parametrize("point", range(BEGINS, len(CRASHES.points) + 1), ids=CRASHES.id_of)
def test_the_way_goes_on_though_the_server_dies_at(point: int) -> None:
    CRASHES.at(point)
