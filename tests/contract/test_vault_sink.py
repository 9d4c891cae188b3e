"""Passwords to a Vault: over real HTTP, against a fake that is held to Vault's document."""

import json
import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from controlplane.background.password_sinks.sink import NotWritten, UserPassword
from controlplane.background.password_sinks.vault_binding import VaultBinding
from controlplane.background.password_sinks.vault_sink import MOST_BYTES, VaultSink
from controlplane.runtime.egress import Allowed, Egress
from tests.fakes.vault import TOKEN, FakeVault, a_vault

CANARY = "canary-Zm9v_YmFy-0123456789abcdef"
PATH = "kafka/orders/alice"


def a_password(number: int = 1, text: str = CANARY) -> UserPassword:
    return UserPassword("orders", "alice", number, SecretStr(text))


@pytest.fixture
def vault() -> Iterator[FakeVault]:
    with a_vault() as found:
        yield found


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    return file


def sink_of(vault: FakeVault, token: Path, **more: Any) -> VaultSink:
    binding = VaultBinding(vault=vault.url, path="kafka", token_file=token, **more)
    return VaultSink("apps", binding, Egress(), timeout_s=2.0)


def refusal(sink: VaultSink) -> NotWritten:
    with pytest.raises(NotWritten) as refused:
        sink.put(a_password())
    words = f"{refused.value}{refused.value!r}{refused.value.__cause__!r}"
    assert CANARY not in words
    assert TOKEN not in words
    return refused.value


def test_the_first_one_is_written_only_where_nothing_is_and_the_same_again_changes_nothing(
    vault: FakeVault, token: Path
) -> None:
    vault.cas_required = True
    sink = sink_of(vault, token)
    sink.put(a_password())
    sink.put(a_password())
    assert vault.versions == {
        PATH: [
            {
                "username": "alice",
                "password": CANARY,
                "mechanism": "SCRAM-SHA-512",
                "cluster": "orders",
                "number": "1",
                "managed_by": "kedge",
            }
        ]
    }
    assert [method for method, _ in vault.asked] == ["GET", "POST", "GET"]


def test_a_later_one_is_the_next_version_and_one_that_was_deleted_is_written_anew(
    vault: FakeVault, token: Path
) -> None:
    sink = sink_of(vault, token)
    sink.put(a_password())
    sink.put(a_password(2, "another-password-of-alice"))
    vault.versions[PATH].append(None)
    sink.put(a_password(2, "another-password-of-alice"))
    kept = [one and one["number"] for one in vault.versions[PATH]]
    assert kept == ["1", "2", None, "2"]


def test_what_somebody_else_wrote_at_the_same_time_is_not_replaced_unseen(vault: FakeVault, token: Path) -> None:
    theirs = {"managed_by": "kedge", "number": "9"}
    vault.between = lambda: vault.versions[PATH].append(theirs) if not vault.versions[PATH] else None
    fault = refusal(sink_of(vault, token))
    assert (fault.reason, fault.of_sink) == ("SinkConflict", False)
    assert "written by somebody else at the same time" in str(fault)
    sink_of(vault, token).put(a_password())
    assert [one and one["number"] for one in vault.versions[PATH]] == ["9", "1"]


def test_a_secret_that_kedge_did_not_write_is_left_alone(vault: FakeVault, token: Path) -> None:
    vault.versions[PATH] = [{"password": "of somebody else"}]
    assert "holds what Kedge did not write: move it away" in str(refusal(sink_of(vault, token)))
    assert len(vault.versions[PATH]) == 1


def test_a_namespace_goes_with_each_request(vault: FakeVault, token: Path) -> None:
    vault.namespace = "team-a/kafka"
    assert refusal(sink_of(vault, token)).reason == "SinkUnusable"
    sink_of(vault, token, namespace="team-a/kafka").put(a_password())
    assert len(vault.versions[PATH]) == 1


def test_a_token_that_ended_or_may_not_is_told_with_the_rights_it_needs(vault: FakeVault, token: Path) -> None:
    for policy, done in ((frozenset({"create", "update"}), "read"), (frozenset({"read"}), "written")):
        vault.policy = policy
        fault = refusal(sink_of(vault, token))
        assert (fault.reason, fault.of_sink) == ("SinkUnusable", False)
        assert f"may not be {done}" in str(fault)
        assert f"lacks `create`, `update` and `read` on `secret/data/{PATH}`" in str(fault)


def test_a_path_without_an_engine_and_one_of_version_1_are_told_apart_from_a_secret_that_is_not_there(
    vault: FakeVault, token: Path
) -> None:
    fault = refusal(sink_of(vault, token, mount="other"))
    assert (fault.reason, fault.of_sink) == ("SinkUnusable", True)
    assert "there is no KV engine of version 2 at `other`" in str(fault)
    vault.is_version_1 = True
    assert "no KV engine of version 2; name one that is" in str(refusal(sink_of(vault, token)))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (412, "is not up to date yet"),
        (429, "is asked too often"),
        (473, "is a standby"),
        (500, "failed: it answered 500 (an internal error)"),
        (502, "it answered 502"),
        (503, "is sealed, or is down"),
    ],
)
def test_what_passes_is_tried_again_and_nobody_waits_for_it_twice(
    vault: FakeVault, token: Path, status: int, words: str
) -> None:
    vault.next_replies = [(status, {}, {"errors": ["an internal error"]})]
    fault = refusal(sink_of(vault, token))
    assert (fault.reason, fault.of_sink) == ("SinkAway", True)
    assert words in str(fault)
    sink_of(vault, token).put(a_password())


