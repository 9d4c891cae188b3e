"""apply: what was shown is what is recorded, or nothing; nobody at the keyboard is never waited for."""

import json
from pathlib import Path

import httpx
import pytest

from controlplane.api.schemas import specs as spec_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import (
    World,
    applied,
    detail,
    no_change,
    plan_of,
    plans_of,
    problem,
    rolling,
    snapshot,
    spec_problem,
)


@pytest.fixture
def world(world: World) -> World:
    world.server.plans(plans_of(plan_of()))
    world.server.on("POST", "/apply", applied())
    return world


def orders(world: World) -> list[dict[str, object]]:
    return world.server.bodies("POST", "/apply")


def saved(world: World) -> str:
    """A plan file of what the server plans now."""
    out = str(world.home / "orders.plan")
    assert world.run("plan", "-f", world.spec("kind: saved\n"), "-o", out).exit_code == exits.OK
    return out


# --- the question -----------------------------------------------------------------------------------------------


def test_it_shows_the_plan_and_asks_on_stderr_and_answers_on_stdout(world: World) -> None:
    ran = world.terminal("apply", "-f", world.spec(), typed="y\n")
    assert ran.exit_code == exits.OK
    assert "spec.kafka.version: 4.1.1 -> 4.2.0" in ran.stderr
    assert "[y/N]" in ran.stderr
    assert ran.stdout == "orders changed (generation 2)\n"
    assert "kedge wait orders --for=converged" in ran.stderr


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " yes \n"])
def test_a_yes_holds_on_to_the_plan_that_was_shown(world: World, answer: str) -> None:
    assert world.terminal("apply", "-f", world.spec(), typed=answer).exit_code == exits.OK
    assert orders(world)[0]["plan_digest"] == "aaa-bbb-ccc"


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "yep\n", "orders\n"])
def test_anything_else_changes_nothing(world: World, answer: str) -> None:
    ran = world.terminal("apply", "-f", world.spec(), typed=answer)
    assert (ran.exit_code, orders(world)) == (exits.FAILED, [])
    assert "nothing was changed" in ran.stderr


@pytest.mark.parametrize(("stdin", "stderr"), [(False, False), (True, False), (False, True)])
def test_without_a_terminal_it_ends_with_a_hint_and_reads_nothing(world: World, stdin: bool, stderr: bool) -> None:
    ran = world.run("apply", "-f", world.spec(), typed="y\n", stdin=stdin, stderr=stderr)
    assert (ran.exit_code, orders(world)) == (exits.FAILED, [])
    assert "add -y" in ran.stderr


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_and_a_dumb_terminal_do_not_take_the_question_away(world: World, environ: dict[str, str]) -> None:
    world.environ |= environ
    ran = world.terminal("apply", "-f", world.spec(), typed="y\n")
    assert ran.exit_code == exits.OK
    assert "[y/N]" in ran.stderr


def test_force_color_does_not_make_a_pipe_a_person(world: World) -> None:
    world.environ["FORCE_COLOR"] = "1"
    assert world.run("apply", "-f", world.spec(), typed="y\n").exit_code == exits.FAILED
    assert orders(world) == []


def test_with_y_it_declares_the_file_whatever_its_plan_is_by_then(world: World) -> None:
    ran = world.run("apply", "-f", world.spec("the text\n"), "-y", "-m", "for Ada")
    assert ran.exit_code == exits.OK
    order = orders(world)[0]
    assert (order["text"], order["plan_digest"], order["message"]) == ("the text\n", None, "for Ada")


def test_an_empty_plan_asks_nothing_and_is_still_held_on_to(world: World) -> None:
    world.server.plans(plans_of(no_change()))
    world.server.on("POST", "/apply", applied(generation=1, changed=False))
    ran = world.run("apply", "-f", world.spec())
    assert (ran.exit_code, ran.stdout) == (exits.OK, "orders unchanged (generation 1)\n")
    assert orders(world)[0]["plan_digest"] == "aaa-bbb-ccc"


def test_a_new_cluster_is_declared(world: World) -> None:
    world.server.on("POST", "/apply", applied(generation=1, created=True))
    assert world.run("apply", "-f", world.spec(), "-y").stdout == "orders declared (generation 1)\n"


def test_ctrl_c_at_the_question_changes_nothing(world: World) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    world.read_line = interrupted
    ran = world.terminal("apply", "-f", world.spec())
    assert (ran.exit_code, orders(world)) == (exits.INTERRUPTED, [])


# --- refusals ---------------------------------------------------------------------------------------------------


def test_a_refused_spec_is_told_with_all_its_problems(world: World) -> None:
    world.server.plans(plans_of(problems=[spec_problem(), spec_problem("warning")]))
    ran = world.run("apply", "-f", world.spec(), "-y")
    assert (ran.exit_code, orders(world), ran.stdout) == (exits.FAILED, [], "")
    assert ran.stderr.count("KEDGE-SPEC-020") == 2


def test_problems_found_only_when_it_was_recorded_are_told_too(world: World) -> None:
    world.server.on("POST", "/apply", spec_api.ApplyOut(ok=False, problems=[spec_problem()], applied=[], plans=[]))
    ran = world.run("apply", "-f", world.spec(), "-y")
    assert ran.exit_code == exits.FAILED
    assert "KEDGE-SPEC-020" in ran.stderr


def test_a_plan_that_moves_between_the_yes_and_the_server_is_refused_and_named(world: World) -> None:
    world.server.plans(plans_of(plan_of()), plans_of(plan_of(digest="aaa-xxx-ccc", generation=3)))
    world.server.on("POST", "/apply", problem(409, "plan-moved", "refused", detail="moved"))
    ran = world.terminal("apply", "-f", world.spec(), typed="y\n")
    assert ran.exit_code == exits.FAILED
    assert "orders: it would become generation 3, not 2: another spec was applied" in ran.stderr
    assert "next:  look again: kedge plan -f" in ran.stderr


