"""The VM's secret, and to whom it may be told."""

import hashlib
import json
from pathlib import Path

import httpx
import pytest

from agent.client import (
    CredentialLost,
    NewDocument,
    Retired,
    RetryLater,
    ServerClient,
    ServerRefused,
    Unchanged,
)
from agent.credential import CredentialFiles
from agent.identity import PlainHttpRefused, enrol_request, identity_of
from tests.unit.agent.wanted import boot_data, broker, document


def client(answer: httpx.Response | Exception, seen: list[httpx.Request] | None = None) -> ServerClient:
    def handle(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    identity = identity_of(boot_data(), "secret")
    return ServerClient("http://127.0.0.1:1", identity, transport=httpx.MockTransport(handle))


def test_the_secret_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    made = CredentialFiles(tmp_path).load_or_make()
    assert len(bytes.fromhex(made)) == 32
    assert CredentialFiles(tmp_path).load_or_make() == made
    assert (tmp_path / "credential").stat().st_mode & 0o777 == 0o600


def test_a_secret_that_others_could_read_is_closed_again(tmp_path: Path) -> None:
    CredentialFiles(tmp_path).load_or_make()
    (tmp_path / "credential").chmod(0o644)
    CredentialFiles(tmp_path).load_or_make()
    assert (tmp_path / "credential").stat().st_mode & 0o777 == 0o600


def test_enrolment_is_remembered(tmp_path: Path) -> None:
    credential = CredentialFiles(tmp_path)
    assert not credential.is_enrolled
    credential.keep_enrolled()
    assert CredentialFiles(tmp_path).is_enrolled


def test_enrolment_tells_the_hash_and_never_the_secret() -> None:
    request = enrol_request(boot_data(), "secret")
    assert request.credential_sha256 == hashlib.sha256(b"secret").hexdigest()
    assert "secret" not in request.model_dump_json()
    assert "secret" not in repr(identity_of(boot_data(), "secret"))


@pytest.mark.parametrize("url", ["http://kedge.example", "http://10.0.0.1:80", "ftp://127.0.0.1", "127.0.0.1:80"])
def test_plain_http_over_a_network_is_refused(url: str) -> None:
    with pytest.raises(PlainHttpRefused):
        ServerClient(url, identity_of(boot_data(), "secret"))


@pytest.mark.parametrize("url", ["https://kedge.example", "http://127.0.40.1:80", "http://localhost", "http://[::1]:8"])
def test_https_and_loopback_are_spoken(url: str) -> None:
    ServerClient(url, identity_of(boot_data(), "secret")).close()


def test_a_poll_names_the_instance_and_carries_the_secret() -> None:
    seen: list[httpx.Request] = []
    body = document(broker()).model_dump_json().encode()
    answer = client(httpx.Response(200, content=body, headers={"ETag": 'W/"5"'}), seen).document(etag="4", wait_s=20)
    assert answer == NewDocument(body, "5")
    assert seen[0].headers["Authorization"] == "Bearer secret"
    assert seen[0].headers["X-Kedge-Instance"] == "c1/brokers-a-0.g2"
    expected = {"cluster": "c1", "node": "brokers-a-0", "generation": "2", "etag": "4", "wait_s": "20"}
    assert dict(seen[0].url.params) == expected


def test_not_modified_is_no_failure() -> None:
    assert client(httpx.Response(304)).document(etag="4", wait_s=1) == Unchanged()


def test_enrolling_sends_no_bearer() -> None:
    seen: list[httpx.Request] = []
    client(httpx.Response(200), seen).enrol(enrol_request(boot_data(), "secret"))
    assert "Authorization" not in seen[0].headers


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(500), RetryLater),
        (httpx.Response(503), RetryLater),
        (httpx.Response(429), RetryLater),
        (httpx.Response(404), RetryLater),
        (httpx.Response(302, headers={"Location": "https://elsewhere.example"}), RetryLater),
        (httpx.ConnectError("refused"), RetryLater),
        (httpx.ReadTimeout("slow"), RetryLater),
        (httpx.Response(401), CredentialLost),
        (httpx.Response(403), CredentialLost),
        (httpx.Response(410), Retired),
        (httpx.Response(422), ServerRefused),
    ],
)
def test_each_failure_says_what_to_do(answer: httpx.Response | Exception, error: type[Exception]) -> None:
    with pytest.raises(error):
        client(answer).document(etag="", wait_s=1)


def test_the_token_a_vm_is_born_with_is_shown_by_nothing_but_the_wire() -> None:
    boot = boot_data()
    token = boot.token.get_secret_value()
    asked = enrol_request(boot, "secret")
    for told in (repr(boot), str(boot), repr(asked), repr(asked.model_dump()), f"{boot.token}"):
        assert token not in told
    assert json.loads(asked.model_dump_json())["token"] == json.loads(boot.model_dump_json())["token"] == token
    mine = identity_of(boot, "c4nary")
    assert "c4nary" not in f"{mine!r} {mine.credential}"
    assert mine.headers["Authorization"] == "Bearer c4nary"
