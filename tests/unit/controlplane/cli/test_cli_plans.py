"""`kedge plans`: the roll in hand step by step, the others one line each."""

import json
from datetime import timedelta
from typing import Any

from controlplane.api.schemas import nodes as node_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import START, World

STEP: dict[str, Any] = {"stages": [], "reason": "", "since": None, "change": "restart"}
WAITING = node_api.RollStepOut(
    **{**STEP, "node": "brokers-c-0", "state": "waiting", "reason": "asked by anna: leak", "left_s": 10.0}
)
ACTIVE = node_api.RollStepOut(
    **{
        **STEP,
        "node": "brokers-b-0",
        "state": "active",
        "since": START - timedelta(seconds=5),
        "stages": [node_api.RollStageOut(name="stop", state="active", began_at=START, seconds=5.0)],
    }
)
DONE = node_api.RollStepOut(**{**STEP, "node": "brokers-a-0", "state": "done", "since": START - timedelta(seconds=9)})


def roll(state: str = "running", *steps: node_api.RollStepOut, **changes: Any) -> node_api.RollOut:
    fields: dict[str, Any] = {
        "generation": 1,
        "state": state,
        "reason": "3 services to restart in place",
        "asked_by": "person:anna",
        "began_at": START - timedelta(minutes=2),
        "ended_at": None if state == "running" else START - timedelta(minutes=1),
        "done": sum(s.state == "done" for s in steps),
        "steps": list(steps),
    }
    return node_api.RollOut(**fields | changes)


def answer(world: World, *rolls: node_api.RollOut, total: int = 0) -> None:
    found = node_api.RollsOut(
        cluster="orders", sentence="waiting for brokers-b-0.g1", rolls=list(rolls), total=total or len(rolls)
    )
    world.server.on("GET", "/clusters/orders/rolls", found)


def test_the_one_in_hand_is_told_step_by_step_with_what_the_last_tick_said(world: World) -> None:
    answer(world, roll("running", ACTIVE, WAITING, DONE), roll("done", DONE))
    out = world.run("plans", "orders").stdout
    assert "generation 1: running, 1 of 3 steps, 3 services to restart in place" in out
    assert "now: waiting for brokers-b-0.g1" in out
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert "stop" in lines["restart brokers-b-0"]
    assert "5 s ago" in lines["restart brokers-b-0"]
    assert "about 10 s" in lines["restart brokers-c-0"]
    assert "asked by anna: leak" in lines["restart brokers-c-0"]


def test_those_that_are_over_take_one_line_each_and_steps_shows_theirs(world: World) -> None:
    answer(world, roll("done", DONE), roll("aborted", DONE, WAITING))
    out = world.run("plans", "orders").stdout
    assert "restart brokers-a-0" not in out
    assert [line.split()[3:5] for line in out.splitlines()[1:]] == [["1", "min"], ["1", "min"]]
    assert "person:anna" in out
    assert "restart brokers-a-0" in world.run("plans", "orders", "--steps").stdout


def test_how_to_see_more_is_told(world: World) -> None:
    answer(world, roll("done", DONE), total=12)
    ran = world.run("plans", "orders", "--last", "1")
    assert "kedge plans orders --last 12" in ran.stderr
    assert "limit=1" in str(world.server.requests[-1].url)


def test_a_cluster_without_rolls_says_so_and_json_is_a_document(world: World) -> None:
    answer(world)
    ran = world.run("plans", "orders")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "")
    assert "was never rolled" in ran.stderr
    found = json.loads(world.run("plans", "orders", "-o", "json").stdout)
    assert (found["kind"], found["rolls"]) == ("Rolls", [])
