"""A cluster waits for its network with a sentence of its own, and only where it wants a VM."""

from dataclasses import replace

from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.cluster.view import empty_view
from controlplane.converger.ladder.decide import decide
from controlplane.converger.steps.clouds.networking import network_step
from tests.builders import a_document, a_situation, a_view

MISSING = (NetworkAwaited("waits for the network default in aws/main/r1: being made"),)


def test_nothing_is_begun_before_the_network_is_there() -> None:
    view = replace(empty_view("c0ffee"), name="orders", document=a_document(), generation=1)
    situation = a_situation(view=view)
    held = decide(replace(situation, seen=replace(situation.seen, networks=MISSING)))
    assert held.sentence == MISSING[0].sentence
    assert held.wait is not None
    assert (held.wait.reason, held.wait.next_command) == ("NetworkMissing", "kedge networks")
    assert not [e for e in held.events if type(e).__name__ == "SurgeRequested"]


def test_a_cluster_at_rest_does_not_mind() -> None:
    situation = a_situation(view=a_view())
    assert situation.view.roll.converged == situation.view.generation
    assert network_step(replace(situation, seen=replace(situation.seen, networks=MISSING))) is None
