"""Seeds of failovers in worlds that break: never two clusters that let clients in, and always something to do or to
wait for."""

from collections import Counter

import pytest

from controlplane.fleet.failovers.steps import PairStep, PairWait
from controlplane.fleet.failovers.view import PairState
from events import failover_facts as facts
from tests.unit.controlplane.fleet.failovers.pair_world import EU, US, PairWorld

SEEDS = 2000
IN_A_CHUNK = 250


def run(seed: int, seen: Counter[str], *, boots_shut: bool = True) -> None:
    """A world that breaks for 80 looks, and is healed then. Raises AssertionError with what does not hold."""
    world = PairWorld(seed, warm=seed % 3 != 0, boots_shut=boots_shut)
    was_seeded = False
    for look in range(240):
        if look == 80:
            world.heals()
        for _ in range(4):
            world.moves(breaks=look < 80)
            was_seeded = was_seeded or any(isinstance(fact, facts.StandbySeeded) for fact in world.log[-1:])
            assert not was_seeded or min(world.writable().values()) == 0, f"{seed}: {world.writable()} {world.log}"
            copying = {cluster for cluster, _ in world.copying()}
            assert len(world.copying()) <= 1, f"{seed}: two VMs copy: {world.copying()} {world.log}"
            assert not any(world.writable()[one] for one in copying), f"{seed}: into an open door: {world.log}"
        if look < 80 and world.random.random() < 0.2:
            world.asks(planned=world.random.random() < 0.6)
        if look < 80 and world.random.random() < 0.04:
            world.aborts()
        before = len(world.log)
        found = world.ticks()
        was_seeded = was_seeded or any(isinstance(fact, facts.StandbySeeded) for fact in world.log[before:])
        if isinstance(found, PairWait):
            assert found.reason
        else:
            seen[type(found.fact).__name__] += 1
        seen[str(world.view.state)] += 1
    assert world.restarted() == world.view
    assert world.view.order is None, f"{seed}: an order is left in a world that is whole: {world.log[-4:]}"


@pytest.mark.parametrize("chunk", range(SEEDS // IN_A_CHUNK))
def test_whatever_breaks_there_are_never_two_writable_clusters(chunk: int) -> None:
    seen = Counter[str]()
    for seed in range(chunk * IN_A_CHUNK, (chunk + 1) * IN_A_CHUNK):
        run(seed, seen)
    assert {str(state) for state in PairState if not seen[str(state)]} == set()
    assert seen[facts.PairPromoted.__name__] > IN_A_CHUNK // 5, "few failovers came to their end"


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("warm", [True, False])
def test_a_world_that_does_not_break_ends_every_order(planned: bool, warm: bool) -> None:
    for seed in range(40):
        world = PairWorld(seed, warm=warm)
        for _ in range(400):
            world.moves(breaks=False)
            world.ticks()
            if not world.orders:
                world.asks(planned=planned)
        view = world.view
        assert (view.primary, view.order) == (US, None), f"{seed}: {view.state} {world.log[-3:]}"
        is_torn = warm and not planned and bool(world.only_there)
        assert (view.may_diverge, view.state) == (is_torn, PairState.REVERSING if is_torn else PairState.STANDBY)
        assert (world.writable()[EU], world.name) == (0, US)


def test_a_primary_that_boots_with_its_door_open_is_found_out() -> None:
    """The judge sees what the rule for booting VMs prevents."""
    with pytest.raises(AssertionError, match=r"'eu': [123], 'us': [123]"):
        run(0, Counter(), boots_shut=False)


def test_a_step_behind_which_nothing_is_aborted_says_so() -> None:
    assert PairStep(facts.PromotionRequested("f1", US, 3)).is_point_of_no_return
    assert not PairStep(facts.ReplicatorStopRequested("f1")).is_point_of_no_return
