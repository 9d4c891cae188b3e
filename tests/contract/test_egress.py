"""Calls out over real sockets: what a name was judged by is what is connected to, also when it changes in between."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.faults import SourceFault
from controlplane.runtime.egress import Allowed, Egress, EgressRefused

LOOPBACK = (Allowed.of("127.0.0.0/8"),)


@dataclass
class Ear:
    """A web server on one loopback address that notes who called it by which name."""

    address: str
    port: int = 0
    heard: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture
def ears() -> Iterator[tuple[Ear, Ear]]:
    """Two at the same port of two addresses: the one that is meant, and one behind it that nobody may call."""
    meant, behind = Ear("127.0.0.31"), Ear("127.0.0.32")
    servers: list[ThreadingHTTPServer] = []
    for ear in (meant, behind):
        servers.append(ThreadingHTTPServer((ear.address, meant.port), _handler(ear)))
        meant.port = behind.port = servers[0].server_port
    threads = [threading.Thread(target=one.serve_forever, args=(0.02,), daemon=True) for one in servers]
    for thread in threads:
        thread.start()
    yield meant, behind
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(ear: Ear) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ear.heard.append((self.headers["Host"], self.path))
            self.send_response(302 if self.path == "/moved" else 200)
            self.send_header("Location", f"http://{ear.address}:{ear.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Nothing."""

    return Handler


def test_a_name_that_changes_its_address_reaches_only_the_one_that_was_judged(ears: tuple[Ear, Ear]) -> None:
    """A name server that answers each time with another address: each call is judged and made by one answer."""
    meant, behind = ears
    answers = iter(((meant.address,), (behind.address,), ("169.254.169.254",)))
    rules = Egress((Allowed.of("127.0.0.31/32"),), resolve=lambda _host, _port: next(answers))
    with rules.client({"hooks.example.com"}, timeout=5) as http:
        assert http.get(f"http://hooks.example.com:{meant.port}/one").status_code == 200
        with pytest.raises(EgressRefused, match=r"127\.0\.0\.32"):
            http.get(f"http://hooks.example.com:{meant.port}/two")
        with pytest.raises(EgressRefused, match="never called"):
            http.get(f"http://hooks.example.com:{meant.port}/three")
    assert meant.heard == [(f"hooks.example.com:{meant.port}", "/one")]
    assert behind.heard == []


def test_of_two_addresses_the_refused_one_is_passed_over_and_the_dead_one_too(ears: tuple[Ear, Ear]) -> None:
    meant, _ = ears
    rules = Egress(LOOPBACK, resolve=lambda _host, _port: ("169.254.169.254", "127.0.0.33", meant.address))
    with rules.client((), timeout=5) as http:
        assert http.get(f"http://hooks.example.com:{meant.port}/").status_code == 200


def test_a_name_of_this_machine_is_refused_where_the_settings_do_not_say_so(ears: tuple[Ear, Ear]) -> None:
    meant, _ = ears
    rules = Egress(resolve=lambda _host, _port: (meant.address,))
    with rules.client({"hooks.example.com"}, timeout=5) as http, pytest.raises(EgressRefused, match="machine itself"):
        http.get(f"http://hooks.example.com:{meant.port}/")
    with rules.client({meant.address}, timeout=5) as http:
        assert http.get(f"http://{meant.address}:{meant.port}/").status_code == 200
    assert len(meant.heard) == 1


def test_a_redirect_is_answered_and_not_followed(ears: tuple[Ear, Ear]) -> None:
    meant, _ = ears
    with Egress().client({meant.address}, timeout=5) as http:
        assert http.get(f"http://{meant.address}:{meant.port}/moved").status_code == 302
    assert [path for _, path in meant.heard] == ["/moved"]


def test_a_proxy_of_the_environment_is_used_for_names_and_never_for_a_clouds_address(
    ears: tuple[Ear, Ear], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, _ = ears
    monkeypatch.setenv("http_proxy", f"http://{proxy.address}:{proxy.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    unused = Egress(resolve=lambda host, _port: pytest.fail(f"{host} was looked up here"))
    with unused.client({"forge.example.com"}, timeout=5) as http:
        assert http.get("http://forge.example.com/api").status_code == 200
        with pytest.raises(EgressRefused, match="never called"):
            http.get("http://169.254.169.254/latest/meta-data")
    assert [path for _, path in proxy.heard] == ["http://forge.example.com/api"]


def test_git_itself_connects_to_the_address_that_was_judged(ears: tuple[Ear, Ear], tmp_path: Path) -> None:
    """`localhost` is another address of this machine: nobody listens there, at that port."""
    meant, _ = ears
    binding = GitBinding(name="teams", repository=f"http://localhost:{meant.port}/specs.git")
    rules = Egress(LOOPBACK, resolve=lambda _host, _port: (meant.address,))
    clone = Clone(binding, tmp_path / "teams", local_paths=(), stop=threading.Event(), egress=rules)
    with pytest.raises(SourceFault, match="no branch"):
        clone.tip(None)  # a server that answers, and is no repository
    asked = list(meant.heard)
    assert (f"localhost:{meant.port}", "/specs.git/info/refs?service=git-upload-pack") in asked
    refusing = Egress(resolve=lambda _host, _port: ("169.254.169.254",))
    clone = Clone(binding, tmp_path / "more", local_paths=(), stop=threading.Event(), egress=refusing)
    with pytest.raises(SourceFault, match="never called") as fault:
        clone.tip(None)
    assert fault.value.reason == "NotAllowed"
    assert meant.heard == asked
