"""A real server whose database is locked, away, or out of room: it lives, says so, acts on nothing, goes on alone."""

import os
import resource
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx
import pytest

from controlplane.storage.home import Home
from events.engine import build_engine
from events.sql_store import SqlEventStore
from tests.contract.agent_crowd import Vm, report_body
from tests.contract.flooded_server import CREDENTIAL, known_vms
from tests.contract.server_process import eventually
from tests.contract.test_api_server import PAUSED, Server
from tests.postgres_server import running_postgres

PATIENCE_S = 30.0
"""Of somebody who asks on a busy machine. What is answered, `busy`, says that nobody waited for the database."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    started = list[Server]()

    def start(home: Home | None = None, **settings: str) -> Server:
        started.append(Server(home or Home(tmp_path / "home"), **settings))
        server = started[-1].wait_until_it_listens()
        eventually(lambda: server.leads, server)
        return server

    yield start
    for server in started:
        server.end()


class Asked:
    """Requests by `count` people at once, each in a thread; `statuses` once they are answered."""

    def __init__(self, server: Server, count: int) -> None:
        self._server = server
        self.statuses: list[int] = []
        self._threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(count)]
        for thread in self._threads:
            thread.start()

    def all_answered(self) -> list[int]:
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)
        return self.statuses

    def _ask(self, number: int) -> None:
        verb = "resume" if number % 2 else "pause"
        self.statuses.append(self._server.post(f"/v1/clusters/orders/{verb}", {"reason": str(number)}).status_code)


def ask(server: Server, path: str) -> httpx.Response:
    """A new connection, as whoever comes now. Raises where the answer takes longer than anybody waits."""
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
        return client.get(server.url + path, headers=server.bearer)


def ask_as_agent(server: Server, vm: Vm) -> httpx.Response:
    asked: dict[str, str | int] = {"cluster": vm.cluster, "node": vm.node, "generation": vm.generation}
    who = {"Authorization": f"Bearer {CREDENTIAL}", "X-Kedge-Instance": vm.instance}
    with httpx.Client(trust_env=False, timeout=20) as client:
        return client.get(f"{server.url}/agent/v1/document", params=asked, headers=who)


def report_as_agent(server: Server, vm: Vm, seq: int) -> httpx.Response:
    who = {"Authorization": f"Bearer {CREDENTIAL}", "X-Kedge-Instance": vm.instance, "Content-Type": "application/json"}
    with httpx.Client(trust_env=False, timeout=20) as client:
        return client.post(f"{server.url}/agent/v1/report", content=report_body(vm, seq), headers=who)


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """As by somebody else's program that holds the write lock and forgot about it."""
    stranger = sqlite3.connect(database, isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        stranger.execute("ROLLBACK")
        stranger.close()


def test_where_every_thread_waits_for_a_locked_database_people_are_told_so_and_it_comes_back_alone(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    server = start()
    assert server.post("/v1/apply", {"text": PAUSED}).status_code == 200
    with locked(tmp_path / "home" / "kedge.db"):
        asked = Asked(server, 60)
        eventually(lambda: ask(server, "/v1/version").status_code == 503, server)
        refused = ask(server, "/v1/version")
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        assert int(refused.headers["Retry-After"]) > 0
        page = httpx.get(
            server.url, headers={**server.bearer, "Accept": "text/html"}, trust_env=False, timeout=PATIENCE_S
        )
        assert (page.status_code, "this server is busy" in page.text) == (503, True)
        assert ask(server, "/healthz").status_code == 200, "it needs no thread"
    assert set(asked.all_answered()) <= {200, 409, 503}, asked.statuses
    eventually(lambda: ask(server, "/v1/version").status_code == 200 and server.leads, server)
    eventually(lambda: ask(server, "/healthz").text == "ok\n", server)
    assert any(s["who"] == "people" for s in ask(server, "/v1/loop").json()["load"]["shed"])
    assert "Traceback" not in server.log


@pytest.mark.postgres
def test_a_postgresql_that_goes_away_is_told_agents_wait_and_the_server_goes_on_when_it_is_back(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    with running_postgres() as postgres:
        url = postgres.create_database()
        (vm,) = known_vms(home, 1, url=url)
        server = start(home, KEDGE_DATABASE_URL=url)
        assert ask_as_agent(server, vm).status_code == 200
        head = ask(server, "/v1/loop").json()["head"]
        postgres.stop()
        eventually(lambda: ask(server, "/healthz").text.startswith("ok, but its database takes no writes"), server)
        seqs = count(1)
        # One was taken, to be kept soon: it is kept when the database is back. From then on agents are told.
        eventually(lambda: report_as_agent(server, vm, next(seqs)).status_code == 503, server)
        told = report_as_agent(server, vm, next(seqs))
        assert (told.status_code, told.json()["code"]) == (503, "store-unavailable")
        assert int(told.headers["Retry-After"]) > 0
        page = httpx.get(server.url, headers={**server.bearer, "Accept": "text/html"}, trust_env=False, timeout=30)
        assert (page.status_code, "the database does not answer" in page.text) == (503, True)
        findings = ask(server, "/v1/doctor").json()["server"]
        assert any(f["what"] == "server: database" and f["well"] is False for f in findings)
        assert server.is_alive
        postgres.start_again()
        eventually(lambda: ask(server, "/healthz").text == "ok\n", server)
        eventually(lambda: report_as_agent(server, vm, next(seqs)).status_code == 200, server)
        assert server.leads
        since = SqlEventStore(build_engine(url)).read_all(head)
        assert {event.type for event in since} <= {"condition.changed"}, "nothing was done meanwhile"
        assert "Traceback" not in server.log
        server.end()


class FullDisk:
    """The file of the database may not grow: `fill` and `make_room`, on a file system of its own or by a quota."""

    def __init__(self, server: Server, folder: Path, *, by_quota: bool) -> None:
        self._server, self._folder, self._by_quota = server, folder, by_quota

    def fill(self) -> None:
        if self._by_quota:
            # Without root: no file of that process may grow beyond the smallest of those that must (setrlimit(2)).
            resource.prlimit(self._server.pid, resource.RLIMIT_FSIZE, (64 * 1024, resource.RLIM_INFINITY))
            return
        with (self._folder / "filler").open("wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 4096):
                    pass
            except OSError:
                return

    def make_room(self) -> None:
        if self._by_quota:
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(self._server.pid, resource.RLIMIT_FSIZE, unlimited)
        (self._folder / "filler").unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of a few MiB there. Needs root."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "kedge-test", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0 and "CI" not in os.environ, reason="mounting needs root")


@pytest.mark.parametrize("by_quota", [pytest.param(False, marks=NEEDS_ROOT, id="disk"), pytest.param(True, id="quota")])
def test_a_full_disk_below_the_database_is_told_reads_go_on_and_so_do_writes_once_there_is_room(
    start: Callable[..., Server], tmp_path: Path, by_quota: bool
) -> None:
    home = Home(tmp_path / "disk" / "home")
    mounted = contextmanager(lambda folder: iter([folder.mkdir()]))(tmp_path / "disk") if by_quota else None
    with mounted or small_disk(tmp_path / "disk"):
        server = start(home)
        assert server.post("/v1/apply", {"text": PAUSED}).status_code == 200
        disk = FullDisk(server, tmp_path / "disk", by_quota=by_quota)
        disk.fill()
        refused = [refused_write(server)]
        assert refused[0].json()["code"] == "store-unavailable", refused[0].text
        assert ask(server, "/healthz").text.startswith("ok, but its database takes no writes")
        assert ask(server, "/v1/clusters/orders").status_code == 200, "reads go on"
        assert ask(server, "/").status_code == 200
        disk.make_room()
        eventually(lambda: server.post("/v1/apply", {"text": named("ledger")}).status_code == 200, server)
        eventually(lambda: ask(server, "/healthz").text == "ok\n", server)
        eventually(lambda: server.leads, server)
        assert "Traceback" not in server.log
        server.end()
        with sqlite3.connect(home.path / "kedge.db") as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            highest, count = database.execute("SELECT max(position), count(*) FROM event").fetchone()
            assert highest == count, "no event was half written"
        database.close()


def named(name: str) -> str:
    return PAUSED.replace("name: orders", f"name: {name}", 1)


def refused_write(server: Server) -> httpx.Response:
    """The first write that finds no room: small ones may find some in pages that are there already."""
    for number in range(200):
        answer = server.post("/v1/apply", {"text": named(f"more-{number}")})
        if answer.status_code != 200:
            assert answer.status_code == 503, answer.text
            return answer
    raise AssertionError("every write found room")
