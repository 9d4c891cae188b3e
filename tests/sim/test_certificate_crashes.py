"""The server dies while certificates are renewed, and at each phase of the replacement of a CA; and seeds in which
brokers fall ill meanwhile. After each step everything that must always hold is looked at."""

from random import Random

import pytest

from controlplane.converger.questions.running.certificates import fingerprint
from events import facts
from events.certificate_facts import AuthorityPhaseName
from tests.builders import a_tls_document
from tests.sim.certificates import SimCertificates
from tests.sim.crashes import Crashes
from tests.sim.world import World


def _born(world: World) -> SimCertificates:
    world.machines.certificates = held = SimCertificates(
        world.store, world.view, world.clock, lambda: world.epoch, world.dies
    )
    world.declare(a_tls_document())
    world.converge(ticks=600)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    return held


def _on(world: World, phase: AuthorityPhaseName) -> None:
    world.run(until=lambda w: (c := w.view().vms.authority_change) is not None and c.is_reached, ticks=600)
    world.person(facts.AuthorityPhaseRequested("ca-1", phase, "asked by anna"))


def _believe_one_another(world: World, held: SimCertificates) -> None:
    """Whoever shows a certificate is believed by all others, whatever phase each of them is at."""
    there = [held.held[i.key] for i in world.view().alive() if i.key in held.held]
    for one in there:
        assert all(one.issuer in other.believes for other in there), world.sentence()


def _watched(world: World, held: SimCertificates, ticks: int = 900) -> None:
    for _ in range(ticks):
        world.tick()
        _believe_one_another(world, held)
        if world.view().vms.authority_change is None and world.is_converged():
            return
    raise AssertionError(world.sentence())


def ca_replaced(world: World) -> None:
    held = _born(world)
    world.person(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    _on(world, "reissue")
    _watched(world, held)
    authorities = world.view().vms.authorities
    assert authorities is not None
    alone = (fingerprint(authorities.cluster),)
    assert all(held.held[i.key].believes == alone == (held.held[i.key].issuer,) for i in world.view().alive())
    world.settle()


def ca_taken_back(world: World) -> None:
    held = _born(world)
    before = world.view().vms.authorities
    world.person(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    _on(world, "old-alone")
    _watched(world, held)
    assert world.view().vms.authorities == before
    world.settle()


CRASHES = {told.__name__: Crashes(told) for told in (ca_replaced, ca_taken_back)}


def _points() -> list[tuple[str, int]]:
    kinds = ("ca.phase_reached", "certificate.restart_requested", "restart.completed", "rolling_restart.completed")
    return [("ca_replaced", CRASHES["ca_replaced"].last(f"after {kind}")) for kind in kinds]


@pytest.mark.parametrize(("story", "point"), _points(), ids=lambda x: str(x))
def test_a_replacement_goes_on_after_a_crash_at(story: str, point: int) -> None:
    CRASHES[story].at(point)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("story", CRASHES)
def test_a_replacement_goes_on_after_a_crash_at_every_single_point(story: str) -> None:
    CRASHES[story].at_every_single_point()


def _in_spite(seed: int) -> None:
    """Brokers and controllers end by themselves, agents fall silent on certificates for a while, and a person goes back
    and forth."""
    world, random = World(seed=seed), Random(seed)
    held = _born(world)
    world.person(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    for _ in range(400):
        change, keys = world.view().vms.authority_change, [i.key for i in world.view().alive()]
        if change is None:
            break
        if random.random() < 0.02 and not world.view().settings.restarts:
            world.machines.stop_process(random.choice(keys))
        if random.random() < 0.02:
            held.mute = set() if held.mute else {random.choice(keys)}
        if change.is_reached and random.random() < 0.2:
            on: AuthorityPhaseName = "reissue" if random.random() < 0.7 else "old-alone"
            world.person(facts.AuthorityPhaseRequested("ca-1", on, "asked by anna"))
        elif change.phase == "reissue" and random.random() < 0.02:
            world.person(facts.AuthorityPhaseRequested("ca-1", "trust-both", "asked by anna"))
        world.tick()
        _believe_one_another(world, held)
    held.mute = set()
    if (change := world.view().vms.authority_change) is not None and change.phase == "trust-both":
        _on(world, "reissue")
    _watched(world, held)
    world.settle()


@pytest.mark.parametrize("seed", range(6))
def test_nodes_believe_one_another_whatever_happens(seed: int) -> None:
    _in_spite(seed)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_nodes_believe_one_another_in_hundreds_of_stories() -> None:
    for seed in range(6, 306):
        _in_spite(seed)
