"""What a person lets go on after Kedge gave up is really tried again. Found by seed 1102 with rivals."""

from controlplane.converger.steps.clouds.intents import MAX_RUN_FAILURES
from events import facts
from tests.builders import a_document
from tests.sim.world import World


def test_a_run_that_was_given_up_is_run_again_after_a_person_resumed() -> None:
    """Each try is a job of its own: numbered anew after `kedge resume`, the old failed jobs answered for new ones."""
    world = World()
    world.declare(a_document())
    world.converge()
    world.interrupt_runs = MAX_RUN_FAILURES
    world.declare(a_document(version="4.2.0"))
    world.run(until=lambda w: any(i.failures == MAX_RUN_FAILURES for i in w.view().intents.values()), ticks=600)
    assert world.interrupt_runs == 0
    runs = sum(e.type == "run.failed" for e in world.history())
    assert runs == MAX_RUN_FAILURES

    world.person(facts.ClusterResumed("mended"))
    world.disturbed()
    world.converge(ticks=900)
    assert sum(e.type == "run.failed" for e in world.history()) == runs