def test_another_conflict_is_told_in_the_servers_own_words(world: World) -> None:
    world.server.on("POST", "/apply", problem(409, "being-deleted", "refused", detail="orders is being deleted"))
    ran = world.terminal("apply", "-f", world.spec(), typed="y\n")
    assert ran.exit_code == exits.FAILED
    assert "orders is being deleted" in ran.stderr


# --- saved plans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [[], ["-f"]])
def test_a_saved_plan_brings_its_own_spec_and_is_held_on_to_even_with_y(world: World, how: list[str]) -> None:
    plan = saved(world)
    assert world.run("apply", *how, plan, "-y").exit_code == exits.OK
    order = orders(world)[0]
    assert (order["text"], order["plan_digest"]) == ("kind: saved\n", "aaa-bbb-ccc")


@pytest.mark.parametrize(
    ("now", "named"),
    [
        (plan_of(digest="x", generation=3), "it would become generation 3, not 2"),
        (plan_of(digest="x", changes=[]), "the changed fields are others: none"),
        (plan_of(digest="x", phases=[]), "the steps are others: none"),
        (plan_of(digest="x", warnings=["w1"]), "the warnings are others: w1"),
        (plan_of(digest="x"), "what is in force on the cluster is not what it was"),
        (plan_of("payments", digest="x"), "it is not planned any more"),
    ],
)
def test_a_saved_plan_that_moved_is_refused_and_says_in_what(world: World, now: spec_api.PlanOut, named: str) -> None:
    plan = saved(world)
    world.server.plans(plans_of(now))
    ran = world.run("apply", plan, "-y")
    assert (ran.exit_code, orders(world)) == (exits.FAILED, [])
    assert f"orders: {named}" in ran.stderr


def test_bytes_that_grew_are_no_other_plan(world: World) -> None:
    plan = saved(world)
    world.server.plans(plans_of(plan_of(bytes=10**12, seconds=10.0**6)))
    assert world.run("apply", plan, "-y").exit_code == exits.OK


def test_a_saved_plan_changed_by_hand_is_refused(world: World) -> None:
    plan = Path(saved(world))
    content = json.loads(plan.read_text()) | {"spec": "kind: other\n"}
    plan.write_text(json.dumps(content, indent=2))
    ran = world.run("apply", str(plan), "-y")
    assert (ran.exit_code, orders(world)) == (exits.FAILED, [])
    assert "changed by hand" in ran.stderr


def test_a_damaged_saved_plan_says_how_to_make_it_anew(world: World) -> None:
    plan = Path(saved(world))
    plan.write_text(plan.read_text()[:-40])
    ran = world.run("apply", str(plan), "-y")
    assert ran.exit_code == exits.FAILED
    assert "kedge plan -f SPEC -o" in ran.stderr


def test_a_spec_given_as_a_plan_is_told_apart(world: World) -> None:
    spec = world.spec()
    ran = world.run("apply", spec, "-y")
    assert (ran.exit_code, orders(world)) == (exits.FAILED, [])
    assert f"kedge apply -f {spec}" in ran.stderr


@pytest.mark.parametrize("arguments", [[], ["x.plan", "-f", "x.yaml"]])
def test_it_wants_either_a_file_or_a_plan(world: World, arguments: list[str]) -> None:
    assert world.run("apply", *arguments).exit_code == exits.USAGE


# --- dry run and machine output ---------------------------------------------------------------------------------


def test_a_dry_run_lets_the_server_do_all_but_record_it_and_asks_nothing(world: World) -> None:
    ran = world.run("apply", "-f", world.spec(), "--dry-run")
    assert (ran.exit_code, orders(world)[0]["dry_run"]) == (exits.OK, True)
    assert "spec.kafka.version" in ran.stdout
    assert "nothing was recorded" in ran.stderr


def test_stdout_holds_one_document_and_nothing_else(world: World) -> None:
    ran = world.run("apply", "-f", world.spec(), "-y", "-o", "json")
    snapshot("apply.json", ran.stdout)


# --- waiting ----------------------------------------------------------------------------------------------------


def test_wait_follows_the_generation_that_was_recorded(world: World) -> None:
    world.server.cluster(detail(generation=2, converged_generation=1, status="Working"), rolling(), detail())
    ran = world.run("apply", "-f", world.spec(), "-y", "--wait")
    assert ran.exit_code == exits.OK
    assert ran.stdout == "orders changed (generation 2)\norders has converged at generation 2 (after 2 s)\n"


def test_a_timeout_that_is_none_is_told_before_anything_is_recorded(world: World) -> None:
    ran = world.run("apply", "-f", world.spec(), "-y", "--wait", "--timeout", "soon")
    assert (ran.exit_code, orders(world)) == (exits.USAGE, [])


def test_ctrl_c_while_waiting_detaches_and_prints_the_way_back(world: World) -> None:
    world.server.cluster(rolling())
    world.time.interrupt_after = 3
    ran = world.run("apply", "-f", world.spec(), "-y", "--wait")
    assert ran.exit_code == exits.INTERRUPTED
    assert "the server goes on" in ran.stderr
    assert "kedge wait orders --for=converged --generation 2" in ran.stderr
    assert {r.method for r in world.server.requests[2:]} == {"GET"}


def test_a_server_that_is_not_there_is_told_with_the_command_that_starts_it(world: World) -> None:
    world.server.plans(httpx.ConnectError("Connection refused"))
    ran = world.run("apply", "-f", world.spec(), "-y")
    assert ran.exit_code == exits.FAILED
    assert "kedge server" in ran.stderr
    assert "Traceback" not in ran.output
