"""Real server processes of two homes on one PostgreSQL database: refused, told why, let in, and going on in turn."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controlplane.storage.home import Home
from tests.contract.server_process import ServerProcess, eventually
from tests.contract.test_api_server import DEADLINE_S, PAUSED, Server
from tests.databases import APP, as_role

pytestmark = pytest.mark.postgres

COPIED = ("installation-id", "server-key", "token", "agent-url")


@pytest.fixture
def homes(tmp_path: Path, fresh_database: Callable[[str], str]) -> tuple[Home, Home]:
    url = as_role(fresh_database("postgresql"), APP)
    for name in ("alpha", "beta"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kedge.toml").write_text(f'terraform_state = "http"\ndatabase_url = "{url}"\n')
    return Home(tmp_path / "alpha"), Home(tmp_path / "beta")


@pytest.fixture
def start() -> Iterator[Callable[[Home], Server]]:
    started: list[Server] = []

    def start(home: Home) -> Server:
        started.append(Server(home))
        return started[-1].wait_until_it_listens()

    yield start
    for server in started:
        server.end()


def refusal(home: Home) -> str:
    """Starts a server that does not come up."""
    process = ServerProcess(str(home.path), dict(os.environ))
    said = process.stderr.read()
    assert process.wait(DEADLINE_S) != 0
    return said


def test_servers_of_two_homes_share_a_database_once_their_keys_are_the_same(
    homes: tuple[Home, Home], start: Callable[[Home], Server]
) -> None:
    alpha, beta = homes
    first = start(alpha)
    eventually(lambda: first.leads, first)
    assert "it would take them for a stranger's" in refusal(beta)
    shutil.copy(alpha.path / "installation-id", beta.path)
    assert "have different keys" in refusal(beta)
    for name in COPIED:
        shutil.copy(alpha.path / name, beta.path)
    second = start(beta)
    assert not second.leads
    assert second.get("/v1/version").json()["installation_id"] == first.get("/v1/version").json()["installation_id"]
    first.signal(signal.SIGTERM)
    assert first.wait() == 0, first.log
    eventually(lambda: second.leads, second)
    assert second.get("/v1/version").json()["epoch"] == 2
    assert beta.agent_url() == alpha.agent_url()
    third = start(alpha)
    assert not third.leads


def test_a_second_home_is_refused_while_clusters_are_processes_of_the_first(
    homes: tuple[Home, Home], start: Callable[[Home], Server]
) -> None:
    alpha, beta = homes
    first = start(alpha)
    eventually(lambda: first.leads, first)
    assert first.post("/v1/apply", {"text": PAUSED}).json()["ok"]
    for name in COPIED:
        shutil.copy(alpha.path / name, beta.path)
    for _ in range(2):
        assert "orders live in the `local` cloud" in refusal(beta)
    assert first.leads
    second = start(alpha)
    assert second.get("/v1/clusters/orders").status_code == 200
