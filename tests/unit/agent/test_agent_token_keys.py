"""The keys by which listeners judge tokens: fetched into a file, kept while the provider is away, public ones alone;
and what a broker that takes tokens is started with."""

import gzip
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agent.documents import Accepted, DocumentRejected, judge_document
from agent.services.properties import ignored_settings, server_properties
from agent.services.token_properties import allowed_urls, key_file
from agent.token_keys import (
    KeysUnusable,
    LatestTokenKeys,
    fetch_keys,
    keep_token_keys,
    public_keys,
    token_keys_task,
)
from agent.wire import Document, ServiceTls, TlsListener, TokenIssuer
from agent.wire_versions import NAMES_WIRE_VERSION
from tests.unit.agent.test_agent_rendering import LOG_DIRS, check
from tests.unit.agent.test_agent_tls_rendering import AT_9090, TLS_DIR
from tests.unit.agent.wanted import boot_data, broker, controller, document

ISSUER = TokenIssuer(
    issuer="https://login.example/realms/kafka",
    audience="orders",
    jwks="https://login.example/realms/kafka/certs",
    principal_claim="azp",
    clock_skew_s=5,
)
TOKENS = TlsListener(
    name="TOKENS", port=9098, security="tls", authentication="oauth", reauthenticate_s=600, tokens=ISSUER
)
NAMES = "kedge-node-0123456789abcdef|kedge-server-0123456789abcdef"
TLS = ServiceTls(
    super_users=tuple(f"User: CN={name}" for name in NAMES.split("|")),
    listeners=(TOKENS,),
    mapping_rules=f"RULE:^CN=({NAMES})$/ CN=$1/",
)
BROKER = broker(port=9091, voters=AT_9090, tls=TLS)
CONTROLLER = controller(port=9090, voters=AT_9090, tls=TLS.model_copy(update={"listeners": ()}))
RSA = {"kty": "RSA", "kid": "first", "use": "sig", "alg": "RS256", "n": "AQAB", "e": "AQAB"}


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, 12, tzinfo=UTC)


def told(tls: ServiceTls = TLS) -> Document:
    service = BROKER.model_copy(update={"tls": tls})
    return document(service).model_copy(update={"wire": NAMES_WIRE_VERSION})


@pytest.mark.parametrize(("name", "service"), [("broker-tokens", BROKER), ("controller-tokens", CONTROLLER)])
def test_server_properties(name: str, service: object) -> None:
    check(f"{name}.properties", server_properties(service, log_dirs=LOG_DIRS, tls_dir=TLS_DIR))  # type: ignore[arg-type]


def test_no_setting_takes_the_place_of_one_of_them() -> None:
    key = "listener.name.tokens.sasl.oauthbearer.jwt.validator.class"
    stolen = BROKER.model_copy(update={"settings": {key: "stolen"}})
    assert "stolen" not in server_properties(stolen, log_dirs=LOG_DIRS, tls_dir=TLS_DIR)
    assert ignored_settings(stolen) == (key,)
    assert ignored_settings(BROKER) == ignored_settings(CONTROLLER) == ()


def test_java_may_read_that_one_file() -> None:
    assert allowed_urls(TLS, TLS_DIR) == (
        "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file:///vm/services/broker/tls/jwks-tokens.json",
    )
    assert allowed_urls(None, TLS_DIR) == allowed_urls(TLS.model_copy(update={"listeners": ()}), TLS_DIR) == ()


def test_an_agent_takes_such_a_document_as_it_is() -> None:
    assert isinstance(judge_document(told().model_dump_json().encode(), boot=boot_data(), current=None), Accepted)


@pytest.mark.parametrize(
    ("tls", "why"),
    [
        ({"listeners": (TOKENS.model_copy(update={"tokens": None}),)}, "nobody says whose, or for whom"),
        (
            {"listeners": (TOKENS.model_copy(update={"tokens": ISSUER.model_copy(update={"audience": ""})}),)},
            "nobody says whose, or for whom",
        ),
        (
            {"listeners": (TOKENS.model_copy(update={"tokens": ISSUER.model_copy(update={"audience": "a,b"})}),)},
            "no such provider",
        ),
        (
            {"listeners": (TOKENS.model_copy(update={"tokens": ISSUER.model_copy(update={"jwks": "file:///etc"})}),)},
            "no such provider",
        ),
        ({"mapping_rules": "RULE:^CN=(.*)$/$1/,DEFAULT"}, "the rules that name nodes are none of ours"),
        ({"super_users": ("User:  CN=kedge-node-0",)}, "neither the name of a listener nor that of a super user"),
    ],
)
def test_what_would_let_others_in_is_refused(tls: dict[str, object], why: str) -> None:
    found = judge_document(told(TLS.model_copy(update=tls)).model_dump_json().encode(), boot=boot_data(), current=None)
    assert isinstance(found, DocumentRejected)
    assert why in found.reason


