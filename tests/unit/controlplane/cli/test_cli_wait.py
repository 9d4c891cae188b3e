"""wait: three ends and three exit codes, progress on stderr, and no end because a server restarts."""

import httpx
import pytest

from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World, condition, detail, problem, rolling, snapshot

GIVEN_UP = condition("Blocked", True, "RunFailed", "Terraform failed 5 times. Next: kedge resume orders")


def test_it_ends_with_0_once_it_is_reached(world: World) -> None:
    world.server.cluster(rolling(), rolling(), detail())
    ran = world.run("wait", "orders", "--for=converged")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "orders has converged at generation 2 (after 1 s)\n")


def test_off_a_terminal_it_prints_a_plain_line_per_step_on_stderr(world: World) -> None:
    world.server.cluster(rolling(), rolling(), rolling(sentence="drain of brokers-a-0.g1: 3 moves left"), detail())
    ran = world.run("wait", "orders")
    snapshot("wait.txt", ran.stderr)


def test_numbers_that_change_are_no_new_line(world: World) -> None:
    answers = [rolling(sentence=f"lingering, {left} s left") for left in range(9, 0, -1)]
    world.server.cluster(*answers, detail())
    assert world.run("wait", "orders").stderr.count("lingering") == 1


def test_it_ends_with_3_when_time_is_up_and_says_how_to_go_on(world: World) -> None:
    world.server.cluster(rolling())
    ran = world.run("wait", "orders", "--timeout", "90s")
    assert (ran.exit_code, ran.stdout) == (exits.TIMED_OUT, "")
    assert world.time.elapsed_s == 90
    assert "not generation 2 converged after 1 min 30 s" in ran.stderr
    assert "batch 2 of 5" in ran.stderr
    assert "next:  kedge wait orders --for=converged --generation 2" in ran.stderr


def test_it_ends_with_4_at_once_when_the_server_has_given_up(world: World) -> None:
    stuck = rolling(status="Blocked", conditions=[GIVEN_UP])
    world.server.cluster(stuck, stuck, stuck.model_copy(update={"sentence_at": world.time.utc_now().replace(hour=9)}))
    ran = world.run("wait", "orders", "--timeout", "1h")
    assert ran.exit_code == exits.BLOCKED
    assert world.time.elapsed_s <= 2
    assert "why:   Terraform failed 5 times\n" in ran.stderr
    assert "next:  kedge resume orders\n" in ran.stderr


def test_a_condition_from_before_the_resume_is_not_believed_before_the_next_tick(world: World) -> None:
    stuck = rolling(status="Blocked", conditions=[GIVEN_UP])
    world.server.cluster(stuck, stuck, rolling(), detail())
    assert world.run("wait", "orders").exit_code == exits.OK


def test_without_any_tick_the_condition_is_believed_after_a_few_seconds(world: World) -> None:
    world.server.cluster(rolling(status="Blocked", conditions=[GIVEN_UP]))
    assert world.run("wait", "orders").exit_code == exits.BLOCKED
    assert world.time.elapsed_s == 5


def test_a_newer_spec_is_told_and_not_mistaken_for_the_one_that_was_meant(world: World) -> None:
    newer = rolling(generation=3, sentence_at=None)
    world.server.cluster(rolling(), rolling(), newer)
    ran = world.run("wait", "orders")
    assert ran.exit_code == exits.BLOCKED
    assert "generation 3 was declared before generation 2 was reached" in ran.stderr


def test_a_generation_can_be_named(world: World) -> None:
    world.server.cluster(rolling(generation=3, converged_generation=2))
    assert world.run("wait", "orders", "--generation", "2").exit_code == exits.OK


def test_it_outlives_a_server_that_restarts(world: World) -> None:
    world.server.cluster(
        rolling(),
        rolling(),
        httpx.ConnectError("Connection refused"),
        problem(503, "store-unavailable", "the database does not answer"),
        detail(),
    )
    ran = world.run("wait", "orders")
    assert ran.exit_code == exits.OK
    assert ran.stderr.count("waiting for it to come back") == 1


def test_a_server_that_is_not_there_at_the_start_is_an_error(world: World) -> None:
    world.server.on("GET", "/clusters/orders", httpx.ConnectError("Connection refused"))
    assert world.run("wait", "orders").exit_code == exits.FAILED
    assert world.time.sleeps == []


