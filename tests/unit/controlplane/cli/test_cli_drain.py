"""`kedge drain`: a plan with its certificate from a file alone, what it writes, what it refuses, and the judge."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from controlplane.api.schemas import clusters as api
from controlplane.cli import exits
from planner.drain.judge import judge
from planner.drain.model.document import read_state
from planner.drain.model.plan_document import read_plan
from tests.unit.controlplane.cli.cli_world import START, World, detail
from tests.unit.controlplane.cli.state_files import broker, partition, state, written


@pytest.fixture
def file(world: World) -> str:
    return written(world.home, state())


def drained_state() -> dict[str, Any]:
    content = state()
    content["brokers"][0]["state"] = "outgoing"
    return content


# --- plan -------------------------------------------------------------------------------------------------------


def test_a_plan_shows_certificate_brokers_and_ingress_without_a_server(world: World, file: str) -> None:
    ran = world.run("drain", "plan", "--state", file, "--brokers", "1")
    assert ran.exit_code == exits.OK, ran.stderr
    assert world.server.requests == []
    assert ran.stdout.startswith(f"drain of 1 ({file}): 4 partitions to move, 4.0 GiB, done in 41 s\ncomputed inline")
    assert re.search(r"^bytes copied +4.0 GiB +4.0 GiB +1.000$", ran.stdout, re.MULTILINE)
    assert re.search(r"^1 +a +outgoing +4 -> 0 .* 41 s", ran.stdout, re.MULTILINE)
    assert re.search(r"^2 +a +active +4 -> 8 ", ran.stdout, re.MULTILINE)
    assert re.search(r"^2  [.0-9]{60}$", ran.stdout, re.MULTILINE), "digits where no terminal is"


def test_a_terminal_gets_blocks_and_wide_adds_slots_and_throttles(world: World, file: str) -> None:
    world.environ |= {"COLUMNS": "250"}
    ran = world.terminal("drain", "plan", "--state", file, "--brokers", "1", "-o", "wide")
    assert "█" in ran.stdout
    assert "THROTTLE IN/OUT" in ran.stdout


def test_json_is_data_alone_and_has_every_measure_with_bound_and_ratio(world: World, file: str) -> None:
    ran = world.run("drain", "plan", "--state", file, "--brokers", "1", "-o", "json")
    answer = json.loads(ran.stdout)
    assert (answer["kind"], answer["outcome"], answer["engine"]) == ("DrainPlan", "planned", "inline")
    assert set(answer["certificate"]) == {"bytes", "makespan_s", "disk", "leaders", "leader_changes", "release_s"}
    assert answer["certificate"]["bytes"] == {"value": 4 * 2**30, "bound": 4 * 2**30, "ratio": 1.0}
    assert answer["eta_s"] == pytest.approx(40.96)
    assert [b["replicas_after"] for b in answer["brokers"]] == [0, 8, 4, 4]


def test_a_state_from_stdin_and_yaml(world: World) -> None:
    ran = world.run("drain", "plan", "--state", "-", "-o", "yaml", typed=json.dumps(drained_state()))
    assert ran.exit_code == exits.OK, ran.stderr
    assert "outcome: planned" in ran.stdout
    assert "of: standard input" in ran.stdout


def test_the_files_are_a_plan_the_judge_accepts_and_kafkas_own_json_with_its_way_back(world: World, file: str) -> None:
    names = {name: str(world.home / name) for name in ("plan.json", "move.json", "throttles.sh", "p.svg")}
    ran = world.run(
        "drain", "plan", "--state", file, "--brokers", "1", "--output", names["plan.json"],
        "--kafka-json", names["move.json"], "--throttles", names["throttles.sh"], "--plot", names["p.svg"],
    )  # fmt: skip
    assert ran.exit_code == exits.OK, ran.stderr
    cluster = read_state(json.dumps(drained_state())).state
    plan = read_plan(Path(names["plan.json"]).read_bytes(), cluster)
    assert judge(cluster, plan.schedule).holds
    assert plan.measures is not None
    moves = [json.loads(p.read_text()) for p in sorted(world.home.glob("move*.json")) if "rollback" not in p.name]
    backs = [json.loads(p.read_text()) for p in sorted(world.home.glob("move*rollback*"))]
    after = {(p["topic"], p["partition"]): p["replicas"] for m in moves for p in m["partitions"]}
    before = {(p["topic"], p["partition"]): p["replicas"] for m in backs for p in m["partitions"]}
    assert all(1 not in replicas for replicas in after.values())
    said = {(p["topic"], p["partition"]): p["replicas"] for p in state()["partitions"]}
    assert before == {name: said[name] for name in after}
    assert "<svg" in Path(names["p.svg"]).read_text()


def test_throttles_are_commands_for_everybody_who_takes_part_and_how_to_remove_them(world: World, file: str) -> None:
    target = world.home / "throttles.sh"
    world.run("drain", "plan", "--state", file, "--brokers", "1", "--throttles", str(target))
    text = target.read_text()
    head = 'kafka-configs.sh --bootstrap-server "$BOOTSTRAP" --alter --entity-type'
    assert f"{head} brokers --entity-name 2 --add-config" in text
    assert re.search(r"--entity-name 2 --add-config \S*follower.replication.throttled.rate=\d+", text)
    (lists,) = [line for line in text.splitlines() if "--entity-type topics" in line and "--add-config" in line]
    found = re.search(r"follower.replication.throttled.replicas=\[([^\]]*)\]", lists)
    assert found is not None
    assert sorted(found[1].split(",")) == ["0:2", "2:2", "4:2", "6:2"]
    assert text.count("--delete-config") == text.count("--add-config")
    assert all(line.startswith("# ") for line in text.splitlines() if "--delete-config" in line)


def test_destinations_are_kept(world: World) -> None:
    brokers = [broker(1, "a"), broker(2, "a"), broker(3, "b"), broker(4, "b"), broker(5, "a", state="new")]
    file = written(world.home, state(brokers=brokers))
    ran = world.run("drain", "plan", "--state", file, "--brokers", "1", "--destinations", "1=5", "-o", "json")
    rows = {b["id"]: b for b in json.loads(ran.stdout)["brokers"]}
    assert (rows[5]["bytes_in"], rows[2]["bytes_in"]) == (4 * 2**30, 0)


def test_excluded_topics_stay_and_the_certificate_says_so(world: World) -> None:
    content = state(partition("orders", 0, 1, 3), partition("audit", 0, 1, 4))
    file = written(world.home, content)
    ran = world.run("drain", "plan", "--state", file, "--brokers", "1", "--exclude-topics", "audit", "-o", "json")
    answer = json.loads(ran.stdout)
    assert ran.exit_code == exits.OK
    assert (answer["left_behind"], answer["brokers"][0]["replicas_after"]) == (1, 1)
    assert "1 partitions stay on drained brokers because they were excluded" in answer["assumptions"]


def test_assumptions_of_the_state_are_on_the_certificate(world: World) -> None:
    content = drained_state() | {"assumptions": ["egress of all brokers: as given"]}
    del content["partitions"][0]["read_bytes_per_s"]
    ran = world.run("drain", "plan", "--state", written(world.home, content))
    assert "  egress of all brokers: as given" in ran.stdout
    assert "read rates of 1 of 8 partitions are unknown" in ran.stdout


def test_a_drained_broker_without_replicas_has_nothing_to_do(world: World) -> None:
    file = written(world.home, state(partition("orders", 0, 2, 3)))
    ran = world.run("drain", "plan", "--state", file, "--brokers", "1")
    assert (ran.exit_code, "nothing to do, they hold no replica" in ran.stdout) == (exits.OK, True)


# --- no plan ----------------------------------------------------------------------------------------------------


def too_small() -> dict[str, Any]:
    """Broker 1 leaves, and broker 2 has room for one of its four logs."""
    brokers = [broker(1, "a"), broker(2, "a", disk_bytes=6 * 2**30), broker(3, "b"), broker(4, "b")]
    return state(brokers=brokers)


def test_no_plan_is_exit_1_with_the_smallest_thing_to_add(world: World) -> None:
    target = world.home / "plan.json"
    ran = world.run(
        "drain", "plan", "--state", written(world.home, too_small()), "--brokers", "1", "--output", str(target)
    )
    assert ran.exit_code == exits.FAILED
    assert ran.stdout == ""
    assert "error: there is no plan" in ran.stderr
    assert "found no disk below the limit of 85%: add" in ran.stderr
    assert "--allow-partial" in ran.stderr
    assert not target.exists()


def test_no_plan_as_json_is_typed_and_names_the_partitions(world: World) -> None:
    ran = world.run("drain", "plan", "--state", written(world.home, too_small()), "--brokers", "1", "-o", "json")
    answer = json.loads(ran.stdout)
    assert ran.exit_code == exits.FAILED
    assert (answer["outcome"], answer["reason"]["kind"]) == ("infeasible", "disk")
    assert {p["topic"] for p in answer["reason"]["stuck"]} == {"orders"}
    assert "certificate" not in answer


def test_the_feasible_part_is_planned_on_request_and_called_that(world: World) -> None:
    file = written(world.home, too_small())
    ran = world.run("drain", "plan", "--state", file, "--brokers", "1", "--allow-partial", "-o", "json")
    answer = json.loads(ran.stdout)
    assert (ran.exit_code, answer["outcome"]) == (exits.OK, "partial")
    assert answer["left_behind"] == len(answer["reason"]["stuck"]) > 0
    assert "in part only" in ran.stderr


def test_a_partition_out_of_sync_has_to_be_repaired_first(world: World) -> None:
    file = written(world.home, state(partition("orders", 0, 1, 3, isr=[1])))
    ran = world.run("drain", "plan", "--state", file, "--brokers", "1")
    assert ran.exit_code == exits.FAILED
    assert "orders-0 must be repaired first" in ran.stderr


def bad(**changes: Any) -> dict[str, Any]:
    return state(partition("orders", 0, 1, 3, **changes))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"version": 1}, "brokers: is missing"),
        (state(disk_limit=float("nan")), "disk_limit"),
        (bad(size_bytes=-1), "partitions[0].size_bytes"),
        (bad(replicas=[1, 9]), "no broker 9 in this file"),
        (bad(isr=[2]), "broker 2 is in sync but holds no replica"),
        (state(brokers=[broker(1, "a", disk_bytes=0), broker(3, "b")]), "brokers[0].disk_bytes"),
        (state(brokers=[broker(1, ""), broker(3, "b")]), "brokers[0].rack"),
        (state(brokers=[{"id": 1, "rack": "a"}, broker(3, "b")]), "brokers[0].ingress_bytes_per_s: is missing"),
    ],
)
def test_a_bad_state_is_refused_with_the_place_in_words_and_as_json(
    world: World, content: dict[str, Any], words: str
) -> None:
    file = written(world.home, content)
    told = world.run("drain", "plan", "--state", file, "--brokers", "1")
    assert (told.exit_code, told.stdout) == (exits.FAILED, "")
    assert words in told.stderr
    answer = json.loads(world.run("drain", "plan", "--state", file, "--brokers", "1", "-o", "json").stdout)
    assert answer["outcome"] == "refused"
    assert any(words in f"{p['path']}: {p['message']}" for p in answer["problems"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name one state"),
        (["--state", "FILE", "--cluster", "orders"], "both are given"),
        (["--state", "FILE"], "no broker is to be drained"),
        (["--state", "FILE", "--brokers", "9"], "there is no broker 9"),
        (["--state", "FILE", "--brokers", "one"], "`one` is not a broker id"),
        (["--state", "FILE", "--brokers", "1", "--destinations", "5"], "`5` names no destination"),
        (["--state", "FILE", "--brokers", "1", "--destinations", "2=3"], "broker 2 is not drained"),
        (["--state", "FILE", "--brokers", "1,2", "--destinations", "1=2"], "broker 2 may not receive"),
        (["--state", "FILE", "--brokers", "1", "--exclude-topics", "order"], "there is no topic order"),
        (["--state", "FILE", "--brokers", "1", "--disk-limit", "85"], "85.0 is not a part of a disk"),
        (["--state", "FILE", "--brokers", "1", "--plot", "p.gif"], "p.gif is not a picture"),
    ],
)
def test_a_command_line_that_makes_no_sense_has_its_own_exit_code(
    world: World, file: str, arguments: list[str], words: str
) -> None:
    ran = world.run("drain", "plan", *(file if a == "FILE" else a for a in arguments))
    assert (ran.exit_code, ran.stdout) == (exits.USAGE, "")
    assert words in ran.stderr


def test_a_file_that_is_not_there_is_told(world: World) -> None:
    ran = world.run("drain", "plan", "--state", "nowhere.json", "--brokers", "1")
    assert (ran.exit_code, "check the path" in ran.stderr) == (exits.FAILED, True)


# --- of a cluster -----------------------------------------------------------------------------------------------


def test_the_server_is_asked_for_the_state_of_a_cluster(world: World) -> None:
    world.server.cluster(detail())
    out = api.StateOut(cluster="orders", at=START, age_s=300, document=drained_state())
    world.server.on("GET", "/clusters/orders/state", out)
    ran = world.run("drain", "plan", "--cluster", "orders")
    assert ran.exit_code == exits.OK, ran.stderr
    assert "(cluster orders)" in ran.stdout
    assert "the state is 5 min 0 s old" in ran.stderr or "the state is 5 min old" in ran.stderr


def test_a_cluster_whose_bandwidth_nobody_knows_says_how_to_give_it(world: World) -> None:
    content = drained_state()
    del content["brokers"][1]["ingress_bytes_per_s"]
    out = api.StateOut(cluster="orders", at=START, age_s=1, document=content)
    world.server.on("GET", "/clusters/orders/state", out)
    ran = world.run("drain", "plan", "--cluster", "orders")
    assert ran.exit_code == exits.FAILED
    assert "brokers[1].ingress_bytes_per_s: is missing" in ran.stderr
    assert "kedge state export --cluster orders --bandwidth RATE" in ran.stderr


# --- check ------------------------------------------------------------------------------------------------------


def test_a_good_plan_holds_and_a_certificate_that_lies_is_told(world: World, file: str) -> None:
    plan = world.home / "plan.json"
    world.run("drain", "plan", "--state", file, "--brokers", "1", "--output", str(plan))
    ran = world.run("drain", "check", "--state", file, "--brokers", "1", "--plan", str(plan))
    assert ran.exit_code == exits.OK, ran.stderr
    assert "keeps every rule and leaves nothing behind" in ran.stdout
    content = json.loads(plan.read_text())
    content["certificate"]["makespan_s"]["value"] = 1.0
    lies = written(world.home, content, "lies.json")
    told = world.run("drain", "check", "--state", file, "--brokers", "1", "--plan", lies)
    assert "its certificate says makespan_s 1, the replay found 40.96" in told.stdout


def test_kafkas_own_json_is_judged_and_what_it_breaks_is_named(world: World, file: str) -> None:
    moves = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [4, 3], "log_dirs": ["any"]}]}
    plan = written(world.home, moves, "rival.json")
    ran = world.run("drain", "check", "--state", file, "--brokers", "1", "--plan", plan, "-o", "json")
    answer = json.loads(ran.stdout)
    assert ran.exit_code == exits.FAILED
    assert (answer["holds"], answer["left_behind"]) == (False, 3)
    assert {v["rule"] for v in answer["violations"]} == {"H2"}
    told = world.run("drain", "check", "--state", file, "--brokers", "1", "--plan", plan).stdout
    assert "breaks H2 and leaves 3 replicas on brokers that are to be emptied" in told


def test_a_plan_for_another_cluster_is_refused(world: World, file: str) -> None:
    other = written(
        world.home, {"version": 1, "partitions": [{"topic": "x", "partition": 0, "replicas": [7]}]}, "o.json"
    )
    ran = world.run("drain", "check", "--state", file, "--plan", other)
    assert ran.exit_code == exits.FAILED
    assert "the state has no partition x-0" in ran.stderr
    assert "is it the plan for this state?" in ran.stderr
