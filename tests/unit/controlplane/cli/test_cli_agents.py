"""`kedge agents`: what VMs are to run, publishing from the archives themselves, withdrawing, going on."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.api.schemas import agents as api
from tests.agent.upgraded import agent_archive
from tests.unit.controlplane.cli.cli_world import START, World

NAME = "kedge-agent-0.2.0-cp311-x86_64.tar.gz"


@pytest.fixture
def world(tmp_path: Any) -> World:
    return World(tmp_path)


def told(**changes: Any) -> api.AgentsOut:
    vms = [
        api.AgentVmOut(key="brokers-a-0.g1", version="0.2.0", state="current", why=""),
        api.AgentVmOut(key="brokers-b-0.g1", version="0.1.0", state="behind", why=""),
        api.AgentVmOut(key="brokers-c-0.g1", version="0.0.9", state="unable", why="agent 0.0.9 cannot upgrade itself"),
    ]
    release = api.AgentReleaseOut(
        version="0.2.0",
        published_at=START - timedelta(hours=1),
        published_by="user:anna",
        platforms=["cp311-x86_64"],
        public_key="cHVibGlj",
        notes="quicker",
        withdrawn="",
    )
    cluster = api.AgentClusterOut(name="orders", stage="production", waits="frozen until Monday", vms=vms)
    fields = {"wanted": "0.2.0", "waits": "the first VM soaks 40 s more", "releases": [release], "clusters": [cluster]}
    return api.AgentsOut(**fields | changes)


def test_what_vms_are_to_run_and_who_is_not_there_yet(world: World) -> None:
    world.server.on("GET", "/agents", told())
    shown = world.run("agents").stdout
    assert "every VM is to run 0.2.0: 1 behind, 1 current, 1 unable" in shown
    assert "the first VM soaks 40 s more" in shown
    assert "brokers-a-0.g1" not in shown
    line = next(line for line in shown.splitlines() if "brokers-b-0.g1" in line)
    assert all(word in line for word in ("orders", "production", "0.1.0", "behind", "frozen until Monday"))
    assert "cannot upgrade itself" in shown
    assert "brokers-a-0.g1" in world.run("agents", "--all").stdout
    assert json.loads(world.run("agents", "-o", "json").stdout)["wanted"] == "0.2.0"


def test_with_nothing_published_it_says_so(world: World) -> None:
    world.server.on("GET", "/agents", told(wanted="", waits="", releases=[], clusters=[]))
    done = world.run("agents")
    assert done.stdout == ""
    assert "no agent was published yet" in done.stderr


def test_a_version_is_published_from_its_archives(world: World, tmp_path: Path) -> None:
    world.server.on("POST", "/agents", api.AgentSaidOut(sentence="agent 0.2.0 is published"))
    path = agent_archive(tmp_path / NAME, "0.2.0")
    done = world.run("agents", "publish", str(path), "--url", "https://mirror.example/agents/", "--notes", "quicker")
    assert done.stdout == "agent 0.2.0 is published\n"
    (sent,) = world.server.bodies("POST", "/agents")
    (build,) = sent["builds"]
    assert (sent["version"], sent["notes"]) == ("0.2.0", "quicker")
    assert build["url"] == f"https://mirror.example/agents/{NAME}"
    assert (build["platform"], build["size_bytes"]) == ("cp311-x86_64", path.stat().st_size)


@pytest.mark.parametrize(
    ("name", "version", "words"),
    [
        ("agent.tar.gz", "0.2.0", "its name does not say for whom it is"),
        (NAME, "0.3.0", "its name says agent 0.2.0, it holds agent 0.3.0"),
    ],
)
def test_what_is_no_archive_of_an_agent_is_refused(
    world: World, tmp_path: Path, name: str, version: str, words: str
) -> None:
    path = agent_archive(tmp_path / name, version)
    done = world.run("agents", "publish", str(path), "--url", "https://mirror.example")
    assert done.exit_code != 0
    assert words in done.stderr


def test_withdrawing_and_going_on(world: World) -> None:
    world.server.on("POST", "/agents/0.2.0/withdraw", api.AgentSaidOut(sentence="withdrawn"))
    world.server.on("POST", "/agents/resume", api.AgentSaidOut(sentence="goes on"))
    assert world.run("agents", "withdraw", "0.2.0", "--reason", "bad").stdout == "withdrawn\n"
    assert world.run("agents", "resume", "--reason", "the mirror is back").stdout == "goes on\n"
