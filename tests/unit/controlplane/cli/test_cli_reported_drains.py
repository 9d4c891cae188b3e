"""What `kedge drain plan` says of clusters that operators reported; the planner's side: tests/unit/planner/drain."""

import json
from typing import Any

import pytest
from click.testing import Result

from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World
from tests.unit.planner.drain.reported_drains import REPORTS

FORGETS = "partial-plan-forgets-lost-partitions"


def planned(world: World, report: str, *arguments: str) -> Result:
    return world.run("drain", "plan", "--state", str(REPORTS / f"{report}.json"), *arguments)


def document(world: World, report: str, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(planned(world, report, *arguments, "-o", "json").stdout)
    return found


@pytest.mark.parametrize("report", ["no-plan", "slow-plan"])
def test_a_dead_broker_without_figures_gives_a_plan_and_nothing_on_stderr(world: World, report: str) -> None:
    ran = planned(world, f"dead-broker-without-figures-{report}")
    assert (ran.exit_code, ran.stderr) == (exits.OK, "")


def test_the_disk_of_a_dead_broker_without_figures_is_unknown_and_not_some_billions_of_it(world: World) -> None:
    answer = document(world, "dead-broker-without-figures-no-plan")
    dead = answer["brokers"][0]
    assert (dead["state"], dead["disk_before"], dead["disk_after"], dead["disk_worst"]) == ("dead", None, None, None)
    wide = planned(world, "dead-broker-without-figures-no-plan", "-o", "wide").stdout
    (row,) = [line for line in wide.splitlines() if line.startswith("1 ")]
    assert "%" not in row


def test_no_plan_names_every_partition_that_stays_by_its_reason(world: World) -> None:
    """Reported: lost-0 was named, orders-0 was not, and "add that" was the advice for records that were lost."""
    ran = planned(world, FORGETS)
    assert ran.exit_code == exits.FAILED
    assert ran.stderr.splitlines() == [
        "error: there is no plan",
        "  why:   2 partitions cannot be moved, for 2 reasons:",
        "         lost-0 must be repaired first: no replica is left to read from, its records are on broker 3 only",
        "         orders-0 cannot move: add a broker",
        "  next:  bring broker 3 back with its disk, or give up the records of lost-0; add a broker, and export the "
        "state again; or what can be moved: --allow-partial",
    ]


def test_a_partial_plan_forgets_no_lost_partition(world: World) -> None:
    """Reported: of lost-0, whose only replica is dead, there was no word once orders-0 could not move either."""
    answer = document(world, FORGETS, "--allow-partial")
    assert answer["outcome"] == "partial"
    assert answer["reason"]["stuck"] == [{"topic": "orders", "partition": 0}, {"topic": "lost", "partition": 0}]
    assert [(r["kind"], [p["topic"] for p in r["stuck"]]) for r in answer["reason"]["reasons"]] == [
        ("repair", ["lost"]),
        ("broker", ["orders"]),
    ]
    assert answer["left_behind"] == 2
    told = planned(world, FORGETS, "--allow-partial").stderr
    assert "lost-0" in told
    assert "orders-0" in told
    assert "rack" not in told


def test_a_partial_plan_has_no_leader_on_a_dead_broker_and_beats_no_bound(world: World) -> None:
    answer = document(world, FORGETS, "--allow-partial")
    dead = next(b for b in answer["brokers"] if b["state"] == "dead")
    assert (dead["leaders_before"], dead["leaders_after"]) == (0, 0)
    for name, measure in answer["certificate"].items():
        if measure["value"] is not None and measure["bound"] is not None:
            assert measure["value"] >= measure["bound"], name
    assert answer["certificate"]["bytes"] == {"value": 1e9, "bound": 1e9, "ratio": 1.0}
    assert answer["certificate"]["release_s"] == {"value": None, "bound": None, "ratio": None}


def test_where_nothing_can_be_moved_nobody_says_that_they_hold_no_replica(world: World, tmp_path: Any) -> None:
    content = json.loads((REPORTS / f"{FORGETS}.json").read_text())
    content["partitions"] = [p for p in content["partitions"] if p["topic"] == "lost"]
    (tmp_path / "state.json").write_text(json.dumps(content))
    ran = world.run("drain", "plan", "--state", str(tmp_path / "state.json"), "--allow-partial")
    assert "nothing can be moved; 1 replica stays" in ran.stdout
    refused = world.run("drain", "plan", "--state", str(tmp_path / "state.json"))
    assert "--allow-partial" not in refused.stderr


def test_empty_logs_count_as_partitions_to_move(world: World) -> None:
    """Reported: "0 partitions to move" above a table with 8 replicas less, and a file with 8 partitions."""
    target = world.home / "move.json"
    report = "empty-logs-count-as-nothing-to-move"
    ran = planned(world, report, "--brokers", "1", "--kafka-json", str(target))
    assert ": 8 partitions to move, 0 B, done in 0 s" in ran.stdout.splitlines()[0]
    assert len(json.loads(target.read_text())["partitions"]) == 8
    assert document(world, report, "--brokers", "1")["partitions_to_move"] == 8


def test_a_destination_that_holds_them_already_is_not_blamed_on_a_rack(world: World) -> None:
    """Reported: "add a broker in rack a", where an empty one was and had not been named."""
    report, sent = "destinations-blamed-on-a-rack", ("--brokers", "1016", "--destinations", "1016=1001")
    ran = planned(world, report, *sent)
    assert ran.exit_code == exits.FAILED
    assert ran.stderr.splitlines()[1:] == [
        "  why:   2 partitions cannot be moved: orders-1, orders-3 cannot go where broker 1016 is sent: 1001 holds "
        "them already",
        "  next:  add broker 1030 (or another of rack a): --destinations 1016=1001,1030; or what can be moved: "
        "--allow-partial",
    ]
    assert document(world, report, *sent)["reason"]["kind"] == "destination"
    assert planned(world, report, "--brokers", "1016", "--destinations", "1016=1001,1030").exit_code == exits.OK
