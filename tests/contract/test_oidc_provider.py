"""Signing in by a real OpenID provider: oidc-provider, on loopback, over HTTP as it is spoken."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest
from pydantic import SecretBytes

from controlplane.api.access.oidc_users import OidcPerson
from controlplane.api.oidc.binding import OidcBinding
from controlplane.api.oidc.provider import KEYS_AT_MOST_EVERY_S, Provider, ProviderAway, SignInFailed
from controlplane.api.oidc.signin import OidcSignIn, SignInAnswer
from events.clock import utc_now
from tests.fakes.people import MemoryOidcPeople
from tests.oidc_server import CLIENT, SECRET, OidcServer, free_port, sign_in_there, sign_out_there

US = "http://127.0.0.1:8428"


@pytest.fixture(scope="module")
def server() -> OidcServer:
    return OidcServer(free_port(), [f"{US}/oidc/callback"], [f"{US}/login"])


@pytest.fixture(scope="module")
def running(server: OidcServer) -> Iterator[OidcServer]:
    with server.running():
        yield server


class Server:
    """Ours, bound to that provider."""

    def __init__(self, provider: OidcServer, monkeypatch: pytest.MonkeyPatch, secret: str = SECRET) -> None:
        monkeypatch.setenv("KEDGE_TEST_OIDC_SECRET", secret)
        self.now_s = 0.0
        binding = OidcBinding(issuer=provider.issuer, client_id=CLIENT, client_secret_env="KEDGE_TEST_OIDC_SECRET")
        self.oidc = OidcSignIn(
            Provider(binding, monotonic=lambda: self.now_s), MemoryOidcPeople(), SecretBytes(b"server key")
        )

    def answer(self, url: str, login: str) -> SignInAnswer:
        with httpx.Client() as browser:
            back = sign_in_there(browser, url, login)
        told = {name: values[0] for name, values in parse_qs(urlsplit(str(back)).query).items()}
        return SignInAnswer(told.get("code", ""), told.get("state", ""), told.get("error", ""), told.get("iss", ""))

    def sign_in(self, login: str, *, now: datetime | None = None) -> OidcPerson:
        url, cookie = self.oidc.begin(US, utc_now())
        answer = self.answer(url, login)
        return self.oidc.finish(answer, cookie, US, now or utc_now())


def test_somebody_signs_in_with_their_groups_from_the_userinfo_endpoint(
    running: OidcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Server(running, monkeypatch).sign_in("ada")
    assert (person.subject, person.sub, person.groups) == ("oidc:ada@example.com", "ada", ("platform",))


def test_an_email_nobody_verified_lets_nobody_in(running: OidcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInFailed, match="not verified"):
        Server(running, monkeypatch).sign_in("bob")


def test_a_code_is_exchanged_once(running: OidcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Server(running, monkeypatch)
    url, cookie = ours.oidc.begin(US, utc_now())
    answer = ours.answer(url, "ada")
    assert answer.issuer == running.issuer, "it names itself in its answer (RFC 9207)"
    ours.oidc.finish(answer, cookie, US, utc_now())
    with pytest.raises(SignInFailed, match="used before"):
        ours.oidc.finish(answer, cookie, US, utc_now())
    elsewhere = Server(running, monkeypatch)
    with pytest.raises(SignInFailed):
        # Another installation with the same key: the provider knows the code.
        elsewhere.oidc.finish(answer, cookie, US, utc_now())


def test_a_wrong_client_secret_is_told_without_the_secret(running: OidcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInFailed, match="invalid_client") as refused:
        Server(running, monkeypatch, secret="wrong").sign_in("ada")
    assert "wrong" not in str(refused.value)


def test_a_clock_that_is_far_ahead_takes_the_token_for_old(
    running: OidcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SignInFailed, match="clocks"):
        Server(running, monkeypatch).sign_in("ada", now=datetime.now(UTC) + timedelta(minutes=8))


def test_rotated_keys_are_fetched_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = OidcServer(free_port(), [f"{US}/oidc/callback"], [f"{US}/login"])
    ours = Server(provider, monkeypatch)
    with provider.running():
        assert ours.sign_in("ada").sub == "ada"
    with pytest.raises(ProviderAway):
        ours.oidc.provider.exchange("x", verifier="x", redirect_uri="x")
    provider.kid = "second"
    with provider.running():
        with pytest.raises(SignInFailed, match="does not show"):
            ours.sign_in("ada")
        ours.now_s += KEYS_AT_MOST_EVERY_S
        assert ours.sign_in("ada").sub == "ada"


def test_the_provider_offers_the_way_out(running: OidcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    way_out = Server(running, monkeypatch).oidc.way_out(US)
    answer = httpx.get(way_out)
    assert (answer.status_code, "logout" in answer.text.lower()) == (200, True)


class Ear(BaseHTTPRequestHandler):
    """Keeps what is posted to it."""

    heard: Queue[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.send_response(200)
        self.end_headers()
        self.heard.put(parse_qs(body)["logout_token"][0])

    def log_message(self, *words: object) -> None:
        """Nothing."""


def test_the_provider_says_behind_the_browser_whom_it_has_signed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: Queue[str] = Queue()
    monkeypatch.setattr(Ear, "heard", heard, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Ear) as ear, httpx.Client() as browser:
        threading.Thread(target=ear.serve_forever, args=(0.05,), daemon=True).start()
        provider = OidcServer(free_port(), [f"{US}/oidc/callback"], [f"{US}/login"])
        provider.backchannel = f"http://127.0.0.1:{ear.server_port}/oidc/backchannel"
        ours = Server(provider, monkeypatch)
        with provider.running():
            url, cookie = ours.oidc.begin(US, utc_now())
            told = dict(parse_qsl(sign_in_there(browser, url, "ada").query.decode()))
            person = ours.oidc.finish(SignInAnswer(told["code"], told["state"], "", told["iss"]), cookie, US, utc_now())
            ours.oidc.people.signed_in(person)
            sign_out_there(browser, ours.oidc.way_out(US))
            assert ours.oidc.signed_out(heard.get(timeout=20), utc_now()) == ["oidc:ada@example.com"]
        ear.shutdown()
