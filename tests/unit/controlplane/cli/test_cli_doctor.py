"""`kedge doctor` by a server that was chosen: waited for, shown alike; and from here where none was."""

import json
from typing import Any

import pytest

from controlplane.api.schemas.doctor import DoctorOut, ExaminationOut, FindingOut
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import START, URL, World, problem

WRONG = FindingOut(what="aws/a/r: images", well=False, told="there is no ami-1", what_next="Correct aws.yaml.")
RIGHT = FindingOut(what="settings", well=True, told="accounts a, 1 regions")
SILENT = FindingOut(what="aws/a/r: quota", well=None, told="nobody tells it", what_next="Look there.")


def told(*findings: FindingOut, **changes: Any) -> DoctorOut:
    fields: dict[str, Any] = {"cloud": "aws", "asking": False, "began_at": START, "ended_at": START}
    return DoctorOut(items=[ExaminationOut(**fields | changes, findings=list(findings))])


ASKING = told(asking=True, began_at=None, ended_at=None)


@pytest.fixture
def elsewhere(world: World) -> World:
    world.environ["KEDGE_SERVER"] = URL
    return world


def test_a_server_that_asks_is_waited_for_and_its_findings_shown(elsewhere: World) -> None:
    elsewhere.server.on("GET", "/doctor", ASKING, ASKING, told(RIGHT, SILENT))
    ran = elsewhere.run("doctor", "--cloud", "aws")
    assert ran.exit_code == exits.OK
    assert elsewhere.time.sleeps == [1.0, 1.0]
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["ok", "unknown"]
    assert "aws/a/r: quota: nobody tells it  -> Look there." in ran.stdout
    assert ran.stderr == "asked by the server at 2026-01-02 03:04:05 UTC\n"
    assert dict(elsewhere.server.requests[0].url.params) == {"cloud": "aws"}


def test_what_is_wrong_ends_it_with_what_to_do(elsewhere: World) -> None:
    elsewhere.server.on("GET", "/doctor", told(RIGHT, WRONG))
    ran = elsewhere.run("doctor", "--cloud", "aws", "-o", "json")
    assert ran.exit_code == exits.FAILED
    shown = json.loads(ran.stdout)
    assert (shown["kind"], shown["cloud"]) == ("Examination", "aws")
    assert shown["findings"][1] == {
        "what": "aws/a/r: images",
        "well": False,
        "told": "there is no ami-1",
        "whatNext": "Correct aws.yaml.",
    }
    assert "aws is not ready" in ran.stderr
    assert "Correct aws.yaml." in ran.stderr


def test_a_server_that_does_not_come_to_an_end_is_not_waited_for_for_ever(elsewhere: World) -> None:
    elsewhere.server.on("GET", "/doctor", ASKING)
    ran = elsewhere.run("doctor", "--cloud", "aws")
    assert (ran.exit_code, sum(elsewhere.time.sleeps)) == (exits.FAILED, 300)
    assert "it has asked for 300 s" in ran.stderr


def test_who_is_no_administrator_is_told_why(elsewhere: World) -> None:
    elsewhere.server.on("GET", "/doctor", problem(403, "forbidden", "no", detail="you may not administer the clouds"))
    ran = elsewhere.run("doctor", "--cloud", "aws")
    assert ran.exit_code != exits.OK
    assert "you may not administer the clouds" in ran.stderr


@pytest.mark.parametrize("chosen", [{}, {"KEDGE_SERVER": URL}])
def test_without_a_server_or_with_a_home_the_files_here_are_read(world: World, chosen: dict[str, str]) -> None:
    world.environ |= chosen
    ran = world.run("doctor", "--cloud", "hetzner", "--home", str(world.home / ".kedge"))
    assert ran.exit_code == exits.FAILED
    assert "hetzner.yaml" in ran.stderr
    assert world.server.requests == []
