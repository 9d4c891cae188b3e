"""`kedge proposals`, `kedge proposal`, `kedge policy`: what waits, a yes and a no, policies tried without a server."""

import json
from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import proposals as api
from tests.unit.controlplane.cli.cli_world import START, World
from tests.unit.controlplane.commands.policies.test_policy_files import POLICY, with_test
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def a_proposal(**changes: Any) -> dict[str, Any]:
    return {
        "id": "0123456789ab",
        "state": "open",
        "change": "apply",
        "clusters": ["orders"],
        "topic": "",
        "author": "user:ada",
        "claimed": "",
        "source": "api",
        "message": "drill",
        "reasons": ["orders: chaos is allowed (policy `payments`)"],
        "at": START - timedelta(hours=1),
        "expires_at": START + timedelta(days=6),
        "decided_by": "",
        "decided_at": None,
        "note": "",
        "told": "",
        **changes,
    }


def detail(**changes: Any) -> api.ProposalDetailOut:
    more = {
        "digest": "d",
        "file": "orders.yaml",
        "text": "kind: KafkaCluster\n",
        "may_approve": True,
        "still_that_plan": True,
        "plans": [],
        "topics": [],
        "problems": [],
    }
    return api.ProposalDetailOut.model_validate({**a_proposal(), **more, **changes})


def test_what_waits_is_a_table_and_a_document(world: World) -> None:
    world.server.on("GET", "/proposals", [api.ProposalOut(**a_proposal())])
    lines = world.run("proposals").stdout.splitlines()
    assert all(word in lines[1] for word in ("0123456789ab", "open", "orders", "ada", "chaos is allowed"))
    assert json.loads(world.run("proposals", "-o", "json").stdout)["items"][0]["author"] == "user:ada"


def test_nothing_that_waits_is_said(world: World) -> None:
    world.server.on("GET", "/proposals", [])
    assert "nothing waits for a second person" in world.run("proposals").stderr


def test_one_is_shown_with_what_keeps_it_from_being_done(world: World) -> None:
    world.server.on("GET", "/proposals/0123456789ab", detail(still_that_plan=False, problems=["x: refused"]))
    told = world.run("proposal", "show", "0123456789ab").stdout
    assert "an approval would only void it" in told
    assert "it would be refused now: x: refused" in told


def test_a_yes_says_what_came_of_it(world: World) -> None:
    done = api.ProposalOut(**a_proposal(state="executed", told="orders is declared, generation 2"))
    world.server.on("POST", "/proposals/0123456789ab/approve", done)
    result = world.run("proposal", "approve", "0123456789ab", "-y")
    assert (result.exit_code, result.stdout) == (
        0,
        "proposal 0123456789ab is executed: orders is declared, generation 2\n",
    )


def test_nobody_agrees_without_being_asked(world: World) -> None:
    world.server.on("GET", "/proposals/0123456789ab", detail())
    result = world.run("proposal", "approve", "0123456789ab")
    assert result.exit_code == 1
    assert "add -y" in result.stderr


def test_a_void_proposal_is_a_failure(world: World) -> None:
    void = api.ProposalOut(**a_proposal(state="void", told="the plan moved"))
    world.server.on("POST", "/proposals/0123456789ab/approve", void)
    result = world.run("proposal", "approve", "0123456789ab", "-y")
    assert result.exit_code == 1
    assert "the plan moved" in result.stderr


def test_a_no_is_recorded_with_its_note(world: World) -> None:
    world.server.on("POST", "/proposals/0123456789ab/reject", api.ProposalOut(**a_proposal(state="rejected")))
    assert "is rejected" in world.run("proposal", "reject", "0123456789ab", "--note", "no").stdout


def test_policies_are_tried_without_a_server(world: World) -> None:
    folder = world.home / "tried"
    folder.mkdir(parents=True)
    (folder / "p.yaml").write_text(with_test("refused"))
    result = world.run("policy", "test", str(folder))
    assert (result.exit_code, result.stdout) == (0, "passed small: three\n")
    (folder / "p.yaml").write_text(with_test("allowed"))
    assert world.run("policy", "test", str(folder)).exit_code == 1
    (folder / "p.yaml").write_text("nonsense")
    assert "the policies are invalid" in world.run("policy", "test", str(folder)).stderr
    assert "no such folder" in world.run("policy", "test", str(folder / "none")).stderr


def test_a_spec_is_checked_against_policies(world: World) -> None:
    folder = world.home / "tried"
    folder.mkdir(parents=True)
    (folder / "p.yaml").write_text(POLICY)
    spec = world.home / "orders.yaml"
    spec.write_text(ORDERS)
    result = world.run("policy", "check", "-f", str(spec), str(folder))
    assert result.exit_code == 1
    assert "3 brokers, at most 2 may be (policy `small`)" in result.stdout
