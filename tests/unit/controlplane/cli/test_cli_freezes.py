"""`kedge freeze`, `kedge freezes`, `kedge thaw`: what is sent, what is never sent, and the table."""

import json
from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.schemas import freezes as api
from tests.unit.controlplane.cli.cli_world import START, World

SAID = api.FreezeSaidOut(id="freeze-3", sentence="freeze-3: orders is frozen until 2026-01-02 12:00 UTC")
DAY = ["--until", "1d", "--reason", "audit"]


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def a_freeze(**changes: Any) -> api.FreezeOut:
    fields: dict[str, Any] = {
        "id": "freeze-3",
        "source": "people",
        "state": "in force",
        "since": START,
        "until": START + timedelta(hours=6),
        "reason": "winter sale",
        "by": "user:anna",
        "everything": False,
        "clusters": ["orders"],
        "teams": ["payments"],
        "labels": {"env": "prod", "tier": "1"},
    }
    return api.FreezeOut(**fields | changes)


def test_a_freeze_is_sent_with_its_end_as_a_moment_and_says_how_to_end_it(world: World) -> None:
    world.server.on("POST", "/freezes", SAID)
    names = ["--cluster", "orders", "--team", "payments", "--label", "env=prod", "--label", "tier=1"]
    done = world.run("freeze", *names, *DAY)
    assert (done.exit_code, done.stdout) == (0, f"{SAID.sentence}\n"), done.stderr
    assert "kedge thaw freeze-3 --reason TEXT" in done.stderr
    sent = world.server.bodies("POST", "/freezes")[-1]
    assert api.FreezeIn.model_validate(sent) == api.FreezeIn(
        until=START + timedelta(days=1),
        reason="audit",
        clusters=["orders"],
        teams=["payments"],
        labels={"env": "prod", "tier": "1"},
    )


def test_the_whole_fleet_is_frozen_only_where_that_is_said(world: World) -> None:
    world.server.on("POST", "/freezes", SAID)
    assert world.run("freeze", "--all", *DAY).exit_code == 0
    sent = world.server.bodies("POST", "/freezes")[-1]
    assert (sent["everything"], sent["clusters"], sent["teams"], sent["labels"]) == (True, [], [], {})


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (DAY, "nothing says which clusters are meant"),
        (["--all", "--cluster", "orders", *DAY], "--all goes alone"),
        (["--all", "--reason", "audit"], "--until"),
        (["--all", "--until", "1d"], "--reason"),
        (["--all", "--until", "1d", "--reason", " "], "reason"),
        (["--all", "--until", "tomorrow", "--reason", "audit"], "neither a duration nor a time"),
        (["--all", "--until", "2020-01-01T00:00Z", "--reason", "audit"], "has passed"),
        (["--label", "prod", *DAY], "`prod` is not a label"),
    ],
)
def test_what_makes_no_sense_is_never_sent(world: World, arguments: list[str], word: str) -> None:
    done = world.run("freeze", *arguments)
    assert done.exit_code != 0
    assert word in done.stderr


def test_a_thaw_carries_its_reason(world: World) -> None:
    world.server.on("POST", "/freezes/freeze-3/thaw", api.FreezeSaidOut(id="freeze-3", sentence="freeze-3 is thawed"))
    assert world.run("thaw", "freeze-3", "--reason", "over").stdout == "freeze-3 is thawed\n"
    assert world.server.bodies("POST", "/freezes/freeze-3/thaw")[-1] == {"reason": "over"}
    blank = world.run("thaw", "freeze-3", "--reason", " ")
    assert blank.exit_code != 0
    assert "a reason is missing" in blank.stderr


def test_freezes_are_a_table_with_who_until_when_and_whom(world: World) -> None:
    of_settings = a_freeze(id="", by="", source="settings", state="to come", everything=True, clusters=[], teams=[])
    world.server.on("GET", "/freezes", api.FreezesOut(items=[a_freeze(), of_settings]))
    head, first, second = world.run("freezes").stdout.splitlines()
    assert head.split() == ["ID", "STATE", "UNTIL", "BY", "CLUSTERS", "REASON"]
    expected = ("freeze-3", "in force", "(in 6 h)", "user:anna", "orders, team payments, env=prod and tier=1", "winter")
    assert all(word in first for word in expected)
    assert all(word in second for word in ("to come", "settings", "all"))
    assert json.loads(world.run("freezes", "-o", "json").stdout)["items"][0]["id"] == "freeze-3"


def test_those_that_are_over_are_shown_when_asked_for(world: World) -> None:
    ended = a_freeze(state="thawed", thawed_at=START, thawed_by="user:bob", thawed_why="sale is over")
    world.server.on("GET", "/freezes", api.FreezesOut(items=[ended]))
    line = world.run("freezes", "--all").stdout.splitlines()[1]
    assert "winter sale; thawed: sale is over" in line
    world.server.on("GET", "/freezes", api.FreezesOut(items=[]))
    assert "no freeze is in force or to come" in world.run("freezes").stderr
