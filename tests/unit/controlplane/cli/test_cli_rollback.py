"""`kedge rollback`: shows the plan, asks, and says what came of it."""

import json
from typing import Any

import pytest

from controlplane.api.schemas.rollbacks import RollbackOut
from controlplane.api.schemas.sources import PullRequestOut
from tests.unit.controlplane.cli.cli_world import World, problem, spec_problem

PATH = "/clusters/orders/rollback"
PULL = PullRequestOut(
    number=7, url="https://git.example.org/platform/specs/pull/7", branch="kedge/rollback-orders-1-ab"
)


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def told(**changes: Any) -> RollbackOut:
    fields: dict[str, Any] = {
        "cluster": "orders",
        "generation": 1,
        "way": "apply",
        "source": "api",
        "text": "kind: KafkaCluster  # " + "w" * 200 + "\n",
        "ok": True,
        "problems": [],
        "plans": [],
        "digest": "d1",
    }
    return RollbackOut(**fields | changes)


def test_it_asks_and_then_has_that_very_plan_declared(world: World) -> None:
    done = told(changed=True, sentence="orders is declared as generation 1 had it (generation 3)")
    world.server.on("POST", PATH, told(), done)
    result = world.run("rollback", "orders", "--to", "1", "--reason", "slower", typed="y\n", stdin=True, stderr=True)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "orders is declared as generation 1 had it (generation 3)\n"
    assert "kedge wait orders --for=converged" in result.stderr
    first, second = world.server.bodies("POST", PATH)
    assert (first["dry_run"], second["dry_run"], second["plan_digest"]) == (True, False, "d1")
    assert second["reason"] == "slower"


def test_without_a_yes_nothing_is_done(world: World) -> None:
    world.server.on("POST", PATH, told())
    assert world.run("rollback", "orders", "--to", "1").exit_code == 1
    assert world.run("rollback", "orders", "--to", "1", typed="n\n", stdin=True, stderr=True).exit_code == 1
    assert all(body["dry_run"] for body in world.server.bodies("POST", PATH))


def test_of_git_it_says_where_the_pull_request_is(world: World) -> None:
    shown = told(way="pull-request", source="git:teams", path="kafka/orders.yaml")
    done = shown.model_copy(update={"request": PULL, "sentence": f"a pull request is open: {PULL.url}"})
    world.server.on("POST", PATH, shown, done)
    result = world.run("rollback", "orders", "--to", "1", "-y")
    assert (result.exit_code, PULL.url in result.stdout) == (0, True)
    world.server.on("POST", PATH, shown, done)
    result = world.run("rollback", "orders", "--to", "1", "-y", "-o", "json")
    assert json.loads(result.stdout)["request"]["number"] == 7


def test_where_no_forge_is_set_the_file_is_on_stdout_as_it_is_and_it_is_not_done(world: World) -> None:
    found = told(way="file", source="git:teams", path="kafka/orders.yaml")
    world.server.on("POST", PATH, found)
    result = world.run("rollback", "orders", "--to", "1", "-y")
    assert result.exit_code == 4
    assert result.stdout == found.text
    assert "commit what is on stdout to kafka/orders.yaml" in " ".join(result.stderr.split())
    assert len(world.server.bodies("POST", PATH)) == 1


def test_a_proposal_and_a_refusal_have_exit_codes_of_their_own(world: World) -> None:
    waits = told(proposal="0123456789ab", reserved=["orders: too dear"], sentence="a second person must approve")
    world.server.on("POST", PATH, told(reserved=["orders: too dear"]), waits)
    result = world.run("rollback", "orders", "--to", "1", "-y")
    assert result.exit_code == 4
    assert "kedge proposal approve 0123456789ab" in result.stderr
    world.server.on("POST", PATH, told(ok=False, problems=[spec_problem()]))
    result = world.run("rollback", "orders", "--to", "1", "-y")
    assert result.exit_code == 1
    assert "validate -f orders" not in result.stderr, "there is no such file"
    assert "go back to another generation, or declare what is to be: kedge apply -f FILE" in result.stderr
    world.server.on("POST", PATH, problem(404, "generation-not-found", "orders has no generation 9"))
    result = world.run("rollback", "orders", "--to", "9", "-y")
    assert result.exit_code == 1
    assert result.stderr == "error: orders has no generation 9 [generation-not-found]\n"


def test_a_topic_goes_back_alone_and_its_change_is_shown_before(world: World) -> None:
    path = "/clusters/orders/topics/payments/rollback"
    line = "~ topic orders/payments: retention.ms 7200000 -> unset"
    shown = told(topic="payments", topics=[line])
    done = shown.model_copy(update={"changed": True, "sentence": "orders/payments is declared as declaration 1 had it"})
    world.server.on("POST", path, shown, done)
    arguments = ["rollback", "orders", "--topic", "payments", "--to", "1"]
    result = world.run(*arguments, typed="y\n", stdin=True, stderr=True)
    assert result.exit_code == 0, result.stderr
    assert line in result.stderr
    assert "the spec of declaration 1 again?" in result.stderr
    assert result.stdout == "orders/payments is declared as declaration 1 had it\n"
    assert "kedge topic describe orders payments" in result.stderr
    assert world.server.bodies("POST", path)[1]["plan_digest"] == "d1"
    assert world.server.bodies("POST", PATH) == [], "its cluster stays"


def test_a_declaration_that_is_none_is_told_as_such_and_not_as_an_unknown_cluster(world: World) -> None:
    path = "/clusters/orders/topics/payments/rollback"
    world.server.on("POST", path, problem(404, "declaration-not-found", "orders/payments has no declaration 9"))
    result = world.run("rollback", "orders", "--topic", "payments", "--to", "9", "-y")
    assert result.exit_code == 1
    assert "orders/payments has no declaration 9" in result.stderr
