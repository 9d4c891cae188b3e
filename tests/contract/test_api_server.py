"""Real server processes on one database, without planner, Terraform and Kafka: who leads, and how a server ends."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from controlplane.storage.home import Home
from tests.contract.server_process import ServerProcess, eventually
from tests.unit.events.spec_texts import ORDERS

DEADLINE_S = 60.0

# Paused from the first moment on: nothing may ever be built here.
PAUSED = ORDERS + "    pause: true\n"


class Server:
    """One `kedge server` on a port of its own; `settings` are variables of its environment."""

    def __init__(self, home: Home, descriptors: int | None = None, /, **settings: str) -> None:
        self._home = home
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), **settings}
        self._process = ServerProcess(str(home.path), environ, descriptors=descriptors)
        self._log: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        self.url = ""

    def wait_until_it_listens(self) -> "Server":
        eventually(self._listens, self)
        self._client = httpx.Client(base_url=self.url, headers=self.bearer, trust_env=False, timeout=DEADLINE_S)
        return self

    @property
    def bearer(self) -> dict[str, str]:
        """What opens everything on its machine."""
        return {"Authorization": f"Bearer {self._home.installation().token.get_secret_value()}"}

    def get(self, path: str, **query: object) -> httpx.Response:
        return self._client.get(path, params=query)  # type: ignore[arg-type]

    def post(self, path: str, body: dict[str, object]) -> httpx.Response:
        return self._client.post(path, json=body)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def leads(self) -> bool:
        return bool(self.get("/v1/version").json()["leader"])

    @property
    def log(self) -> str:
        return "".join(self._log)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, timeout_s: float = DEADLINE_S) -> int:
        return self._process.wait(timeout_s)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(DEADLINE_S)

    def _listens(self) -> bool:
        assert self._process.poll() is None, self.log
        said = [line.split("listening on ")[1].split(",")[0] for line in self._log if "listening on http" in line]
        self.url = said[0] if said else ""
        return bool(said)

    def _read(self) -> None:
        for line in self._process.stderr:
            self._log.append(line)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Server]]:
    home, started = Home(tmp_path / "home"), list[Server]()

    def start() -> Server:
        started.append(Server(home))
        return started[-1].wait_until_it_listens()

    yield start
    for server in started:
        server.end()


def test_a_second_server_reads_along_and_leads_as_soon_as_the_first_one_is_dead(
    start: Callable[[], Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    first = start()
    eventually(lambda: first.leads, first)
    eventually(lambda: _url(home) == first.url, first)
    assert home.agent_url() == first.url
    second = start()
    assert not second.leads
    # What the first one is told the second one shows: any server takes commands, one acts on them.
    assert first.post("/v1/clusters/nobody/pause", {"reason": "x"}).status_code == 404
    assert first.post("/v1/apply", {"text": PAUSED}).json()["ok"]
    eventually(lambda: second.get("/v1/clusters/orders").status_code == 200, second)
    assert second.post("/v1/clusters/orders/pause", {"reason": "x"}).json()["changed"]
    assert _url(home) == first.url
    first.signal(signal.SIGKILL)
    first.wait()
    died_at = time.monotonic()
    eventually(lambda: second.leads, second)
    # The kernel proved the death: no lease term of 30 s was waited out.
    assert time.monotonic() - died_at < 20
    assert second.get("/v1/version").json()["epoch"] == 2
    eventually(lambda: _url(home) == second.url, second)


def test_a_server_ends_in_order_though_somebody_waits_for_news(start: Callable[[], Server], tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = start()
    eventually(lambda: first.leads and _url(home) == first.url, first)
    first.post("/v1/apply", {"text": PAUSED})
    first.post("/v1/clusters/orders/pause", {"reason": "x"})
    head = first.get("/v1/clusters/orders/events").json()["head"]
    waiting = threading.Thread(target=lambda: first.get("/v1/clusters/orders/events", after=head + 1000, wait_s=30))
    waiting.start()
    asked_at = time.monotonic()
    first.signal(signal.SIGTERM)
    assert first.wait() == 0, first.log
    assert time.monotonic() - asked_at < 20
    waiting.join(DEADLINE_S)
    assert "Traceback" not in first.log
    assert home.server() is None
    second = start()
    eventually(lambda: second.leads, second)
    second.signal(signal.SIGINT)
    assert second.wait() == 0, second.log


def _url(home: Home) -> str | None:
    known = home.server()
    return known.url if known else None
