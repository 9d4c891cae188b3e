"""A forge's own webhook: who wakes a poll by it, and that nothing else comes of it.

The signature of GitHub is the one its documentation gives to test with ("Validating webhook deliveries").
"""

import hashlib
import hmac
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from controlplane.api.audit.entry import Outcome
from controlplane.api.audit.store import AuditFilter
from controlplane.api.gate import MAX_HOOK_BYTES
from controlplane.background.git_sync.binding import GitBinding
from controlplane.portal.app import create_app
from tests.unit.controlplane.background.git_sync.git_house import GitHouse, binding

SECRET, BODY = "It's a Secret to Everybody", b"Hello, World!"
SIGNED = {"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}
HOOK = "/hooks/git/teams"


@pytest.fixture
def git(tmp_path: Path) -> GitHouse:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    git = GitHouse(binding=binding(webhook_secret_file=secret))
    git.house.app = create_app(
        replace(git.house.services, fleet=replace(git.house.services.fleet, sources=git.service))
    )
    return git


@pytest.fixture
def forge(git: GitHouse) -> TestClient:
    """Whoever can reach the server and shows nothing of itself."""
    return git.house.client_with({})


def test_a_delivery_that_github_signed_wakes_the_poll(git: GitHouse, forge: TestClient) -> None:
    answer = forge.post(HOOK, content=BODY, headers=SIGNED)
    assert (answer.status_code, answer.content, git.rung) == (204, b"", ["teams"])


def test_a_delivery_with_the_token_of_gitlab_wakes_the_poll(git: GitHouse, forge: TestClient) -> None:
    answer = forge.post(HOOK, json={"object_kind": "push"}, headers={"X-Gitlab-Token": SECRET})
    assert (answer.status_code, git.rung) == (204, ["teams"])


@pytest.mark.parametrize("body", [b"", b"{", b'{"ref": "refs/heads/evil"}', b"\xff" * 70_000, b"payload=%7B%7D"])
def test_what_the_body_says_does_not_matter(git: GitHouse, forge: TestClient, body: bytes) -> None:
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    answer = forge.post(HOOK, content=body, headers={"X-Hub-Signature-256": f"sha256={signature}"})
    assert (answer.status_code, git.rung, git.events()) == (204, ["teams"], 0)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": SIGNED["X-Hub-Signature-256"][:-1] + "8"},
        {"X-Hub-Signature-256": SIGNED["X-Hub-Signature-256"].removeprefix("sha256=")},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature": "sha1=" + hmac.new(SECRET.encode(), BODY, "sha1").hexdigest()},
        {"X-Gitlab-Token": ""},
        {"X-Gitlab-Token": SECRET + "!"},
        {"X-Gitlab-Token": "\u00e9".encode("latin-1")},
        {"X-Gitlab-Token": "wrong", **SIGNED},
        {"Authorization": "Bearer the-token"},
    ],
)
def test_a_delivery_that_is_not_signed_as_it_should_be_wakes_nothing(
    git: GitHouse, forge: TestClient, headers: dict[str, str]
) -> None:
    answer = forge.post(HOOK, content=BODY, headers=headers)
    assert (answer.status_code, answer.json()["code"], git.rung) == (401, "not-signed", [])


def test_a_signature_is_good_for_its_body_and_its_binding_alone(git: GitHouse, forge: TestClient) -> None:
    other = forge.post(HOOK, content=BODY + b"!", headers=SIGNED)
    elsewhere = forge.post("/hooks/git/nobody", content=BODY, headers=SIGNED)
    assert (other.status_code, elsewhere.status_code, git.rung) == (401, 401, [])
    assert other.json() == elsewhere.json(), "nobody learns which bindings there are"


def test_a_binding_without_a_secret_is_woken_by_nobody(git: GitHouse) -> None:
    open_one = GitHouse(binding=binding("open"))
    git.house.app = create_app(
        replace(git.house.services, fleet=replace(git.house.services.fleet, sources=open_one.service))
    )
    empty = "sha256=" + hmac.new(b"", BODY, hashlib.sha256).hexdigest()
    forge = git.house.client_with({})
    for headers in ({"X-Hub-Signature-256": empty}, {"X-Gitlab-Token": ""}, {}):
        assert forge.post("/hooks/git/open", content=BODY, headers=headers).status_code == 401
    assert open_one.rung == []


def test_a_secret_that_is_named_and_away_is_told_in_the_log_alone(
    git: GitHouse, forge: TestClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "secret").unlink()
    answer = forge.post(HOOK, content=BODY, headers=SIGNED)
    assert (answer.status_code, git.rung) == (401, [])
    assert "(webhook_secret_file) holds no secret" in caplog.text
    assert str(tmp_path) not in answer.text


def test_a_secret_that_was_changed_counts_from_the_next_delivery(
    git: GitHouse, forge: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("another")
    assert forge.post(HOOK, content=BODY, headers=SIGNED).status_code == 401
    assert forge.post(HOOK, content=BODY, headers={"X-Gitlab-Token": "another"}).status_code == 204


def test_guessing_is_made_to_wait(git: GitHouse, forge: TestClient) -> None:
    tried = [forge.post(HOOK, content=BODY, headers={"X-Gitlab-Token": f"{n}"}).status_code for n in range(25)]
    assert tried == [401] * 20 + [429] * 5
    assert forge.post(HOOK, content=BODY, headers=SIGNED).status_code == 429
    git.house.pass_time(minutes=6)
    assert forge.post(HOOK, content=BODY, headers=SIGNED).status_code == 204


def test_wrong_deliveries_are_in_the_audit_and_do_not_fill_the_disk(git: GitHouse, forge: TestClient) -> None:
    assert forge.post(HOOK, content=BODY, headers=SIGNED).status_code == 204
    for n in range(40):
        forge.post(HOOK, content=BODY, headers={"X-Gitlab-Token": f"{n}"})
    noted = list(git.house.services.access.audit.page(AuditFilter(), 1000))
    assert {(k.entry.outcome, k.entry.who) for k in noted} == {(Outcome.DENIED, "nobody")}
    assert len(noted) <= 30


def test_a_server_that_does_not_lead_answers_alike_and_looks_at_nothing(git: GitHouse, forge: TestClient) -> None:
    git.house.lead.epoch = None
    assert (forge.post(HOOK, content=BODY, headers=SIGNED).status_code, git.rung) == (204, [])


def test_a_body_beyond_what_a_forge_sends_is_refused(forge: TestClient) -> None:
    too_long = {**SIGNED, "Content-Length": str(MAX_HOOK_BYTES + 1)}
    assert forge.post(HOOK, content=BODY, headers=too_long).status_code == 413
    whole = b"x" * (2 * 1024 * 1024)
    signature = "sha256=" + hmac.new(SECRET.encode(), whole, hashlib.sha256).hexdigest()
    assert forge.post(HOOK, content=whole, headers={"X-Hub-Signature-256": signature}).status_code == 204


def test_a_secret_is_named_and_never_written_into_the_settings() -> None:
    with pytest.raises(ValueError, match="never the secret itself"):
        binding(webhook_secret_env="It's a Secret")
    with pytest.raises(ValueError, match="give webhook_secret_env or webhook_secret_file, not both"):
        binding(webhook_secret_env="HOOK", webhook_secret_file=Path("/run/hook"))
    named = GitBinding(name="teams", repository="https://git.example.org/a.git", webhook_secret_env="HOOK")
    assert named.webhook_secret_env == "HOOK"
