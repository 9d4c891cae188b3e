"""`kedge describe` explains any unhealthy cluster in one sentence, whichever condition it is."""

import pytest

from tests.unit.controlplane.cli.cli_world import World, condition, detail
from tests.unit.docs.test_doc_conditions import condition_types

MESSAGE = "brokers-a-0.g1 is not as it should be"


@pytest.mark.parametrize("kind", [t for t in condition_types() if t != "Converged"])
def test_every_condition_is_told_at_the_top_with_its_sentence(world: World, kind: str) -> None:
    bad = condition(kind, status=kind != "Synced", message=MESSAGE)
    world.server.on("GET", "/clusters/orders", detail(conditions=[condition("Converged"), bad]))
    ran = world.run("describe", "orders")
    assert ran.exit_code == 0
    (line,) = [line for line in ran.stdout.splitlines() if line.startswith("Why:")]
    assert line.split(None, 1)[1].strip() == f"{kind}: {MESSAGE}"


def test_what_it_waits_for_goes_before_everything_else(world: World) -> None:
    told = [condition("Converged"), condition("Ailing", message="it is ill"), condition("Blocked", message="no room")]
    world.server.on("GET", "/clusters/orders", detail(conditions=told))
    assert "Blocked: no room" in world.run("describe", "orders").stdout


def test_a_cluster_that_is_well_has_nothing_to_explain(world: World) -> None:
    world.server.on("GET", "/clusters/orders", detail(conditions=[condition("Converged"), condition("Synced")]))
    assert "Why:" not in world.run("describe", "orders").stdout
