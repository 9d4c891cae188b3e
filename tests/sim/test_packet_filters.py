"""Clients are let in while a cluster is at rest: its VMs follow through their agents, and who does not is named."""

import hashlib

from agent.wire import PacketFilterReport
from controlplane.converger.conditions.packet_filters import FILTER_BEHIND
from tests.builders import a_document
from tests.sim.world import World

BORN, LATER = "rules without clients", "rules with clients"


def loaded(rules: str) -> PacketFilterReport:
    return PacketFilterReport(loaded=hashlib.sha256(rules.encode()).hexdigest())


def told(world: World) -> list[tuple[bool, str]]:
    """Changes of the condition, with their words."""
    changes = (e.data for e in world.history() if e.type == "condition.changed")
    return [(bool(d["status"]), str(d["message"])) for d in changes if d["type"] == FILTER_BEHIND]


def time_passes(world: World, seconds: int) -> None:
    """The server looks, and agents report. What it tells of a filter is an event, of a cluster at rest."""
    for _ in range(seconds):
        world.converger.tick()
        world.seconds += 1
        world.machines.advance(1, world._document)


def test_a_vm_that_keeps_the_clients_of_its_birth_is_named_until_it_has_followed() -> None:
    """Nothing told so: who was let in depended on when a VM was made."""
    world = World()
    world.declare(a_document())
    world.converge()
    world.filter_rules = BORN
    world.machines.filters = {key: loaded(BORN) for key in world.machines.vms}
    time_passes(world, 400)
    assert told(world) == []

    world.filter_rules = LATER
    world.machines.filters = {key: loaded(LATER) for key in world.machines.vms} | {"brokers-b-0.g1": loaded(BORN)}
    time_passes(world, 400)
    ((is_told, words),) = told(world)
    assert is_told
    assert "the packet filter of 1 VMs" in words
    assert "brokers-b-0.g1: it has not loaded those of now" in words
    assert words.endswith("Next: kedge replace orders brokers-b-0")

    world.machines.filters["brokers-b-0.g1"] = loaded(LATER)
    time_passes(world, 200)
    assert [status for status, _ in told(world)] == [True, False]
    assert world.view().roll.converged == world.view().generation
