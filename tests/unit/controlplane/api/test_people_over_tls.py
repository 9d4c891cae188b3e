"""People off loopback: a real TLS server with a certificate of theirs; what is served there, and what is refused."""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest
import uvicorn

from controlplane.api.auth import public_hosts
from controlplane.api.connections import ConnectionTable, GuardedProtocol
from controlplane.runtime.listen_addresses import listening
from controlplane.server.settings import ServerSettingsRefused, Settings, load_settings
from controlplane.server.tls_people import PeopleDoorRefused, PeopleTls, people_tls
from controlplane.server.web_server import WebServer
from controlplane.storage.certificates.authority import Authority, load_or_make
from controlplane.storage.home import Home, ServerRecord
from controlplane.storage.lease_holder import Candidate
from tests.fakes.leases import MemoryLeaseStore
from tests.fakes.people import people_in_memory
from tests.unit.controlplane.api.portal_house import TOKEN, House
from tests.waiting import until

HOST = "127.0.43.7"


def write_pair(folder: Path, authority: Authority, *names: str) -> tuple[Path, Path]:
    """A certificate and its key, as somebody's own CA would issue them."""
    issued = authority.issue(names, now=datetime.now(UTC))
    cert, key = folder / "tls.pem", folder / "tls-key.pem"
    cert.write_bytes(issued.chain_pem)
    key.write_bytes(issued.key_pem)
    return cert, key


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return load_or_make(tmp_path / "ca", "somebody's", now=datetime.now(UTC))


@dataclass
class Parts:
    """What `WebServer` looks at."""

    home: Home
    candidate: Candidate
    settings: Settings


@contextmanager
def served(tmp_path: Path, tls: PeopleTls) -> Iterator[tuple[House, str, str]]:
    """A server with a door for people elsewhere: the house, that door's address, and the one on loopback."""
    door, loopback = listening(HOST, 0), listening("127.0.0.1", 0)
    house = House(public_hosts=public_hosts((HOST,), door.getsockname()[1]))
    object.__setattr__(house.services.access, "hosts", frozenset({f"127.0.0.1:{loopback.getsockname()[1]}"}))
    home = Home(tmp_path / "home")
    home.installation()
    candidate = Candidate(MemoryLeaseStore(longest_call_s=10.0), owner="one", term_s=30.0)
    table = ConnectionTable(house.services.operations.load)
    server = WebServer(
        uvicorn.Config(
            house.app,
            http=partial(GuardedProtocol, table),  # type: ignore[arg-type]
            log_config=None,
            proxy_headers=False,
        ),
        Parts(home, candidate, load_settings(home=home.path)),  # type: ignore[arg-type]
        table=table,
        feed=house.app.state.feed,
        record=ServerRecord("http://127.0.0.1:1", 1),
        told=None,
        peoples=(door, tls),
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [loopback]})
    thread.start()
    try:
        until(lambda: server.started)
        yield house, f"https://{HOST}:{door.getsockname()[1]}", f"http://127.0.0.1:{loopback.getsockname()[1]}"
    finally:
        server.handle_exit(15, None)
        thread.join(timeout=20)


