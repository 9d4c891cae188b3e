"""A real server that polls a real repository: commits become clusters, and it goes on where the last process ended."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.storage.home import Home
from tests.contract.git_repositories import Upstream
from tests.contract.server_process import eventually
from tests.contract.test_api_server import PAUSED, Server
from tests.unit.events.spec_texts import edited

POLL_S = 0.3
LARGER = edited({19: "      size: 6"}, PAUSED)
BROKEN = edited({7: "    version: 9.9.9"}, PAUSED)


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path)


@pytest.fixture
def start(tmp_path: Path, upstream: Upstream) -> Iterator[Callable[[], Server]]:
    home, started = Home(tmp_path / "home"), list[Server]()
    binding = {"name": "teams", "repository": str(upstream.bare), "path": "kafka", "poll_s": POLL_S}
    settings = {"KEDGE_GIT": json.dumps([binding]), "KEDGE_GIT_LOCAL_PATHS": json.dumps([str(tmp_path)])}

    def start() -> Server:
        started.append(Server(home, **settings))
        return started[-1].wait_until_it_listens()

    yield start
    for server in started:
        server.end()


def cluster(server: Server, name: str = "orders") -> dict[str, Any]:
    answer = server.get(f"/v1/clusters/{name}")
    found: dict[str, Any] = answer.json() if answer.status_code == 200 else {"generation": 0, "source": {"sync": ""}}
    return found


def source(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.get("/v1/sources").json()[0]
    return found


def test_commits_come_into_force_and_a_killed_server_is_taken_up_where_it_was(
    start: Callable[[], Server], upstream: Upstream
) -> None:
    first = upstream.push({"kafka/orders.yaml": PAUSED})
    server = start()
    eventually(lambda: cluster(server)["source"]["sync"] == "Synced", server)
    found = cluster(server)["source"]
    assert (found["source"], found["path"], found["commit"]) == ("git:teams", "kafka/orders.yaml", first)
    assert found["author"] == "Ada <ada@example.org>"

    upstream.push({"kafka/orders.yaml": LARGER, "kafka/bad.yaml": BROKEN.replace("orders", "bad")})
    eventually(lambda: cluster(server)["generation"] == 2, server)
    eventually(lambda: source(server)["sync"] == "Refused", server)
    assert [(p["file"], p["line"]) for p in source(server)["problems"]] == [("kafka/bad.yaml", 7)]
    applied = source(server)["commit"]

    server.signal(signal.SIGKILL)
    server.wait()
    upstream.git("checkout", "--quiet", "--orphan", "rewritten")
    rewritten = upstream.push({"kafka/orders.yaml": PAUSED, "kafka/bad.yaml": None})
    server = start()
    eventually(lambda: source(server)["reason"] == "HistoryRewritten", server)
    assert (source(server)["commit"], source(server)["tip"]) == (applied, rewritten)
    assert (cluster(server)["generation"], cluster(server)["source"]["reason"]) == (2, "HistoryRewritten")

    assert server.post("/v1/sources/teams/accept", {"commit": rewritten}).status_code == 200
    eventually(lambda: source(server)["sync"] == "Synced", server)
    assert cluster(server)["generation"] == 3

    upstream.push({"kafka/orders.yaml": None})
    eventually(lambda: cluster(server)["source"]["reason"] == "NotDeclared", server)
    assert cluster(server)["generation"] == 3
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
