"""`kedge rebalance` and `kedge brokers demote`: what they plan, what it costs, and that they only plan."""

import json
import re
from typing import Any

import pytest

from controlplane.cli import exits
from controlplane.cli.balance_run import goals_in
from planner.balance.goals import DEFAULT_GOALS, Aim, Goal
from tests.unit.controlplane.cli.cli_world import World
from tests.unit.controlplane.cli.state_files import broker, partition, state, written


def lopsided() -> dict[str, Any]:
    """Broker 2 holds nothing, its neighbour in the rack everything."""
    return state(*(partition("orders", n, 1, 3 + n % 2) for n in range(8)))


def test_a_lopsided_cluster_is_evened_out_and_the_goals_are_shown_before_and_after(world: World) -> None:
    ran = world.run("rebalance", "--state", written(world.home, lopsided()))
    assert ran.exit_code == exits.OK, ran.stderr
    assert re.search(r"^racks \(hard\) +- +- +- +0 -> 0 +met *$", ran.stdout, re.MULTILINE)
    assert re.search(r"^replicas .* \d -> 0 +met *$", ran.stdout, re.MULTILINE)
    assert re.search(r"^1 +a +active +8 -> 4 ", ran.stdout, re.MULTILINE)
    assert "to copy, no plan copies less than" in ran.stdout
    assert "plan only: nothing was changed" in ran.stderr


def test_json_has_every_goal_bytes_bound_and_brokers(world: World) -> None:
    ran = world.run("rebalance", "--state", written(world.home, lopsided()), "--goals", "racks!,replicas", "-o", "json")
    answer = json.loads(ran.stdout)
    assert (answer["kind"], answer["outcome"]) == ("RebalancePlan", "planned")
    assert [(g["goal"], g["hard"], g["met"]) for g in answer["goals"]] == [
        ("racks", True, True),
        ("replicas", False, True),
    ]
    first, second, *others = (b["replicas_after"] for b in answer["brokers"])
    assert (first in (4, 5), first + second, others) == (True, 8, [4, 4]), "within the band of 1.10, in its rack"
    assert answer["bytes_moved"] == second * 2**30


def test_a_balanced_cluster_has_nothing_to_do(world: World) -> None:
    ran = world.run("rebalance", "--state", written(world.home, state()), "--goals", "racks,replicas")
    assert (ran.exit_code, "nothing to do" in ran.stdout, "plan only" in ran.stderr) == (exits.OK, True, False)


def test_kafkas_json_is_written_and_the_commands_name_it(world: World) -> None:
    target = world.home / "move.json"
    ran = world.run(
        "rebalance", "--state", written(world.home, lopsided()), "--goals", "replicas", "--kafka-json", str(target)
    )
    moved = json.loads(target.read_text())["partitions"]
    assert len(moved) in (3, 4), "as many as the band of 1.10 asks for"
    assert all(2 in p["replicas"] for p in moved)
    assert json.loads((world.home / "move.rollback.json").read_text())["partitions"][0]["replicas"][0] == 1
    assert f"--reassignment-json-file {target} --execute" in ran.stderr


def test_a_plan_goes_onto_the_brokers_that_are_named_alone(world: World) -> None:
    target = world.home / "move.json"
    options = ["--state", written(world.home, lopsided()), "--onto", "2", "--kafka-json", str(target)]
    assert world.run("rebalance", *options).exit_code == exits.OK
    before = {n: {1, 3 + n % 2} for n in range(8)}
    moved = json.loads(target.read_text())["partitions"]
    assert {b for p in moved for b in set(p["replicas"]) - before[p["partition"]]} == {2}