def test_people_elsewhere_are_served_over_tls_and_nobody_else_is(tmp_path: Path, authority: Authority) -> None:
    believing = ssl.create_default_context(cadata=authority.pem)
    with (
        served(tmp_path, PeopleTls(*write_pair(tmp_path, authority, HOST))) as (_, url, loopback),
        httpx.Client(base_url=url, verify=believing, timeout=30) as people,
        httpx.Client(base_url=loopback, timeout=30, headers={"Authorization": f"Bearer {TOKEN}"}) as here,
    ):
        page = people.get("/login")
        assert (page.status_code, page.headers["strict-transport-security"]) == (200, "max-age=31536000")
        made = here.post("/v1/tokens", json={"label": "ci", "role": "viewer"}).json()["text"]
        assert people.get("/v1/whoami", headers={"Authorization": f"Bearer {made}"}).status_code == 200
        assert people.get("/v1/whoami", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 401
        assert people.get("/login", headers={"Host": "evil.example"}).status_code == 421
        assert people.get("/agent/v1/ca").status_code == 403
        assert people.get("/terraform/v1/states/x/y").status_code == 403
        assert here.get("/v1/whoami").status_code == 200
        assert "strict-transport-security" not in here.get("/login").headers
        with pytest.raises(httpx.HTTPError):
            httpx.get(url.replace("https", "http") + "/login", timeout=5)


def test_a_changed_certificate_is_shown_without_a_restart_and_a_broken_one_is_not(
    tmp_path: Path, authority: Authority
) -> None:
    believing = ssl.create_default_context(cadata=authority.pem)
    cert, key = write_pair(tmp_path, authority, "another.example")
    with served(tmp_path, PeopleTls(cert, key)) as (_, url, _loopback):

        def answers() -> bool:
            try:
                return httpx.get(f"{url}/login", verify=believing, timeout=30).status_code == 200
            except httpx.ConnectError:
                return False

        assert not answers(), "the certificate is another host's"
        write_pair(tmp_path, authority, HOST)
        until(answers)
        cert.write_text("half of a certifica")
        time.sleep(1.5)  # the server looks once a second
        assert answers(), "the one before goes on"


def test_a_pair_that_does_not_fit_is_refused_at_first_and_later_left_alone(
    tmp_path: Path, authority: Authority
) -> None:
    cert, key = write_pair(tmp_path, authority, HOST)
    tls = PeopleTls(cert, key)
    assert not tls.reload_if_changed()
    good = key.read_bytes()
    key.write_bytes(authority.issue([HOST], now=datetime.now(UTC)).key_pem)
    assert not tls.reload_if_changed()
    with pytest.raises(PeopleDoorRefused, match="cannot be used"):
        PeopleTls(cert, key)
    key.write_bytes(good)
    assert tls.reload_if_changed()
    with pytest.raises(PeopleDoorRefused, match="cannot be used"):
        PeopleTls(tmp_path / "missing", key)


def settings(tmp_path: Path, authority: Authority, **more: object) -> Settings:
    cert, key = write_pair(tmp_path, authority, HOST)
    names = ("kedge.example.com",)
    return load_settings(
        **{"home": tmp_path, "portal_host": HOST, "portal_names": names, "portal_cert": cert, "portal_key": key, **more}
    )


def test_a_server_nobody_could_sign_in_at_is_not_opened_to_the_network(tmp_path: Path, authority: Authority) -> None:
    people = people_in_memory()
    with pytest.raises(PeopleDoorRefused, match=r"Start once without portal\.host"):
        people_tls(settings(tmp_path, authority), people)
    people.first_password(datetime.now(UTC))
    assert people_tls(settings(tmp_path, authority), people) is not None
    by_provider = settings(tmp_path, authority, oidc={"issuer": "https://id.example.com", "client_id": "kedge"})
    assert people_tls(by_provider, people_in_memory()) is not None
    assert people_tls(load_settings(home=tmp_path), people_in_memory()) is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"portal_names": ()}, "portal.names is not"),
        ({"portal_cert": None, "portal_key": None}, "portal.cert, portal.key is not"),
        ({"portal_host": "kedge.example.com"}, "not an IP address"),
        ({"portal_host": None}, "portal.host is not"),
        ({"portal_names": ("https://kedge.example.com",)}, "host name or address"),
        ({"portal_names": ("*",)}, "host name or address"),
        ({"host": "0.0.0.0"}, "set portal.host"),
        ({"oidc": {"issuer": "http://id.example.com", "client_id": "kedge"}}, "plain HTTP"),
    ],
)
def test_settings_that_would_serve_people_unprotected_are_refused_with_what_to_do(
    tmp_path: Path, authority: Authority, given: dict[str, object], why: str
) -> None:
    with pytest.raises(ServerSettingsRefused, match=why):
        settings(tmp_path, authority, **given)
