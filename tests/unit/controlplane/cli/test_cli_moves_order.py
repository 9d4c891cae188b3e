"""Emptying brokers: what would move is shown, and the yes is bound to what was shown."""

import json

import pytest

from controlplane.api.schemas import commands as command_api, moves as move_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World, detail, problem

PLAN = "/clusters/orders/moves/plan"
EVACUATE = "/clusters/orders/evacuate"


def planned(**other: object) -> move_api.MovesPlanOut:
    """What the server would plan: twelve lists, of which it sends the largest."""
    moves = [
        move_api.PlannedMoveOut(
            topic="clicks", partition=n, before=[1001, 1002], after=[1003, 1002], copied_bytes=(20 - n) * 1024**3
        )
        for n in range(12)
    ]
    plan = move_api.PlannedMovesOut(
        seconds=95.2,
        copied_bytes=174 * 1024**3,
        total_moves=12,
        moves=moves,
        certificate=[["bytes", "174 GiB", "174 GiB", "1.000"]],
        assumptions=["the disks of 1003 write 200 MiB/s"],
        shortfall="",
    )
    told = {
        "cluster": "orders",
        "changes": True,
        "sentence": "orders: 1001 will be emptied and kept empty",
        "digest": "d1gest",
        "metadata_at": None,
        "no_plan": "",
        "plan": plan,
    }
    return move_api.MovesPlanOut.model_validate({**told, **other})


@pytest.fixture
def world(world: World) -> World:
    world.server.cluster(detail())
    world.server.on("POST", PLAN, planned())
    done = command_api.CommandOut(cluster="orders", changed=True, sentence="orders: evacuate recorded")
    world.server.on("POST", EVACUATE, done)
    return world


def sent(world: World, path: str = EVACUATE) -> list[dict[str, object]]:
    return world.server.bodies("POST", path)


def test_the_plan_is_shown_and_the_order_carries_its_digest(world: World) -> None:
    options = ["--broker", "1001", "--target", "1003", "--target", "1004", "--throttle-mib-per-s", "20"]
    ran = world.terminal("evacuate", "orders", *options, "--reason", "noises", typed="y\n")
    assert ran.exit_code == exits.OK
    shown = " ".join(ran.stdout.split())
    for words in (
        "1001 will be emptied",
        "12 replica lists to change, 174.0 GiB to copy, 1 min 35 s at least",
        "bytes 174 GiB 174 GiB 1.000",
        "the disks of 1003 write 200 MiB/s",
        "clicks-0 1001, 1002 1003, 1002 20.0 GiB",
        "and 2 more",
        "orders: evacuate recorded",
    ):
        assert words in shown, (words, shown)
    chosen = {"brokers": [1001], "targets": [1003, 1004], "throttle_mib_per_s": 20}
    nothing = {"goals": [], "exclude_topics": [], "exclude_brokers": []}
    assert sent(world, PLAN) == [{"kind": "drain", "per_day_gib": None, **nothing, **chosen}]
    assert sent(world) == [{"reason": "noises", "digest": "d1gest", **chosen}]


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_asked_of_the_server(world: World, typed: str) -> None:
    ran = world.terminal("evacuate", "orders", "--broker", "1001", typed=typed)
    assert (ran.exit_code, sent(world)) == (exits.FAILED, [])
    assert "not confirmed, nothing was changed" in ran.stderr


def test_where_nobody_can_be_asked_it_says_how(world: World) -> None:
    ran = world.run("evacuate", "orders", "--broker", "1001")
    assert (ran.exit_code, sent(world)) == (exits.FAILED, [])
    assert "add -y" in ran.stderr


def test_yes_skips_the_question_and_is_bound_all_the_same(world: World) -> None:
    ran = world.run("evacuate", "orders", "--broker", "1001", "-y")
    assert (ran.exit_code, [order["digest"] for order in sent(world)]) == (exits.OK, ["d1gest"])


def test_machines_read_the_answer_alone(world: World) -> None:
    ran = world.run("evacuate", "orders", "--broker", "1001", "-y", "-o", "json")
    assert json.loads(ran.stdout)["sentence"] == "orders: evacuate recorded"
    assert "12 replica lists" in ran.stderr


def test_what_cannot_be_planned_is_refused_before_anybody_is_asked(world: World) -> None:
    world.server.on("POST", PLAN, problem(409, "no-room", "refused", detail="the others have no room"))
    ran = world.terminal("evacuate", "orders", "--broker", "1001", typed="y\n")
    assert (ran.exit_code, sent(world)) == (exits.FAILED, [])
    assert "the others have no room" in ran.stderr


def test_a_plan_that_moved_is_refused_with_what_changed(world: World) -> None:
    world.server.on("POST", EVACUATE, problem(409, "plan-moved", "refused", detail="where replicas are has changed"))
    ran = world.terminal("evacuate", "orders", "--broker", "1001", typed="y\n")
    assert ran.exit_code == exits.FAILED
    assert "where replicas are has changed" in ran.stderr


def test_without_a_plan_to_show_the_reason_stands_there_and_the_question_too(world: World) -> None:
    world.server.on("POST", PLAN, planned(plan=None, no_plan="Kafka of orders was not read by this server yet"))
    ran = world.terminal("evacuate", "orders", "--broker", "1001", typed="n\n")
    assert (ran.exit_code, sent(world)) == (exits.FAILED, [])
    assert "was not read by this server yet" in " ".join(ran.stdout.split())


def test_nobody_is_asked_where_nothing_would_change(world: World) -> None:
    world.server.on("POST", PLAN, planned(changes=False, sentence="1001 is kept empty already"))
    ran = world.run("evacuate", "orders", "--broker", "1001")
    assert (ran.exit_code, len(sent(world))) == (exits.OK, 1)
