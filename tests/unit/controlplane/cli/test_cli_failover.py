"""`kedge failover`, and what is ordered beside it: the plan, the name typed, and following it until it is over."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from controlplane.api.schemas import failovers as api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World, problem
from tests.unit.controlplane.cli.test_cli_failovers import a_pair

ORDERED = api.FailoverSaidOut(name="orders", changed=True, sentence="orders: it is ordered", order="f1")
REFUSAL = api.FailoverRefusalOut(code="failover-not-ready", message="the pair is Seeding", fix="Wait.")


def a_plan(*refusals: api.FailoverRefusalOut, planned: bool = True) -> api.FailoverPlanOut:
    return api.FailoverPlanOut(
        name="orders",
        planned=planned,
        primary="orders-eu",
        standby="orders-us",
        steps=[
            api.PlannedStepOut(what="the replicator is to end", proof="its agents are told", undo="started again"),
            api.PlannedStepOut(what="opened", proof="told", undo="nothing", is_point_of_no_return=True),
        ],
        loss=["every record stays on the old primary"],
        loses_nothing=False,
        refusals=list(refusals),
        digest="aa-bb",
    )


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A server that takes an order."""
    world = World(tmp_path)
    world.server.on("GET", "/failovers/orders/plan", a_plan())
    world.server.on("POST", "/failovers/orders/failover", ORDERED)
    return world


def sent(world: World) -> list[dict[str, Any]]:
    return world.server.bodies("POST", "/failovers/orders/failover")


def over(promoted: bool = True, order: str = "f1") -> api.FailoverOut:
    primary = "orders-us" if promoted else "orders-eu"
    return a_pair(state="Seeding", primary=primary, order="", planned=None, last_order=order, last_promoted=promoted)


def test_the_plan_alone_is_data_and_orders_nothing(world: World) -> None:
    done = world.run("failover", "orders", "--dry-run")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "orders: planned failover from orders-eu to orders-us"
    assert "point of no return" in lines[3]
    assert lines[4] == "   2. opened: told"
    assert lines[-1] == "    every record stays on the old primary"
    assert world.run("failover", "orders", "--dry-run", "-o", "json").stdout.startswith("{")
    assert sent(world) == []


def test_what_would_be_refused_asks_nobody_and_orders_nothing(world: World) -> None:
    world.server.on("GET", "/failovers/orders/plan", a_plan(REFUSAL, planned=False))
    for flags in (["--confirm", "orders"], ["--dry-run"]):
        done = world.run("failover", "orders", "--unplanned", *flags)
        assert done.exit_code == 1
        assert "nothing was changed" in done.stderr
        assert "the pair is Seeding" in done.stderr
    assert world.server.requests[0].url.params["planned"] == "false"
    assert sent(world) == []


def test_a_failover_is_ordered_by_the_plan_that_was_shown_once_the_name_is_typed(world: World) -> None:
    done = world.terminal("failover", "orders", "--reason", "drill", typed="orders\n")
    assert (done.exit_code, done.stdout) == (0, "orders: it is ordered\n"), done.stderr
    assert "every record stays on the old primary" in done.stderr
    assert "Type the name of the pair to have orders-us take over from orders-eu (orders): " in done.stderr
    assert "kedge failovers abort orders" in done.stderr
    assert sent(world) == [
        {"planned": True, "accept_loss": False, "confirm": "orders", "reason": "drill", "plan_digest": "aa-bb"}
    ]


def test_another_name_or_nobody_to_ask_orders_nothing(world: World) -> None:
    assert "`order` is not `orders`" in world.terminal("failover", "orders", typed="order\n").stderr
    asked = world.run("failover", "orders", "--unplanned", "--accept-loss")
    assert asked.exit_code == 1
    assert "kedge failover orders --unplanned --accept-loss --confirm orders" in asked.stderr
    assert sent(world) == []


