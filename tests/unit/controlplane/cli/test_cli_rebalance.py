"""`kedge rebalance CLUSTER`: what is sent, what is shown, and which options do not go together."""

import pytest

from controlplane.api.schemas import commands as command_api, conditions as condition_api
from controlplane.cli import exits
from controlplane.cli.progress import rebalance_words
from tests.unit.controlplane.cli.cli_world import World, detail, problem, snapshot
from tests.unit.controlplane.cli.test_cli_moves_order import planned

IN_HAND = condition_api.RebalanceOut(
    cause="scale-up",
    reason="broker 1003 joined",
    round=1,
    engine="in-process",
    moves=12,
    bytes=4 * 1024**3,
    bytes_left=3 * 1024**3,
    batch=1,
    batches=7,
    imbalance_before=94.4,
    imbalance_after=4.0,
    done_moves=0,
    done_bytes=0,
    per_day_bytes=0,
    cancelled="",
    failed="",
)
WORDS = "rebalance (scale-up): batch 2 of 7, 12 moves, 4.0 GiB, 3.0 GiB left, imbalance 94 % -> 4 %, planned in-process"


@pytest.fixture
def world(world: World) -> World:
    world.server.cluster(detail())
    for path in ("rebalance", "rebalance/cancel"):
        done = command_api.CommandOut(cluster="orders", changed=True, sentence=f"orders: {path} recorded")
        world.server.on("POST", f"/clusters/orders/{path}", done)
    world.server.on("POST", "/clusters/orders/moves/plan", planned())
    return world


NOTHING_CHOSEN: dict[str, object] = {"goals": [], "exclude_topics": [], "exclude_brokers": []}


def sent(world: World, path: str = "rebalance") -> list[dict[str, object]]:
    return world.server.bodies("POST", f"/clusters/orders/{path}")


@pytest.mark.parametrize(("options", "budget"), [([], None), (["--per-day-gib", "500"], 500)])
def test_a_rebalance_is_asked_for_with_its_budget(world: World, options: list[str], budget: int | None) -> None:
    ran = world.run("rebalance", "orders", "--reason", "it grew", "--throttle-mib-per-s", "20", "--yes", *options)
    assert (ran.exit_code, ran.stdout.splitlines()[-1]) == (exits.OK, "orders: rebalance recorded")
    chosen = {"targets": [], "per_day_gib": budget, "throttle_mib_per_s": 20, **NOTHING_CHOSEN}
    assert sent(world, "moves/plan") == [{"kind": "rebalance", "brokers": [], **chosen}]
    assert sent(world) == [{"reason": "it grew", "digest": "d1gest", **chosen}]
    assert "kedge rebalance orders --cancel" in ran.stderr


def test_brokers_that_alone_receive_are_looked_at_and_asked_for(world: World) -> None:
    sentence = "replicas of orders will move onto 1003, 1004 and no other broker"
    world.server.on("POST", "/clusters/orders/moves/plan", planned(sentence=sentence))
    ran = world.run("rebalance", "orders", "--onto", "1003", "--onto", "1004", "--yes")
    assert ran.exit_code == exits.OK
    assert [body["targets"] for body in (*sent(world, "moves/plan"), *sent(world))] == [[1003, 1004]] * 2
    snapshot("rebalance-onto.txt", ran.stdout)


def test_who_alone_receives_is_told_while_it_runs() -> None:
    told = rebalance_words(IN_HAND.model_copy(update={"cause": "person", "onto": [1003, 1004]}))
    assert told.startswith("rebalance (person) onto 1003, 1004: batch 2 of 7")


def test_a_rebalance_that_no_move_would_come_of_is_not_asked_for(world: World) -> None:
    sentence = "no move would spread the replicas of orders better"
    world.server.on("POST", "/clusters/orders/moves/plan", planned(changes=False, sentence=sentence))
    ran = world.run("rebalance", "orders", "--yes", "--wait")
    assert (ran.exit_code, sent(world)) == (exits.OK, [])
    assert sentence in ran.stdout


def test_a_rebalance_is_cancelled(world: World) -> None:
    ran = world.run("rebalance", "orders", "--cancel", "--reason", "not now")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "orders: rebalance/cancel recorded\n")
    assert (sent(world, "rebalance/cancel"), sent(world)) == ([{"reason": "not now"}], [])


def test_it_is_watched_until_none_is_in_hand(world: World) -> None:
    ran = world.run("rebalance", "orders", "--wait", "--yes")
    assert ran.exit_code == exits.OK
    assert "no rebalance is in hand" in ran.stdout


def test_goals_and_what_is_left_out_are_looked_at_and_asked_for(world: World) -> None:
    chosen = ["--goals", "racks, leaders", "--exclude-topics", "audit,logs"]
    ran = world.run("rebalance", "orders", "--yes", *chosen, "--exclude-brokers", "1002", "--exclude-brokers", "1003")
    assert ran.exit_code == exits.OK, ran.stderr
    wanted = {"goals": ["racks", "leaders"], "exclude_topics": ["audit", "logs"], "exclude_brokers": [1002, 1003]}
    for body in (*sent(world, "moves/plan"), *sent(world)):
        assert {name: body[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    "options",
    [["--goals", "racks!"], ["--goals", "disk=1.05"], ["--state", "orders.json"], ["--kafka-json", "move.json"]],
)
def test_what_belongs_to_a_plan_is_not_for_the_server(world: World, options: list[str]) -> None:
    ran = world.run("rebalance", "orders", *options)
    assert (ran.exit_code, sent(world)) == (exits.USAGE, [])
    assert "--dry-run" in ran.stderr


@pytest.mark.parametrize(
    "option", ["--cancel", "--wait", "--yes", "--per-day-gib=5", "--throttle-mib-per-s=5", "--reason=why"]
)
def test_what_is_for_the_server_is_not_for_a_plan(world: World, option: str) -> None:
    ran = world.run("rebalance", "orders", "--dry-run", option)
    assert (ran.exit_code, sent(world)) == (exits.USAGE, [])


def test_a_refusal_says_how_far_the_other_one_is(world: World) -> None:
    refusal = problem(409, "rebalance-running", "refused", detail="batch 2 of 7")
    world.server.on("POST", "/clusters/orders/rebalance", refusal)
    ran = world.run("rebalance", "orders", "--yes")
    assert ran.exit_code == exits.FAILED
    assert "batch 2 of 7" in ran.stderr


def test_describe_shows_how_far_it_is(world: World) -> None:
    world.server.cluster(detail().model_copy(update={"rebalance": IN_HAND}))
    shown = " ".join(world.run("describe", "orders").stdout.split())
    assert WORDS in shown


def test_words_before_there_is_a_plan_and_after_a_cancel() -> None:
    young = IN_HAND.model_copy(update={"engine": "", "failed": "no disk is known"})
    assert rebalance_words(young) == "rebalance (scale-up): being planned, broker 1003 joined, no disk is known"
    ended = rebalance_words(IN_HAND.model_copy(update={"cancelled": "asked by anna"}))
    assert ended == f"{WORDS}; no further batch begins: asked by anna"
    assert rebalance_words(IN_HAND.model_copy(update={"engine": "spark"})).endswith(", planned by spark")
