"""Help, usage errors, completion, and the reference page that is made of them."""

import httpx
import pytest
import typer

from controlplane.cli import exits, reference
from controlplane.cli.completion import LIMIT_S, cluster_names
from controlplane.cli.main import VERBS
from controlplane.cli.session import open_session
from controlplane.cli.surroundings import Surroundings
from tests.unit.controlplane.cli.cli_world import World, detail
from tests.unit.controlplane.cli.invoked import command, kedge

HELPS = dict(reference.helps())
EVERY_VERB = [
    "server",
    "validate",
    "plan",
    "apply",
    "diff",
    "drift",
    "get",
    "find",
    "describe",
    "plans",
    "wait",
    "events",
]
EVERY_VERB += ["pause"]
EVERY_VERB += ["resume", "roll", "failover", "freeze", "freezes", "thaw"]
EVERY_VERB += [
    "abort",
    "restart",
    "restart-check",
    "replace",
    "certificates",
    "replace-ca",
    "revoke-certificates",
    "evacuate",
    "readmit",
    "fix-offline",
    "empty-disk",
    "even-disks",
    "demote",
    "undemote",
    "moves",
]
EVERY_VERB += ["chaos"]
EVERY_VERB += [
    "endpoints",
    "take-over",
    "pull-request",
    "rollback",
    "topics",
    "replication-factor",
    "proposals",
    "groups",
    "group",
    "reset-offsets",
    "dependents",
    "logs",
    "anomalies",
    "confirm-loss",
    "delete",
    "backup",
    "restore",
]
EVERY_VERB += ["rebalance", "rebuild", "doctor", "loop"]
EVERY_VERB += ["agent-bundle", "demo", "login", "audit", "version"]
EVERY_GROUP = {"drain": ["plan", "check"], "state": ["export"], "brokers": ["demote"], "sources": ["poll", "accept"]}
EVERY_GROUP["machines"] = ["list", "refresh"]
EVERY_GROUP["failovers"] = ["show", "withdraw", "abort", "certify-shut"]
EVERY_GROUP["networks"] = ["remove", "repair"]
EVERY_GROUP["images"] = ["list", "show", "publish", "withdraw", "build", "scan"]
EVERY_GROUP["agents"] = ["publish", "withdraw", "resume"]
EVERY_GROUP["token"] = ["create", "list", "revoke"]
EVERY_GROUP["topic"] = ["describe", "history", "adopt", "delete"]
EVERY_GROUP["proposal"] = ["show", "approve", "reject"]
EVERY_GROUP["policy"] = ["test", "check"]
EVERY_GROUP["db"] = ["migrate", "grants"]
EVERY_GROUP["cloud"] = ["verify"]
EVERY_GROUP["acls"] = ["list", "explain"]
EVERY_GROUP["users"] = ["list", "get", "password", "rotate", "certificate", "delete"]
EVERY_GROUP["healing"] = ["show", "off", "on"]
EVERY_GROUP["notifiers"] = ["list", "test"]
EVERY_COMMAND = [
    *EVERY_VERB,
    "import",
    *EVERY_GROUP,
    *(f"{group} {verb}" for group, verbs in EVERY_GROUP.items() for verb in verbs),
]


def test_the_reference_page_is_current_and_with_it_the_snapshot_of_every_help() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), f"run `{reference.COMMAND}`"


def test_every_verb_is_there() -> None:
    assert [verb.__name__.replace("_", "-") for verb in VERBS] == EVERY_VERB
    assert {f"kedge {command}" for command in EVERY_COMMAND} | {"kedge"} == set(HELPS)


@pytest.mark.parametrize("verb", EVERY_COMMAND)
def test_every_help_fits_the_page_and_has_examples_of_its_own_verb_before_the_options(verb: str) -> None:
    text = HELPS[f"kedge {verb}"]
    examples, options = text.index("Examples:"), text.index("Options:")
    assert examples < options
    assert f"kedge {verb}" in text[examples:options]
    assert text.splitlines()[2].strip().endswith(".")


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("verb", EVERY_COMMAND)
def test_help_is_shown_without_a_server_or_a_home(verb: str, flag: str) -> None:
    ran = kedge(*verb.split(), flag)
    assert ran.exit_code == exits.OK
    assert ran.stdout.startswith(f"Usage: kedge {verb} ")


def test_a_misspelt_verb_is_told_with_the_one_that_was_meant(world: World) -> None:
    ran = world.run("aply")
    assert ran.exit_code == exits.USAGE
    assert "Did you mean 'apply'" in ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["get", "--nonsense"],
        ["wait"],
        ["get", "-o", "xml"],
        ["drain", "pla"],
        ["drain", "plan", "-o", "x"],
    ],
)
def test_a_wrong_command_line_has_its_own_exit_code(world: World, arguments: list[str]) -> None:
    assert world.run(*arguments).exit_code == exits.USAGE


def test_behind_two_dashes_no_color_is_a_name(world: World) -> None:
    world.server.cluster(detail())
    ran = world.run("get", "--", "--no-color")
    assert "there is no cluster `--no-color`" in ran.stderr


def completed(world: World, incomplete: str) -> list[str]:
    around = Surroundings(environ={}, cwd=world.home, transport=httpx.MockTransport(world.server))
    context = typer.Context(command(), obj=open_session(around, no_color=False))
    return cluster_names(context, incomplete)


def test_names_are_completed_from_the_living_clusters(world: World) -> None:
    world.server.cluster(detail("orders"))
    assert completed(world, "or") == ["orders"]
    assert completed(world, "x") == []
    timeout = world.server.requests[0].extensions["timeout"]
    assert max(timeout["read"], timeout["connect"]) <= LIMIT_S


def test_a_server_that_does_not_answer_completes_nothing_and_says_nothing(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.server.on("GET", "/clusters", httpx.ConnectError("Connection refused"))
    assert completed(world, "") == []
    assert capsys.readouterr() == ("", "")