def test_ctrl_c_detaches_with_130_and_prints_the_way_back(world: World) -> None:
    world.server.cluster(rolling())
    world.time.interrupt_after = 2
    ran = world.run("wait", "orders", "--for=condition=Blocked")
    assert ran.exit_code == exits.INTERRUPTED
    assert "kedge wait orders --for=condition=Blocked" in ran.stderr


@pytest.mark.parametrize("goal", ["condition=Blocked", "condition=blocked=true"])
def test_it_waits_for_a_condition(world: World, goal: str) -> None:
    world.server.cluster(rolling(), rolling(), rolling(conditions=[condition("Blocked", True, "BrokerDown")]))
    ran = world.run("wait", "orders", f"--for={goal}")
    assert ran.exit_code == exits.OK
    assert "is true" in ran.stdout


def test_the_condition_converged_is_pinned_too(world: World) -> None:
    stale = detail(converged_generation=1, status="Working", conditions=[condition("Converged")])
    world.server.cluster(stale, stale, detail())
    assert world.run("wait", "orders", "--for=condition=Converged").exit_code == exits.OK
    assert world.time.elapsed_s == 1


def test_deleted_is_reached_when_the_name_is_gone(world: World) -> None:
    gone = problem(404, "cluster-not-found", "there is no cluster 'orders'")
    world.server.cluster(detail(status="Deleting"), detail(status="Deleting"), gone)
    ran = world.run("wait", "orders", "--for=deleted")
    assert (ran.exit_code, ran.stdout) == (exits.OK, "orders is gone (after 1 s)\n")


def test_a_cluster_that_is_gone_already_is_deleted(world: World) -> None:
    assert world.run("wait", "orders", "--for=deleted").exit_code == exits.OK


def test_a_cluster_that_never_was_cannot_converge(world: World) -> None:
    world.server.cluster(detail("orders"))
    ran = world.run("wait", "oders")
    assert ran.exit_code == exits.FAILED
    assert "did you mean `orders`?" in ran.stderr


@pytest.mark.parametrize("goal", ["happiness", "condition", "condition=", "condition=X=maybe", "converged=2"])
def test_what_nobody_can_wait_for_is_a_usage_error_that_lists_the_goals(world: World, goal: str) -> None:
    world.server.cluster(detail())
    ran = world.run("wait", "orders", f"--for={goal}")
    assert ran.exit_code == exits.USAGE
    assert "--for=deleted" in ran.stderr


def test_a_timeout_that_is_none_is_a_usage_error(world: World) -> None:
    world.server.cluster(rolling())
    assert world.run("wait", "orders", "--timeout", "soon").exit_code == exits.USAGE


def test_timeout_0_waits_for_ever(world: World) -> None:
    world.server.cluster(rolling())
    world.time.interrupt_after = 300
    assert world.run("wait", "orders", "--timeout", "0").exit_code == exits.INTERRUPTED
    assert world.time.elapsed_s == 300


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        ([rolling(), detail()], "wait-reached.json"),
        ([rolling(status="Blocked", conditions=[GIVEN_UP])], "wait-needs-a-person.json"),
        ([rolling()], "wait-timed-out.json"),
    ],
)
def test_each_end_is_a_versioned_document(world: World, answers: list[object], name: str) -> None:
    world.server.cluster(*answers)  # type: ignore[arg-type]
    ran = world.run("wait", "orders", "-o", "json", "--timeout", "10s")
    snapshot(name, ran.stdout)


def test_on_a_terminal_progress_is_redrawn_on_stderr_and_stdout_stays_clean(world: World) -> None:
    world.environ |= {"TERM": "xterm", "COLUMNS": "120"}
    world.server.cluster(rolling(), rolling(), detail())
    ran = world.terminal("wait", "orders")
    assert "\x1b[2K" in ran.stderr
    assert "[draining]" in ran.stderr
    assert ran.stdout == "orders has converged at generation 2 (after 1 s)\n"


def test_no_color_still_redraws_on_a_terminal(world: World) -> None:
    world.environ |= {"TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"}
    world.server.cluster(rolling(), rolling(), detail())
    ran = world.terminal("wait", "orders")
    assert "\x1b[2K" in ran.stderr
    assert "\x1b[1m" not in ran.stderr
    assert "\x1b[3" not in ran.stderr


def test_a_dumb_terminal_gets_plain_lines(world: World) -> None:
    world.environ["TERM"] = "dumb"
    world.server.cluster(rolling(), rolling(), detail())
    assert "\x1b" not in world.terminal("wait", "orders").output
