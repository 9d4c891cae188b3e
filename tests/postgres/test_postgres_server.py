"""The PostgreSQL server of the tests: it starts, leaves nothing behind, and its absence is an error with a way out."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests import postgres_server as module
from tests.postgres_server import PostgresMissing, find_binaries, running_postgres
from tests.present import present
from tests.waiting import until

CHILD = """
import sys, time
from tests.postgres_server import running_postgres
with running_postgres() as server:
    print(server.process.pid, flush=True)
    time.sleep(60)
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_missing_binaries_are_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(module, "DEBIAN_BINARIES", Path("/nonexistent"))
    with pytest.raises(PostgresMissing, match="apt-get install postgresql"):
        find_binaries()


@pytest.mark.postgres
def test_a_server_answers_on_loopback_and_leaves_no_process_and_no_file() -> None:
    with running_postgres() as server:
        pid = server.process.pid
        url = server.create_database()
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            directory = Path(present(connection.execute("SHOW data_directory").fetchone())[0]).parent
        assert os.stat(directory).st_uid != 0
    assert not is_alive(pid)
    assert not directory.exists()


@pytest.mark.postgres
def test_a_killed_test_run_leaves_no_server_behind() -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
    pid = int(present(child.stdout).readline())
    assert is_alive(pid)
    arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    directory = Path(arguments[arguments.index("-D") + 1]).parent
    child.send_signal(signal.SIGKILL)
    child.wait()
    until(lambda: not is_alive(pid), "the server is over", timeout_s=20)
    shutil.rmtree(directory)  # the one thing a killed run cannot tidy up itself