@pytest.mark.parametrize(
    ("onto", "words"),
    [
        (["9"], "broker 9 cannot receive why: the state has no such broker"),
        (["1", "2", "3", "4"], "every broker that may receive was chosen why: no broker is left to send"),
    ],
)
def test_brokers_that_cannot_be_named_are_told(world: World, onto: list[str], words: str) -> None:
    named = [part for broker in onto for part in ("--onto", broker)]
    ran = world.run("rebalance", "--state", written(world.home, lopsided()), *named)
    assert (ran.exit_code, ran.stdout) == (exits.USAGE, "")
    assert words in " ".join(ran.stderr.split())


def full() -> dict[str, Any]:
    """Two logs of 1 GiB on disks that may hold 1.6 GiB in all."""
    brokers = [broker(1, "a", disk_bytes=2**30), broker(2, "a", disk_bytes=2**30)]
    return state(partition("orders", 0, 1), partition("orders", 1, 2), brokers=brokers)


def test_a_hard_goal_that_cannot_be_met_is_exit_1_with_what_is_missing(world: World) -> None:
    target = world.home / "plan.json"
    file = written(world.home, full())
    ran = world.run("rebalance", "--state", file, "--goals", "disk-capacity!", "--output", str(target))
    assert (ran.exit_code, ran.stdout) == (exits.FAILED, "")
    assert "disk-capacity cannot be met" in ran.stderr
    assert not target.exists()
    answer = json.loads(world.run("rebalance", "--state", file, "--goals", "disk-capacity!", "-o", "json").stdout)
    assert (answer["outcome"], answer["reason"]["kind"]) == ("infeasible", "capacity")
    part = world.run("rebalance", "--state", file, "--goals", "disk-capacity!", "--allow-partial")
    assert (part.exit_code, "in part only" in part.stderr) == (exits.OK, True)


def test_goals_are_read_in_order_with_tolerance_and_hardness() -> None:
    assert goals_in("") == DEFAULT_GOALS
    assert goals_in("racks, disk=1.05!,leaders") == (
        Aim(Goal.RACKS, 1, hard=True),
        Aim(Goal.DISK, 1.05, hard=True),
        Aim(Goal.LEADERS, 1.10),
    )


@pytest.mark.parametrize(
    ("goals", "words"),
    [
        ("dsk", "did you mean `disk`?"),
        ("disk=much", "`much` is not a tolerance of disk"),
        ("disk,disk", "a goal is named twice"),
        ("disk=0.5", "tolerance 0.5 must be at least 1"),
    ],
)
def test_goals_that_make_no_sense_are_told(world: World, goals: str, words: str) -> None:
    ran = world.run("rebalance", "--state", written(world.home, state()), "--goals", goals)
    assert (ran.exit_code, words in ran.stderr) == (exits.USAGE, True)


def test_a_demoted_broker_leads_nothing_and_no_byte_is_copied(world: World) -> None:
    target = world.home / "demote.json"
    ran = world.run("brokers", "demote", "1", "--state", written(world.home, state()), "--kafka-json", str(target))
    assert ran.exit_code == exits.OK, ran.stderr
    assert "nothing is copied; 4 changes of leader" in ran.stdout
    assert re.search(r"^1 +a +active +4 +4 -> 0 ", ran.stdout, re.MULTILINE)
    assert all(p["replicas"][-1] == 1 for p in json.loads(target.read_text())["partitions"])
    assert "kafka-leader-election.sh" in ran.stderr


def test_what_nobody_else_can_lead_stays_and_is_named(world: World) -> None:
    content = state(partition("lonely", 0, 1), partition("orders", 0, 1, 3))
    ran = world.run("brokers", "demote", "1", "--state", written(world.home, content), "-o", "json")
    answer = json.loads(ran.stdout)
    assert ran.exit_code == exits.OK
    assert answer["left"] == [{"topic": "lonely", "partition": 0, "why": "no other replica in sync can lead"}]


def test_an_unknown_broker_is_told(world: World) -> None:
    ran = world.run("brokers", "demote", "9", "--state", written(world.home, state()))
    assert (ran.exit_code, "the state has no broker 9" in ran.stderr) == (exits.USAGE, True)
