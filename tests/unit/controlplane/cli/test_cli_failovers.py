"""`kedge failovers`: the table, one pair, and a withdrawal that is typed out."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.api.schemas import failovers as api
from tests.unit.controlplane.cli.cli_world import START, World

SAID = api.FailoverSaidOut(name="orders", changed=True, sentence="orders is no pair any more")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def a_pair(**changes: Any) -> api.FailoverOut:
    fields: dict[str, Any] = {
        "name": "orders",
        "uid": "0123",
        "state": "Fencing",
        "mode": "cold",
        "owner": "sales",
        "primary": "orders-eu",
        "standby": "orders-us",
        "dns": "orders.example",
        "names_lead_to": "orders-us",
        "doors": [
            api.DoorOut(cluster="orders-eu", role="primary", state="closing", epoch=4),
            api.DoorOut(cluster="orders-us", role="standby", state="closed", epoch=1),
        ],
        "order": "f1",
        "planned": True,
        "generation": 2,
        "declared_at": START - timedelta(hours=1),
        "declared_by": "person:ada",
        "source": "api",
        "path": "orders.yaml",
        "sentence": "it waits",
    }
    return api.FailoverOut(**fields | changes)


def test_pairs_are_listed_a_line_each(world: World) -> None:
    world.server.on("GET", "/failovers", api.FailoversOut(items=[a_pair(), a_pair(name="search", state="Registered")]))
    done = world.run("failovers")
    assert done.exit_code == 0, done.stderr
    head, first, second = done.stdout.splitlines()
    assert head.split() == ["NAME", "MODE", "STATE", "PRIMARY", "STANDBY", "DNS", "OWNER"]
    assert first.split() == ["orders", "cold", "Fencing", "orders-eu", "orders-us", "orders.example", "sales"]
    assert second.split()[:3] == ["search", "cold", "Registered"]


def test_that_there_is_none_is_said_beside_the_data(world: World) -> None:
    world.server.on("GET", "/failovers", api.FailoversOut(items=[]))
    done = world.run("failovers")
    assert (done.stdout, done.exit_code) == ("", 0)
    assert "docs/failover.md" in done.stderr


def test_one_pair_is_shown_with_its_doors_and_what_is_in_hand(world: World) -> None:
    world.server.on("GET", "/failovers/orders", a_pair())
    lines = world.run("failovers", "show", "orders").stdout.splitlines()
    assert lines[0] == "orders: Fencing"
    assert "  door of orders-eu (primary): closing, by order 4" in lines
    assert "  in hand: planned failover f1; it can be aborted" in lines
    assert lines[-1] == "  it waits"
    ails = a_pair(name_problem="REFUSED", unproved={"brokers-a-0.g1": "its agent is silent"})
    world.server.on("GET", "/failovers/orders", ails)
    told = world.run("failovers", "show", "orders").stdout.splitlines()
    assert [line for line in told if line not in lines] == [
        "  the name: REFUSED",
        "  not proved shut: brokers-a-0.g1: its agent is silent",
    ]
    world.server.on("GET", "/failovers/orders", a_pair(returns=False, planned=False))
    assert "unplanned failover f1; past the point of no return" in world.run("failovers", "show", "orders").stdout
    over = a_pair(order="", planned=None, last_order="f0", last_promoted=True)
    world.server.on("GET", "/failovers/orders", over)
    assert "  the last failover, f0, made orders-eu the primary" in world.run("failovers", "show", "orders").stdout
    torn = a_pair(only_on_standby={"orders-0": 12, "orders-1": 1})
    world.server.on("GET", "/failovers/orders", torn)
    told = world.run("failovers", "show", "orders").stdout.splitlines()
    assert "  only orders-us has up to 12 records of orders-0" in told
    assert "  only orders-us has up to 1 record of orders-1" in told


def test_a_withdrawal_needs_the_name_typed_out(world: World) -> None:
    world.server.on("POST", "/failovers/orders/withdraw", SAID)
    refused = world.run("failovers", "withdraw", "orders", "--confirm", "order")
    assert refused.exit_code != 0
    assert "nothing was changed" in refused.stderr
    assert world.server.bodies("POST", "/failovers/orders/withdraw") == []
    done = world.run("failovers", "withdraw", "orders", "--confirm", "orders", "--reason", "given up")
    assert (done.exit_code, done.stdout) == (0, f"{SAID.sentence}\n"), done.stderr
    (sent,) = world.server.bodies("POST", "/failovers/orders/withdraw")
    assert sent == {"confirm": "orders", "reason": "given up"}
