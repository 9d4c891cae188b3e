"""`kedge groups` and `kedge group`."""

import json
from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import groups as group_api
from tests.unit.controlplane.cli.cli_world import START, World, problem

BILLING = group_api.GroupOut(
    cluster="orders",
    name="billing",
    word="Stuck",
    state="Stable",
    kind="classic",
    coordinator=1000,
    members=1,
    partitions=2,
    lag=1200,
    trend_per_s=2.5,
    stuck=1,
    unread=0,
)
PARTITION = group_api.GroupPartitionOut(
    topic="clicks",
    partition=0,
    state="Stuck",
    since=START - timedelta(minutes=7),
    member="app at 10.0.0.7",
    committed=7,
    end=1207,
    lag=1200,
    still_since=START - timedelta(minutes=7),
)
MEMBER = group_api.GroupMemberOut(id="m1", client="app", host="10.0.0.7", partitions=2)


@pytest.fixture
def world(tmp_path: Any) -> World:
    world = World(tmp_path)
    found = group_api.GroupsOut(
        cluster="orders", read_at=START, groups=[BILLING], total=2, next="billing", silent=[1002], left_out=0
    )
    detail = group_api.GroupDetailOut(group=BILLING, read_at=START, members=[MEMBER], partitions=[PARTITION])
    world.server.on("GET", "/clusters/orders/groups", found)
    world.server.on("GET", "/clusters/orders/groups/billing", detail)
    return world


def test_groups_are_told_a_line_each_and_how_to_go_on(world: World) -> None:
    told = world.run("groups", "orders", "--limit", "1")
    assert [line.split() for line in told.stdout.splitlines()] == [
        ["GROUP", "STATE", "MEMBERS", "PARTITIONS", "LAG", "TREND", "STUCK", "UNREAD"],
        ["billing", "Stuck", "1", "2", "1200", "+2.5/s", "1", "0"],
    ]
    assert "brokers 1002 did not answer" in told.stderr
    assert "2 in all; more: kedge groups orders --after billing" in told.stderr
    assert json.loads(world.run("groups", "orders", "-o", "json").stdout)["groups"][0]["lag"] == 1200


def test_one_group_is_told_by_partition(world: World) -> None:
    told = world.run("group", "orders", "billing").stdout
    for words in ("lag 1200 records, +2.5/s", "clicks", "7 min ago", "app at 10.0.0.7", "2 partitions"):
        assert words in told


def test_an_offset_beyond_the_log_is_told_as_what_it_is(world: World) -> None:
    """Reported: COMMITTED 1000, END 14, LAG 0, and no word that this cannot be."""
    beyond = PARTITION.model_copy(update={"state": "BeyondEnd", "committed": 1000, "end": 14, "lag": None})
    group = BILLING.model_copy(update={"word": "BeyondEnd", "lag": None})
    detail = group_api.GroupDetailOut(group=group, read_at=START, members=[], partitions=[beyond])
    world.server.on("GET", "/clusters/orders/groups/beyond", detail)
    told = world.run("group", "orders", "beyond").stdout
    row = next(line.split() for line in told.splitlines() if line.startswith("clicks "))
    assert row[row.index("1000") : row.index("app") + 1] == ["1000", "14", "-", "app"]
    assert "clicks-0: its offset 1000 lies beyond the log's end 14" in " ".join(told.split())


def test_a_group_that_is_not_there_is_not_called_a_missing_cluster(world: World) -> None:
    refused = problem(404, "group-not-found", "orders has no group called nobody", next_step="kedge groups orders")
    world.server.on("GET", "/clusters/orders/groups/nobody", refused)
    told = world.run("group", "orders", "nobody")
    assert told.exit_code != 0
    assert "orders has no group called nobody" in told.stderr


@pytest.mark.parametrize("name", [".", "..", "", "new\nline"])
def test_case_13_a_group_whose_name_is_no_part_of_an_address_goes_by_a_parameter(world: World, name: str) -> None:
    odd = BILLING.model_copy(update={"name": name})
    detail = group_api.GroupDetailOut(group=odd, read_at=START, members=[MEMBER], partitions=[PARTITION])
    world.server.on("GET", "/clusters/orders/group", detail)
    told = world.run("group", "orders", name)
    assert told.exit_code == 0
    assert told.stdout.splitlines()[:2] == [f"orders/{name}".replace("\n", "?"), "Stuck"]


def test_case_13_a_name_with_a_line_break_is_one_row_and_no_row_of_another_group(world: World) -> None:
    forged = "x\nbilling  Reading"
    found = group_api.GroupsOut(
        cluster="orders",
        read_at=START,
        groups=[BILLING, BILLING.model_copy(update={"name": forged})],
        total=9,
        next="; rm -rf ~",
        silent=[],
        left_out=0,
    )
    world.server.on("GET", "/clusters/orders/groups", found)
    told = world.run("groups", "orders")
    assert len(told.stdout.splitlines()) == 3
    assert "x?billing  Reading" in told.stdout
    assert "more: kedge groups orders --after '; rm -rf ~'" in told.stderr
