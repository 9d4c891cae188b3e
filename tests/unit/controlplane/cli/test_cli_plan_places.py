"""`kedge plan` says of a pool that moves where it goes, beside what it costs."""

from controlplane.api.presenters.plan_text import plan_lines
from tests.unit.controlplane.cli.cli_world import plan_of


def test_a_plan_says_which_pool_moves_where() -> None:
    words = "pool brokers leaves local/default/local-1 for local/default/local-2: 3 brokers"
    told = [line.plain for line in plan_lines(plan_of("orders", moves=[words]))]
    assert f"  place: {words}" in told
    assert not [line for line in (one.plain for one in plan_lines(plan_of("orders"))) if "place:" in line]
