"""`kedge reset-offsets` and `kedge dependents`."""

import json
from typing import Any

import pytest

from controlplane.api.schemas import queries as look_api, resets as reset_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import START, World

CHANGE = reset_api.OffsetChangeOut(topic="clicks", partition=0, before=7, after=0, first=0, end=10, again=7, skipped=0)
PLAN = reset_api.ResetPlanOut(
    cluster="orders", group="billing", refused="", changes=[CHANGE], same=2, unknown=[], again=7, skipped=0
)
DONE = reset_api.ResetOut(cluster="orders", group="billing", sentence="1 offset was put elsewhere", refused={})
PATH = "/clusters/orders/offset-resets"


@pytest.fixture
def world(tmp_path: Any) -> World:
    world = World(tmp_path)
    world.server.on("POST", f"{PATH}/plan", PLAN)
    world.server.on("POST", PATH, DONE)
    return world


def test_a_dry_run_shows_what_would_change_and_asks_for_nothing(world: World) -> None:
    told = world.run("reset-offsets", "orders", "billing", "--to-earliest", "--dry-run")
    assert ["clicks", "0", "7", "0", "0", "to", "10", "7", "0"] in [line.split() for line in told.stdout.splitlines()]
    assert "1 offset would change, 2 are there already" in told.stdout
    assert [r.url.path for r in world.server.requests] == [f"/v1{PATH}/plan"]


def test_a_reset_of_an_offset_beyond_the_log_says_that_nobody_knows_what_was_read(world: World) -> None:
    beyond = CHANGE.model_copy(update={"before": 1000, "after": 0, "end": 14, "again": 14, "beyond": True})
    world.server.on("POST", f"{PATH}/plan", PLAN.model_copy(update={"changes": [beyond], "again": 14}))
    told = " ".join(world.run("reset-offsets", "orders", "billing", "--to-earliest", "--dry-run").stdout.split())
    assert "0 records would never be read by this group, 14 a second time" in told
    assert "clicks-0: its offset 1000 lies beyond the log's end 14" in told


def test_what_was_shown_is_what_is_ordered(world: World) -> None:
    told = world.run(
        *("reset-offsets", "orders", "billing", "--topic", "clicks:0,3", "--shift-by", "-5", "-y", "--reason", "why")
    )
    assert (told.exit_code, told.stdout.splitlines()[-1]) == (0, "1 offset was put elsewhere")
    (asked,), (ordered,) = world.server.bodies("POST", f"{PATH}/plan"), world.server.bodies("POST", PATH)
    assert (asked["to"], asked["number"]) == ("shift", -5)
    assert asked["partitions"] == [{"topic": "clicks", "partition": 0}, {"topic": "clicks", "partition": 3}]
    assert ordered == {
        "group": "billing",
        "offsets": [{"topic": "clicks", "partition": 0, "before": 7, "after": 0}],
        "reason": "why",
    }


def test_without_a_yes_nothing_is_ordered(world: World) -> None:
    told = world.run("reset-offsets", "orders", "billing", "--to-latest")
    assert told.exit_code == 1
    assert "add -y" in told.stderr
    assert len(world.server.requests) == 1


def test_a_group_with_members_is_not_asked_about(world: World) -> None:
    world.server.on("POST", f"{PATH}/plan", PLAN.model_copy(update={"refused": "billing has members (app at x)"}))
    told = world.run("reset-offsets", "orders", "billing", "--to-datetime", "2h", "-y")
    assert told.exit_code == 1
    assert "billing has members (app at x)" in told.stderr
    assert "stop its consumers" in told.stderr


def test_offsets_that_stayed_fail_the_verb(world: World) -> None:
    world.server.on("POST", PATH, DONE.model_copy(update={"refused": {"clicks-0": "no"}}))
    assert world.run("reset-offsets", "orders", "billing", "--to-earliest", "-y").exit_code == 1


@pytest.mark.parametrize("wish", [(), ("--to-earliest", "--to-latest"), ("--to-earliest", "--topic", "clicks:one")])
def test_a_wish_that_is_none_is_refused_before_anybody_is_asked(world: World, wish: tuple[str, ...]) -> None:
    assert world.run("reset-offsets", "orders", "billing", *wish).exit_code == exits.USAGE
    assert world.server.requests == []


def test_dependents_are_told_by_group_topic_and_broker(world: World) -> None:
    found = look_api.DependentsOut(
        cluster="orders",
        broker=1001,
        read_at=START,
        topics=[look_api.LedTopicOut(topic="clicks", led=2, of=6, written_per_s=2048.0)],
        followers={1000: 2},
        sole=["clicks-1"],
        readers=[
            look_api.ReaderOut(group="billing", word="Reading", coordinated=False, led=2, of=6, clients=["app at x"])
        ],
        readers_unknown="",
    )
    world.server.on("GET", "/clusters/orders/brokers/1001/dependents", found)
    told = world.run("dependents", "orders", "1001").stdout
    for words in ("1 partition would have no leader without it: clicks-1", "app at x", "2.0 KiB/s", "1000 (2)"):
        assert words in told
    assert json.loads(world.run("dependents", "orders", "1001", "-o", "json").stdout)["followers"] == {"1000": 2}
