"""A roll is aborted at any moment: it rests soon, with every replica served, and goes on or back when told to."""

import pytest

from events import facts
from tests.builders import a_document
from tests.sim.sweep import sweep
from tests.sim.world import World

ROLL_TICKS = 190
"""A little longer than the roll takes when nobody aborts it."""


def _aborted_after(ticks: int, *, goes_back: bool) -> None:
    world = World(seed=ticks)
    world.declare(a_document())
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(version="4.2.0"))
    for _ in range(ticks):
        world.tick()
    if not world.view().roll.recycling:
        return
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    view = world.view()
    nodes = [i.node for i in view.alive()]
    assert sorted(nodes) == sorted(set(nodes)), f"a node is left with two VMs: {nodes}"
    finalised = view.roll.finalising is not None or bool(view.roll.finalised)
    if goes_back and not finalised:
        world.declare(a_document())
    world.person(facts.ClusterResumed("decided"))
    world.converge(ticks=900)


@pytest.mark.parametrize("ticks", range(1, ROLL_TICKS, 21))
def test_an_aborted_roll_rests_and_then_goes_back(ticks: int) -> None:
    _aborted_after(ticks, goes_back=True)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_an_abort_at_every_tick_of_a_roll() -> None:
    cases = [(ticks, goes_back) for ticks in range(1, ROLL_TICKS) for goes_back in (True, False)]
    sweep("abort after (ticks, goes_back)", cases, lambda case: _aborted_after(case[0], goes_back=case[1]))
