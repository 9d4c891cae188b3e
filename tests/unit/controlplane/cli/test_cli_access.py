"""login, token and audit."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from controlplane.api.schemas import commands as command_api
from controlplane.api.schemas.access import (
    AuditCheckOut,
    AuditEntryOut,
    AuditOut,
    BindingIn,
    TokenMadeOut,
    TokenOut,
    WhoOut,
)
from controlplane.cli import exits
from controlplane.cli.token_store import token_for
from tests.unit.controlplane.cli.cli_world import START, World, problem

REMOTE = "https://kedge.example.com:8444"
TEXT = "kedge_0123456789ab_" + "x" * 43
WHO = WhoOut(
    subject="user:ada",
    via="token:0123456789ab",
    bindings=[],
    limit=BindingIn(subject="user:ada", role="operator", scope="team:payments"),
)
TOKEN = TokenOut(
    id="0123456789ab",
    label="ci",
    maker="user:ada",
    role="operator",
    scope="*",
    state="active",
    made_at=START,
    expires_at=START + timedelta(days=90),
)
ENTRY = AuditEntryOut(
    position=7,
    at=START,
    who="user:ada",
    via="session",
    client="127.0.0.1",
    verb="steer",
    object="orders",
    call="POST /clusters/orders/pause",
    outcome="denied",
    status=403,
    event_position=None,
    note="",
    sha256="0" * 64,
)


@pytest.fixture
def at_home(world: World, tmp_path: Path) -> World:
    world.environ["HOME"] = str(tmp_path)
    return world


def test_login_tries_the_token_and_keeps_it_for_that_server(at_home: World) -> None:
    at_home.server.on("GET", "/whoami", WHO)
    at_home.read_line = lambda: TEXT + "\n"
    ran = at_home.run("login", "--server", REMOTE)
    assert (ran.exit_code, ran.stdout) == (exits.OK, f"user:ada at {REMOTE}, at most operator on team:payments\n")
    (sent,) = at_home.server.requests
    assert (str(sent.url), sent.headers["authorization"]) == (f"{REMOTE}/v1/whoami", f"Bearer {TEXT}")
    assert token_for(at_home.environ, REMOTE) == TEXT
    assert TEXT not in ran.stdout + ran.stderr
    assert at_home.run("login", "--server", REMOTE, "--forget").exit_code == exits.OK
    assert token_for(at_home.environ, REMOTE) == ""


def test_a_token_the_server_does_not_know_is_not_kept(at_home: World) -> None:
    at_home.server.on("GET", "/whoami", problem(401, "token-needed", "the token is missing"))
    at_home.read_line = lambda: TEXT + "\n"
    assert at_home.run("login", "--server", REMOTE).exit_code == exits.FAILED
    assert token_for(at_home.environ, REMOTE) == ""


@pytest.mark.parametrize("typed", ["", "\n", "two words\n"])
def test_login_without_a_token_sends_nothing(at_home: World, typed: str) -> None:
    at_home.read_line = lambda: typed
    assert at_home.run("login", "--server", REMOTE).exit_code == exits.FAILED
    assert at_home.server.requests == []


def test_login_over_plain_http_off_loopback_is_refused(at_home: World) -> None:
    at_home.read_line = lambda: TEXT + "\n"
    ran = at_home.run("login", "--server", "http://kedge.example.com")
    assert (ran.exit_code, "plain text" in ran.stderr) == (exits.FAILED, True)
    assert at_home.server.requests == []


def test_a_token_is_printed_alone_on_stdout(world: World) -> None:
    world.server.on("POST", "/tokens", TokenMadeOut(token=TOKEN, text=TEXT))
    ran = world.run("token", "create", "ci", "--role", "operator", "--days", "30")
    assert (ran.exit_code, ran.stdout) == (exits.OK, TEXT + "\n")
    assert "operator on * until" in ran.stderr
    assert world.server.bodies("POST", "/tokens") == [{"label": "ci", "role": "operator", "scope": "*", "days": 30.0}]


def test_tokens_are_listed_and_revoked(world: World) -> None:
    world.server.on("GET", "/tokens", [TOKEN])
    world.server.on("POST", f"/tokens/{TOKEN.id}/revoke", command_api.ChangedOut(changed=True))
    assert TOKEN.id in world.run("token", "list", "--everyone").stdout
    assert world.server.requests[-1].url.params["everyone"] == "true"
    assert json.loads(world.run("token", "list", "-o", "json").stdout)["items"][0]["label"] == "ci"
    assert world.run("token", "revoke", TOKEN.id).stdout == f"{TOKEN.id} is revoked\n"


def test_the_audit_is_asked_for_as_the_options_say(world: World) -> None:
    world.server.on("GET", "/audit", AuditOut(entries=[ENTRY], older=7))
    ran = world.run("audit", "orders", "--who", "ada", "--outcome", "denied", "--since", "2026-01-01", "-n", "1")
    assert ran.exit_code == exits.OK
    assert "denied 403" in ran.stdout
    assert "--before 7" in ran.stderr
    assert dict(world.server.requests[-1].url.params) == {
        "q": "orders",
        "who": "ada",
        "outcome": "denied",
        "since": "2026-01-01T00:00:00+00:00",
        "limit": "1",
    }
    assert json.loads(world.run("audit", "-o", "json").stdout)["entries"][0]["position"] == 7


def test_the_audit_is_checked_and_a_moment_that_is_none_is_told(world: World) -> None:
    world.server.on("GET", "/audit/check", AuditCheckOut(entries=9))
    assert world.run("audit", "--check").stdout == "9 entries, each as it was written\n"
    assert world.run("audit", "--since", "yesterday").exit_code == exits.FAILED
