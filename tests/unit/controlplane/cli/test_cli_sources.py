"""`kedge sources`, `kedge take-over`, and what `get` and `describe` say of clusters that come from git."""

import json
from datetime import timedelta
from typing import Any

import pytest
import yaml

from controlplane.api.schemas import commands as command_api, sources as source_api, specs as spec_api
from tests.unit.controlplane.cli.cli_world import START, World, condition, detail, problem, spec_problem

COMMIT = "4f2a91c07be3d6a85b1f0e9c2d7a6b58c1e3f490"


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def a_source(**changes: Any) -> source_api.SourceOut:
    fields: dict[str, Any] = {
        "name": "teams",
        "source": "git:teams",
        "repository": "https://git.example.org/specs.git",
        "branch": "main",
        "path": "kafka",
        "team": "",
        "verbs": ["create", "change"],
        "poll_s": 60,
        "sync": "Synced",
        "reason": "Synced",
        "message": "2 clusters",
        "next": "",
        "since": START - timedelta(hours=1),
        "last_poll": START - timedelta(seconds=12),
        "last_reached": START - timedelta(seconds=12),
        "commit": COMMIT,
        "tip": COMMIT,
        "author": "Ada <ada@example.org>",
        "clusters": ["ads", "orders"],
        "missing": [],
        "problems": [],
    }
    return source_api.SourceOut(**fields | changes)


def from_git(**changes: Any) -> spec_api.SpecSourceOut:
    fields: dict[str, Any] = {
        "source": "git:teams",
        "repository": "https://git.example.org/specs.git",
        "branch": "main",
        "path": "kafka/orders.yaml",
        "commit": COMMIT,
        "author": "Ada <ada@example.org>",
        "sync": "Synced",
        "reason": "Synced",
        "since": START - timedelta(hours=1),
    }
    return spec_api.SpecSourceOut(**fields | changes)


def test_sources_are_a_table_with_the_last_poll_and_the_commit(world: World) -> None:
    world.server.on("GET", "/sources", [a_source()])
    result = world.run("sources")
    assert result.exit_code == 0
    head, line = result.stdout.splitlines()
    assert head.split()[:5] == ["SOURCE", "SYNC", "REASON", "SINCE", "COMMIT"]
    assert all(word in line for word in ("git:teams", "Synced", "4f2a91c", "12 s ago", "main"))


def test_problems_are_told_at_file_and_line_with_their_fix_and_the_next_step(world: World) -> None:
    told = a_source(
        sync="Refused",
        reason="SpecRefused",
        message="1 error in 1 file",
        next="Fix the files and push.",
        problems=[spec_problem()],
    )
    world.server.on("GET", "/sources", [told])
    out = world.run("sources").stdout
    assert "orders.yaml:7:3: error KEDGE-SPEC-020" in out
    assert "fix: Did you mean `size`?" in out
    assert "next: Fix the files and push." in out


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_machines_get_a_list_with_its_schema(world: World, form: str, read: Any) -> None:
    world.server.on("GET", "/sources", [a_source(problems=[spec_problem()])])
    told = read(world.run("sources", "-o", form).stdout)
    assert (told["apiVersion"], told["kind"]) == ("kedge.cli/v1", "SourceList")
    assert (told["items"][0]["commit"], told["items"][0]["problems"][0]["line"]) == (COMMIT, 7)


def test_without_a_source_it_says_where_to_set_one(world: World) -> None:
    world.server.routes["GET", "/v1/sources"] = [[]]
    result = world.run("sources")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "[[git]]" in result.stderr


def test_a_look_can_be_asked_for_by_either_name(world: World) -> None:
    answer = source_api.SourcePolledOut(source="git:teams", asked=True, sentence="it is polled now")
    world.server.on("POST", "/sources/teams/poll", answer)
    assert "it is polled now" in world.run("sources", "poll", "git:teams").stdout


def test_accepting_asks_first_and_sends_the_whole_commit(world: World) -> None:
    answer = source_api.SourcePolledOut(source="git:teams", asked=True, sentence="comes into force")
    world.server.on("POST", "/sources/teams/accept", answer)
    refused = world.run("sources", "accept", "teams", "--commit", COMMIT)
    assert refused.exit_code == 1
    assert world.server.bodies("POST", "/sources/teams/accept") == []
    assert world.terminal("sources", "accept", "teams", "--commit", COMMIT, typed="y\n").exit_code == 0
    assert world.server.bodies("POST", "/sources/teams/accept") == [{"commit": COMMIT, "reason": ""}]


def test_a_cluster_is_handed_over(world: World) -> None:
    answer = command_api.CommandOut(cluster="orders", changed=True, sentence="the spec of orders comes from api")
    world.server.on("POST", "/clusters/orders/source", answer)
    result = world.run("take-over", "orders", "--to", "api", "--reason", "git is down")
    assert "comes from api" in result.stdout
    assert world.server.bodies("POST", "/clusters/orders/source") == [{"source": "api", "reason": "git is down"}]


def test_a_hand_over_to_a_source_nobody_knows_is_no_unknown_cluster(world: World) -> None:
    unknown = problem(404, "source-not-found", "there is no git source 'x'", next_step="`kedge sources` lists them.")
    world.server.on("POST", "/clusters/orders/source", unknown)
    result = world.run("take-over", "orders", "--to", "git:x")
    assert result.exit_code == 1
    assert "there is no git source 'x'" in result.stderr


def test_describe_says_where_the_spec_comes_from(world: World) -> None:
    gone = "no file declares it any more as of 4f2a91c. Next: put the file back, or kedge delete orders"
    source = from_git(sync="OutOfSync", reason="NotDeclared", message=gone)
    told = condition("Synced", status=False, reason="NotDeclared", message=gone)
    world.server.cluster(detail(source=source, conditions=[told]))
    out = " ".join(world.run("describe", "orders").stdout.split())
    assert "git:teams: kafka/orders.yaml in https://git.example.org/specs.git, branch main" in out
    assert "4f2a91c07be3, by Ada <ada@example.org> (claimed)" in out
    assert "OutOfSync (NotDeclared), 1 h ago: no file declares it any more" in out
    assert "Synced False NotDeclared" in out
    assert "see Sync" in out
    assert out.endswith("Next put the file back, or kedge delete orders")


def test_describe_of_a_cluster_of_the_api_says_nothing_of_git(world: World) -> None:
    world.server.cluster(detail())
    assert "Sync:" not in world.run("describe", "orders").stdout


def test_get_shows_the_word_of_the_source_where_there_is_one(world: World) -> None:
    world.server.cluster(detail(source=from_git(sync="Refused", reason="SpecRefused")))
    head, line = world.run("get").stdout.splitlines()[:2]
    assert "SYNC" in head.split()
    assert "Refused" in line.split()
    wide = world.run("get", "-o", "wide").stdout
    assert all(word in wide for word in ("SOURCE", "COMMIT", "PATH"))
    world.server.cluster(detail())
    assert "SYNC" not in world.run("get").stdout