def test_a_sealed_one_is_told_with_its_words(vault: FakeVault, token: Path) -> None:
    vault.is_sealed = True
    assert "503 (Vault is sealed)" in str(refusal(sink_of(vault, token)))


def test_a_standby_that_sends_elsewhere_is_not_followed(vault: FakeVault, token: Path) -> None:
    vault.next_replies = [(307, {"Location": "http://127.0.0.1:1/v1/secret/data/x"}, None)]
    assert "name the active server's address" in str(refusal(sink_of(vault, token)))


def test_a_token_with_letters_that_no_header_carries_is_told(vault: FakeVault, token: Path) -> None:
    token.write_text("hvs.T\u00f6ken")
    assert "letters that no token of a Vault has" in str(refusal(sink_of(vault, token)))
    assert vault.versions == {}


@pytest.mark.parametrize("answer", ["[]", '"text"', '{"data": []}', '{"data": {"metadata": {"version": "1"}}}'])
def test_an_answer_of_another_shape_is_no_success(vault: FakeVault, token: Path, answer: str) -> None:
    vault.next_replies = [(200, {}, json.loads(answer))]
    assert refusal(sink_of(vault, token)).reason == "SinkUnusable"
    assert PATH not in vault.versions


def test_words_of_its_errors_are_short_and_without_our_secrets(vault: FakeVault, token: Path) -> None:
    vault.next_replies = [(400, {}, {"errors": [f"bad token {TOKEN} for {CANARY}", "x" * 1000]})]
    assert len(str(refusal(sink_of(vault, token)))) < 500


def test_one_that_says_nothing_or_is_not_there_is_away(token: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        there = FakeVault(url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        sink = replace(sink_of(there, token), timeout_s=0.1)
        assert "did not answer (ReadTimeout)" in str(refusal(sink))
    assert "did not answer (ConnectError)" in str(refusal(sink))


def test_one_that_writes_and_writes_is_cut_off(token: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def write() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n")
                try:
                    for _ in range(2 * MOST_BYTES // 65536):
                        connection.sendall(b" " * 65536)
                except OSError:
                    return

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        fault = refusal(sink_of(FakeVault(url=f"http://127.0.0.1:{server.getsockname()[1]}"), token))
        assert f"answered more than {MOST_BYTES} bytes" in str(fault)
        writer.join(5)


def test_an_answer_that_is_nested_without_end_is_no_success(token: Path) -> None:
    nested = b"[" * 100_000
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(nested)}\r\nConnection: close\r\n\r\n"
                connection.sendall(head.encode() + nested)

        writer = threading.Thread(target=answer, daemon=True)
        writer.start()
        fault = refusal(sink_of(FakeVault(url=f"http://127.0.0.1:{server.getsockname()[1]}"), token))
        assert "there is no KV engine of version 2" in str(fault)
        writer.join(5)


def test_tokens_are_read_at_each_use_and_only_where_nobody_else_can(
    vault: FakeVault, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = sink_of(vault, token)
    token.chmod(0o640)
    assert "(token_file) can be read by others: chmod 600 it" in str(refusal(sink))
    token.chmod(0o600)
    token.write_text("another-token-0123456789")
    assert "the token has ended" in str(refusal(sink))
    token.write_text(TOKEN)
    sink.put(a_password())
    token.unlink()
    assert "(token_file) cannot be read" in str(refusal(sink))
    by_variable = VaultSink("apps", VaultBinding(vault=vault.url, path="kafka", token_env="VAULT_OF_KEDGE"), Egress())
    assert "VAULT_OF_KEDGE (token_env) holds no token" in str(refusal(by_variable))
    monkeypatch.setenv("VAULT_OF_KEDGE", TOKEN)
    by_variable.put(a_password(2))


def test_neither_token_nor_password_is_in_a_log(
    vault: FakeVault, token: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    sink_of(vault, token).put(a_password())
    vault.is_sealed = True
    refusal(sink_of(vault, token))
    said = "\n".join(f"{record.getMessage()} {record.args!r}" for record in caplog.records)
    assert CANARY not in said
    assert TOKEN not in said


def test_a_ca_that_is_not_there_is_told(vault: FakeVault, token: Path, tmp_path: Path) -> None:
    assert "(ca_file) cannot be read" in str(refusal(sink_of(vault, token, ca_file=tmp_path / "away.pem")))


def test_where_the_settings_let_the_server_not_call_it_is_not_called(vault: FakeVault, token: Path) -> None:
    sink = replace(sink_of(vault, token), egress=Egress((Allowed.of("hooks.example.com"),)))
    assert "is not in `allow.calls`" in str(refusal(sink))
    assert vault.asked == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"vault": "http://vault.example.com:8200"}, "plain HTTP off loopback"),
        ({"vault": "https://vault.example.com/v1"}, "an address without a path"),
        ({"vault": "https://a:b@vault.example.com"}, "an address without a user"),
        ({"mount": "../sys"}, "`mount` is letters"),
        ({"path": "a//b"}, "`path` is letters"),
        ({"namespace": "a\nb"}, "`namespace` is letters"),
        ({"token_file": None}, "needs token_file or token_env"),
        ({"token_env": "BOTH"}, "not both"),
        ({"token_file": "relative"}, "must be an absolute path"),
        ({"ca_file": "relative"}, "must be an absolute path"),
        ({"token": "hvs.x"}, "Extra inputs are not permitted"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], why: str) -> None:
    right = {"vault": "https://vault.example.com:8200", "token_file": "/etc/kedge/vault-token"}
    VaultBinding(**right)
    with pytest.raises(ValidationError, match=why):
        VaultBinding(**{**right, **wrong})
