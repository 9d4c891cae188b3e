"""A real PostgreSQL server for tests and benchmarks: made in a temporary directory, on loopback, ended by its pid.

It is a child of this process and gets a signal when this process dies, so a killed test run leaves no server behind.
PostgreSQL refuses to run as root; then an unprivileged system user runs it.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

ADDRESS = "127.0.0.1"
START_TIMEOUT_S = 30.0
DEBIAN_BINARIES = Path("/usr/lib/postgresql")
_USER = "kedge-postgres"


class PostgresMissing(RuntimeError):
    """The binaries are not there. The tests fail with it rather than skip: production runs on PostgreSQL."""


class PostgresServer:
    """One running server. Databases are cheap: make one per test."""

    def __init__(self, begin: Callable[[], subprocess.Popen[bytes]], port: int, log: Path) -> None:
        self._begin = begin
        self._log = log
        self.process = begin()
        self.port = port
        self._numbers = count(1)
        self._templates: dict[str, str] = {}

    def url(self, database: str) -> str:
        """SQLAlchemy URL of a database of this server."""
        return f"postgresql+psycopg://postgres@{ADDRESS}:{self.port}/{database}"

    def create_database(self, template: str = "template0") -> str:
        """A new database; returns its URL. As a copy of `template`, which nobody may be connected to."""
        name = f"test_{next(self._numbers)}"
        self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Removes a database, whoever is connected: a hundred of them left behind are a gigabyte to write back."""
        self._execute(f'DROP DATABASE IF EXISTS "{url.rsplit("/", 1)[1]}" WITH (FORCE)')

    def template(self, name: str, fill: Callable[[str], None]) -> str:
        """Name of a template database, made and filled (`fill` gets its URL) the first time it is asked for."""
        if name not in self._templates:
            self._execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
            fill(self.url(name))
            self._templates[name] = name
        return name

    def stop(self) -> None:
        """Ends the server: fast shutdown, then quit, then kill."""
        for sign, timeout_s in ((signal.SIGINT, 10), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
            if self.process.poll() is not None:
                return
            self.process.send_signal(sign)
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                continue

    def start_again(self) -> None:
        """After `stop`: on the same port, with what it had. Raises RuntimeError."""
        self.process = self._begin()
        _await_answer(self, self._log)

    def _execute(self, statement: str) -> None:
        with psycopg.connect(host=ADDRESS, port=self.port, user="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running_postgres(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """A server for the time of the block. `fsync=False` is for tests only: fast, and lost with the machine's power."""
    binaries = find_binaries()
    directory = Path(tempfile.mkdtemp(prefix="kedge-postgres-"))
    server = None
    try:
        as_user = _unprivileged(directory)
        _initialise(binaries, directory, as_user)
        server = _start(binaries, directory, as_user, fsync)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def find_binaries() -> Path:
    """The directory with initdb and postgres: from PATH, else Debian's place. Raises PostgresMissing."""
    on_path = shutil.which("initdb")
    candidates = [Path(on_path).resolve().parent] if on_path else []
    candidates += sorted(DEBIAN_BINARIES.glob("*/bin"), key=_major_version, reverse=True)
    for directory in candidates:
        if (directory / "initdb").exists() and (directory / "postgres").exists():
            return directory
    raise PostgresMissing(
        "no PostgreSQL server binaries (initdb, postgres) on PATH or under /usr/lib/postgresql/*/bin. "
        "The tests need a real server: install it (Debian, Ubuntu: apt-get install postgresql) and run them again."
    )


def _major_version(directory: Path) -> float:
    try:
        return float(directory.parent.name)
    except ValueError:
        return 0.0


def _unprivileged(directory: Path) -> list[str]:
    """The argv prefix that drops root, after giving the directory to that user; empty when this is not root."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0:
        return [setpriv, "--pdeathsig", "INT"] if setpriv else []
    if setpriv is None:
        raise PostgresMissing(
            "PostgreSQL does not run as root, and setpriv (package util-linux) is missing to drop rights"
        )
    user = _system_user()
    os.chown(directory, user.pw_uid, user.pw_gid)
    return [
        setpriv,
        f"--reuid={user.pw_uid}",
        f"--regid={user.pw_gid}",
        "--clear-groups",
        "--pdeathsig",
        "INT",
    ]


def _system_user() -> pwd.struct_passwd:
    for name in ("postgres", _USER):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    subprocess.run(["useradd", "--system", "--no-create-home", _USER], check=True)
    return pwd.getpwnam(_USER)


def _initialise(binaries: Path, directory: Path, as_user: list[str]) -> None:
    command = [*as_user, str(binaries / "initdb"), "-D", str(directory / "data"), "-U", "postgres", "-A", "trust"]
    command += ["--no-sync", "--no-locale", "-E", "UTF8"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"initdb failed ({done.returncode}):\n{done.stderr}")


def _start(binaries: Path, directory: Path, as_user: list[str], fsync: bool) -> PostgresServer:
    port = _free_port()
    settings = {"listen_addresses": ADDRESS, "port": str(port), "unix_socket_directories": str(directory)}
    settings |= {"max_connections": "100", "shared_buffers": "64MB", "autovacuum_naptime": "10s"}
    if not fsync:
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    command = [*as_user, str(binaries / "postgres"), "-D", str(directory / "data")]
    command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    log = directory / "log"

    def begin() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            # A session of its own: Ctrl-C in the terminal is for the tests, which then stop the server in order.
            return subprocess.Popen(command, cwd=directory, stdout=output, stderr=output, start_new_session=True)

    server = PostgresServer(begin, port, log)
    try:
        _await_answer(server, log)
    except BaseException:
        server.stop()
        raise
    return server


def _await_answer(server: PostgresServer, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        try:
            psycopg.connect(host=ADDRESS, port=server.port, user="postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"PostgreSQL did not start within {START_TIMEOUT_S:g} s; its log:\n{log.read_text()[-3000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
        return port