def test_public_keys_of_signatures_are_taken_and_nothing_else() -> None:
    shown = {
        "keys": [
            {**RSA, "d": "private", "x5c": ["..."]},
            {"kty": "oct", "kid": "symmetric", "k": "c2VjcmV0"},
            {**RSA, "kid": "of-encryption", "use": "enc"},
        ]
    }
    assert json.loads(public_keys(json.dumps(shown).encode())) == {"keys": [RSA]}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"<html>", "is no JWKS"),
        (b"[]", "is no JWKS"),
        (b'{"keys": 1}', "is no JWKS"),
        (b'{"keys": ["x"]}', "is no JWKS"),
        (b"[" * 100_000, "is no JWKS"),
        (b'{"keys": []}', "no public key of signatures"),
        (b'{"keys": [{"kty": "oct", "k": "x"}]}', "no public key of signatures"),
    ],
)
def test_what_is_no_key_set_changes_nothing(answer: bytes, why: str) -> None:
    with pytest.raises(KeysUnusable, match=why):
        public_keys(answer)


def test_keys_that_were_fetched_stay_while_the_provider_is_away(tmp_path: Path) -> None:
    task = token_keys_task(told(), lambda service: tmp_path / service)
    assert task is not None
    latest, leaving, file = LatestTokenKeys(), threading.Event(), key_file(tmp_path / "broker", TOKENS)
    answers = iter([json.dumps({"keys": [RSA]}).encode(), None])

    def fetch(tokens: TokenIssuer) -> bytes:
        assert tokens == ISSUER
        answer = next(answers)
        leaving.set()
        if answer is None:
            raise KeysUnusable("nobody answers")
        return answer

    keep_token_keys(task, leaving=leaving, latest=latest, user=None, clock=Clock(), fetch=fetch)
    assert json.loads(file.read_bytes()) == {"keys": [RSA]}
    assert file.stat().st_mode & 0o777 == 0o600
    (report,) = latest.read()
    assert (report.listener, report.keys, report.fetched, report.problem) == ("TOKENS", 1, Clock().now(), "")
    at = file.stat().st_mtime_ns
    leaving.clear()
    keep_token_keys(task, leaving=leaving, latest=latest, user=None, clock=Clock(), fetch=fetch)
    (report,) = latest.read()
    assert (report.keys, report.fetched, report.problem) == (1, Clock().now(), "nobody answers")
    assert file.stat().st_mtime_ns == at
    latest.keep(None)
    assert latest.read() == ()


def test_nobody_is_asked_where_no_listener_takes_tokens(tmp_path: Path) -> None:
    assert token_keys_task(None, lambda service: tmp_path) is None
    assert token_keys_task(document(broker()), lambda service: tmp_path) is None


def test_who_does_not_answer_is_told_by_address() -> None:
    away = ISSUER.model_copy(update={"jwks": "http://127.0.0.1:9/jwks"})
    with pytest.raises(KeysUnusable, match=r"http://127\.0\.0\.1:9/jwks cannot be fetched"):
        fetch_keys(away)


def test_who_sends_a_byte_now_and_then_is_not_listened_to_for_ever() -> None:
    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):  # it hangs up
                while True:
                    self.wfile.write(b" ")

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        at = ISSUER.model_copy(update={"jwks": f"http://127.0.0.1:{server.server_port}/jwks"})
        with pytest.raises(KeysUnusable, match=r"is not done with its answer after 0 s"):
            fetch_keys(at, within_s=0.05)
        thread.join()


def _told_by(write: Callable[[socket.socket], None], within_s: float) -> str:
    """Why nothing comes of an answer that is written so."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):  # it hangs up
                connection.recv(4096)
                write(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        at = ISSUER.model_copy(update={"jwks": f"http://127.0.0.1:{server.getsockname()[1]}/jwks"})
        with pytest.raises(KeysUnusable) as refused:
            fetch_keys(at, within_s=within_s)
        thread.join(10)
        assert not thread.is_alive()
    return str(refused.value)


def test_who_sends_a_byte_of_the_head_now_and_then_is_not_listened_to_for_ever() -> None:
    hung_up = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not hung_up.wait(0.005):
            connection.sendall(b"a")

    assert "is not done with its answer after 0 s" in _told_by(drip, 0.1)


def test_who_says_nothing_at_all_is_let_go_of_in_time() -> None:
    def silent(connection: socket.socket) -> None:
        connection.recv(1)  # until it is hung up

    assert "is not done with its answer after 0 s" in _told_by(silent, 0.1)


def test_a_packed_answer_is_not_unpacked() -> None:
    """Of 16 MiB of blanks there are 16 KiB on the wire."""
    bomb = gzip.compress(b" " * (16 * 1024 * 1024))

    def packed(connection: socket.socket) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n"
        connection.sendall(head.encode() + bomb)

    assert "answers packed ('gzip'), which nobody asked for" in _told_by(packed, 10)
