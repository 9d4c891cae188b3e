"""`kedge pull-request`: shows the plan, asks, and says where the request is."""

from typing import Any

import pytest

from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.schemas.spec_requests import SpecRequestOut
from tests.unit.controlplane.cli.cli_world import World, problem, spec_problem

PATH = "/pull-requests"
PULL = PullRequestOut(number=7, url="https://git.example.org/platform/specs/pull/7", branch="kedge/new-clicks-ab")


@pytest.fixture
def world(tmp_path: Any) -> World:
    world = World(tmp_path)
    (tmp_path / "clicks.yaml").write_text("kind: KafkaCluster\n")
    return world


def told(**changes: Any) -> SpecRequestOut:
    fields: dict[str, Any] = {"ok": True, "problems": [], "plans": [], "topics": ["orders/views: made"], "digest": "d1"}
    return SpecRequestOut(**{**fields, "source": "teams", "path": "", **changes})


DONE = told(request=PULL, sentence=f"a pull request is open: {PULL.url}")


def test_it_asks_and_then_opens_that_very_plan(world: World, tmp_path: Any) -> None:
    world.server.on("POST", PATH, told(), DONE)
    file = str(tmp_path / "clicks.yaml")
    result = world.run("pull-request", "-f", file, typed="y\n", stdin=True, stderr=True)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"a pull request is open: {PULL.url}\n"
    assert "orders/views: made" in result.stderr
    assert "adds a file in git:teams?" in result.stderr
    first, second = world.server.bodies("POST", PATH)
    assert (first["dry_run"], second["dry_run"], second["plan_digest"]) == (True, False, "d1")


def test_with_yes_nobody_is_asked_and_a_source_can_be_named(world: World, tmp_path: Any) -> None:
    world.server.on("POST", PATH, told(path="kafka/orders.yaml"), DONE)
    result = world.run("pull-request", "-f", str(tmp_path / "clicks.yaml"), "--source", "teams", "-y")
    assert result.exit_code == 0, result.stderr
    last = world.server.bodies("POST", PATH)[-1]
    assert (last["source"], last["plan_digest"]) == ("teams", None)


def test_without_a_yes_nothing_is_opened(world: World, tmp_path: Any) -> None:
    world.server.on("POST", PATH, told())
    file = str(tmp_path / "clicks.yaml")
    assert world.run("pull-request", "-f", file).exit_code == 1
    assert world.run("pull-request", "-f", file, typed="n\n", stdin=True, stderr=True).exit_code == 1
    assert all(body["dry_run"] for body in world.server.bodies("POST", PATH))


def test_problems_and_refusals_are_told(world: World, tmp_path: Any) -> None:
    file = str(tmp_path / "clicks.yaml")
    world.server.on("POST", PATH, told(ok=False, problems=[spec_problem()]))
    result = world.run("pull-request", "-f", file, "-y")
    assert result.exit_code == 1
    assert spec_problem().message in result.stderr
    world.server.on("POST", PATH, problem(409, "no git source with a forge takes what this file declares", "no-forge"))
    refused = world.run("pull-request", "-f", file, "-y")
    assert refused.exit_code == 1
    assert "no git source with a forge" in refused.stderr
