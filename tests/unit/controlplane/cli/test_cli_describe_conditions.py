"""`kedge describe` has at its top the sentence that the server says of a cluster, and none of its own."""

import pytest

from controlplane.api.trouble import why
from tests.unit.controlplane.cli.cli_world import World, condition, detail
from tests.unit.docs.test_doc_conditions import condition_types


@pytest.mark.parametrize("kind", [t for t in condition_types() if t != "Converged"])
def test_every_condition_is_told_at_the_top_as_the_server_says_it_or_not_at_all(world: World, kind: str) -> None:
    bad = condition(kind, status=kind != "Synced", message="brokers-a-0.g1 is not as it should be")
    said = detail(conditions=[condition("Converged"), bad])
    world.server.on("GET", "/clusters/orders", said)
    ran = world.run("describe", "orders")
    assert ran.exit_code == 0
    lines = [line.split(None, 1)[1].strip() for line in ran.stdout.splitlines() if line.startswith("Why:")]
    assert lines == ([why(said)] if why(said) else [])


def test_a_cluster_that_is_well_has_nothing_to_explain(world: World) -> None:
    world.server.on("GET", "/clusters/orders", detail(conditions=[condition("Converged"), condition("Synced")]))
    assert "Why:" not in world.run("describe", "orders").stdout
