"""A real server that has more to do than it can: what it sends away, whom it goes on serving, and that it lives."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from controlplane.api.bodies import MOST_BYTES
from controlplane.api.connections import IN_PASSING, MOST_HEAD_BYTES
from controlplane.api.gate import MAX_BODY_BYTES
from controlplane.runtime.descriptors import budget_of
from controlplane.storage.home import Home
from tests.contract.agent_crowd import Crowd, let_in, outcome
from tests.contract.flooded_server import CREDENTIAL, People, known_vms, rss_mib
from tests.contract.server_process import eventually
from tests.contract.test_api_server import PAUSED, Server

AGENTS, DESCRIPTORS = 200, 320


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    home, started = Home(tmp_path / "home"), list[Server]()

    def start(descriptors: int | None = None, **settings: str) -> Server:
        started.append(Server(home, descriptors, **settings))
        return started[-1].wait_until_it_listens()

    yield start
    for server in started:
        server.end()


def load(server: Server) -> dict[str, object]:
    told: dict[str, object] = server.get("/v1/loop").json()["load"]
    return told


def shed(server: Server) -> set[tuple[str, str]]:
    """Who was sent away, and why."""
    return {(s["who"], s["why"]) for s in load(server)["shed"]}  # type: ignore[attr-defined]


def port(server: Server) -> int:
    return int(server.url.rsplit(":", 1)[1])


@pytest.mark.parametrize("head", ["X-Long: " + "a" * MOST_HEAD_BYTES, "X-Many: a\r\n" * (MOST_HEAD_BYTES // 7)])
def test_a_head_without_end_is_refused_and_its_connection_closed(start: Callable[..., Server], head: str) -> None:
    server = start()
    with socket.create_connection(("127.0.0.1", port(server)), timeout=10) as asking:
        answer = b""
        with suppress(ConnectionError):
            asking.sendall(f"GET / HTTP/1.1\r\nHost: x\r\n{head}".encode())
            while piece := asking.recv(4096):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert server.is_alive


def test_with_more_agents_than_descriptors_people_are_served_the_newest_are_sent_away_and_the_server_lives(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    vms = known_vms(home, AGENTS)
    server = start(descriptors=DESCRIPTORS)
    eventually(lambda: server.leads, server)
    people = People(server.url, home.installation().token.get_secret_value(), users=2)
    met = outcome(let_in(Crowd(port(server), vms, CREDENTIAL, seconds=8.0)), within_s=60)
    _, answers = people.taken()
    people.end()
    told = load(server)
    assert server.is_alive
    assert set(answers) == {"200"}, answers
    assert answers["200"] >= 8
    fit = budget_of(DESCRIPTORS).agents
    assert told["agents_fit"] == fit
    assert 0 < met["agents_heard"] <= fit
    assert {"who": "agents", "why": "no-room"}.items() <= max(told["shed"], key=lambda s: s["count"]).items()  # type: ignore[call-overload]
    assert met["answers"]["report 503"] > 0
    assert met["longest_wait_to_be_shed_s"] < 10, "an answer that comes after the agent hung up is none"
    assert "agents are here" in server.log
    assert "Traceback" not in server.log
    # Who left makes room: the same agents that were sent away are heard when they come alone.
    again = outcome(let_in(Crowd(port(server), vms[-10:], CREDENTIAL, seconds=4.0, arrive_s=0.5)), within_s=60)
    assert again["answers"].get("report 503", 0) + again["answers"].get("report 200", 0) > 0
    assert server.get("/healthz").text == "ok\n"


def test_connections_that_never_ask_anything_are_bounded_and_keep_nobody_out(start: Callable[..., Server]) -> None:
    server = start(descriptors=DESCRIPTORS)
    eventually(lambda: server.leads, server)
    silent = []
    for _ in range(3 * DESCRIPTORS):
        silent.append(socket.create_connection(("127.0.0.1", port(server)), timeout=10))
        silent[-1].sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
    assert server.get("/v1/version").status_code == 200
    told = load(server)
    assert told["closed"]["room"] > 0  # type: ignore[index]
    assert sum(told["connections"].values()) <= budget_of(DESCRIPTORS).connections + IN_PASSING  # type: ignore[attr-defined]
    for one in silent:
        one.close()
    eventually(lambda: sum(load(server)["connections"].values()) < 10, server)  # type: ignore[attr-defined]
    assert server.is_alive
    assert "Traceback" not in server.log


def test_bodies_that_never_end_are_held_within_one_bound_and_people_are_served_meanwhile(
    start: Callable[..., Server],
) -> None:
    server = start(KEDGE_TELEMETRY__PIPELINE="false")  # what reads the lake is loaded at its first reading
    eventually(lambda: server.leads, server)
    before_mib = rss_mib(server.pid)
    piece, head = b" " * (MAX_BODY_BYTES // 2), f"Host: x\r\nContent-Length: {MAX_BODY_BYTES}\r\n\r\n"
    holding = []
    for path in ("/v1/apply", "/agent/v1/report") * (3 * MOST_BYTES // MAX_BODY_BYTES):
        holding.append(socket.create_connection(("127.0.0.1", port(server)), timeout=10))
        with suppress(ConnectionError, TimeoutError):  # it may be sent away while it still sends
            holding[-1].sendall(f"POST {path} HTTP/1.1\r\n{head}".encode() + piece)
    eventually(lambda: {("agents", "memory"), ("people", "memory")} <= shed(server), server)
    assert rss_mib(server.pid) - before_mib < 2 * MOST_BYTES // 2**20
    for one in holding:
        one.close()
    eventually(lambda: server.post("/v1/apply", {"text": PAUSED}).status_code == 200, server)
    assert server.is_alive
    assert "Traceback" not in server.log


def test_the_server_survives_that_accept_finds_no_descriptor(start: Callable[..., Server]) -> None:
    server = start(descriptors=DESCRIPTORS)
    eventually(lambda: server.leads, server)
    began_s = time.monotonic()
    import resource

    eventually(lambda: load(server)["descriptors"] is not None, server)
    opened = int(load(server)["descriptors"])  # type: ignore[call-overload]
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (opened + 1, DESCRIPTORS))
    knocking = [socket.create_connection(("127.0.0.1", port(server)), timeout=10) for _ in range(20)]
    time.sleep(3)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    for one in knocking:
        one.close()
    eventually(lambda: server.get("/v1/version").status_code == 200, server)
    eventually(lambda: server.leads, server)
    assert time.monotonic() - began_s < 60