def test_each_step_is_told_once_until_the_standby_is_the_primary(world: World) -> None:
    preparing = a_pair(state="Preparing", next="the standby is not ready: 1 of 3 brokers")
    fencing = a_pair(state="Fencing", next="the door of the primary is not proved shut")
    world.server.on("GET", "/failovers/orders", preparing, preparing, fencing, preparing, fencing, over())
    done = world.run("failover", "orders", "--confirm", "orders", "--wait")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("Preparing: the standby is not ready: 1 of 3 brokers") == 1
    assert done.stderr.count("Fencing: the door of the primary is not proved shut") == 1
    assert done.stdout.splitlines()[-1] == "orders: orders-us is the primary (after 5 s)"
    assert len(world.time.sleeps) == 5


def test_a_failover_that_was_aborted_or_overtaken_is_no_success(world: World) -> None:
    for last, why in ((over(promoted=False), "was aborted"), (over(order="f2"), "another has come since")):
        world.server.on("GET", "/failovers/orders", a_pair(next="it waits"), last)
        done = world.run("failover", "orders", "--confirm", "orders", "--wait")
        assert done.exit_code == exits.FAILED
        assert why in done.stderr
        assert "is the primary" not in done.stdout


def test_time_that_is_up_and_a_history_that_cannot_be_read_have_codes_of_their_own(world: World) -> None:
    world.server.on("GET", "/failovers/orders", a_pair(next="the door is not proved shut"))
    late = world.run("failover", "orders", "--confirm", "orders", "--wait", "--timeout", "3s")
    assert late.exit_code == exits.TIMED_OUT
    assert "not over after 3 s; the server goes on" in late.stderr
    assert "Fencing: the door is not proved shut" in late.stderr.splitlines()[-2]
    world.server.on("GET", "/failovers/orders", a_pair(state="Unreadable", sentence="event 7"))
    stuck = world.run("failover", "orders", "--confirm", "orders", "--wait")
    assert (stuck.exit_code, "event 7" in stuck.stderr) == (exits.BLOCKED, True)


def test_a_server_that_restarts_meanwhile_is_waited_for(world: World) -> None:
    gone = httpx.ConnectError("Connection refused")
    world.server.on("GET", "/failovers/orders", a_pair(next="it waits"), *[gone] * 12, over())
    done = world.run("failover", "orders", "--confirm", "orders", "--wait")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("waiting for it to come back") == 1


def test_ctrl_c_only_detaches(world: World) -> None:
    world.server.on("GET", "/failovers/orders", a_pair(next="it waits"))
    world.time.interrupt_after = 2
    done = world.run("failover", "orders", "--confirm", "orders", "--wait")
    assert done.exit_code == exits.INTERRUPTED
    assert "the server goes on" in done.stderr


def test_an_abort_is_sent_with_its_reason_and_refused_with_a_way_out(world: World) -> None:
    said = api.FailoverSaidOut(name="orders", changed=True, sentence="it is aborted", order="f1")
    path = "/failovers/orders/abort"
    world.server.on("POST", path, said)
    done = world.run("failovers", "abort", "orders", "--reason", "second thoughts")
    assert (done.exit_code, done.stdout) == (0, "it is aborted\n"), done.stderr
    assert world.server.bodies("POST", path) == [{"reason": "second thoughts"}]
    world.server.on("POST", path, problem(409, "failover-past-return", "refused", detail="past", next_step="Wait."))
    late = world.run("failovers", "abort", "orders")
    assert late.exit_code == 1
    assert "past" in late.stderr


def test_that_a_door_is_shut_needs_a_reason_and_the_name(world: World) -> None:
    said = api.FailoverSaidOut(name="orders", changed=True, sentence="it counts as shut", order="f1")
    path = "/failovers/orders/certify-shut"
    world.server.on("POST", path, said)
    assert world.run("failovers", "certify-shut", "orders", "--confirm", "orders").exit_code == exits.USAGE
    wrong = world.run("failovers", "certify-shut", "orders", "--confirm", "order", "--reason", "burned down")
    assert "nothing was changed" in wrong.stderr
    assert world.server.bodies("POST", path) == []
    done = world.terminal("failovers", "certify-shut", "orders", "--reason", "burned down", typed="orders\n")
    assert (done.exit_code, done.stdout) == (0, "it counts as shut\n"), done.stderr
    assert world.server.bodies("POST", path) == [{"confirm": "orders", "reason": "burned down"}]
