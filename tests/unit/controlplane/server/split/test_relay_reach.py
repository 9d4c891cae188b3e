"""Where a relay does not start: as root, in a home of another part, as the user of a server that runs here."""

import os
from pathlib import Path

import pytest

from controlplane.server.split.relay_forbidden_access import RelayRefused, Running, check_relay_reach, running

RELAY_USER, LOOP_USER = 61003, 61001
SERVER = ("/opt/kedge/.venv/bin/python", "-m", "controlplane.cli", "server")


def check(home: Path, *processes: Running, user: int = RELAY_USER) -> None:
    check_relay_reach(home, user=user, processes=lambda: iter(processes))


def test_a_user_of_its_own_in_a_home_of_its_own_is_let_in(tmp_path: Path) -> None:
    (tmp_path / "kedge.toml").write_text("")
    check(tmp_path, Running(7, LOOP_USER, SERVER, {}), Running(8, RELAY_USER, ("bash",), {}))


def test_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RelayRefused, match="runs as root, who reads everything"):
        check(tmp_path, user=0)


@pytest.mark.parametrize("file", ["server-key", "ca-key.pem", "home-id", "portal-key", "token"])
def test_the_home_of_another_part_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("x")
    with pytest.raises(RelayRefused, match=f"it has {file}.*The relay apart"):
        check(tmp_path)


@pytest.mark.parametrize(
    ("words", "environ", "refused"),
    [
        (SERVER, {}, True),
        (("/usr/bin/kedge", "server", "--only", "loop"), {}, True),
        (("/opt/kedge/.venv/bin/python", "/opt/kedge/.venv/bin/kedge", "server"), {}, True),
        ((*SERVER, "--only=portal"), {}, True),
        (SERVER, {"KEDGE_ONLY": "loop"}, True),
        ((*SERVER, "--only", "relay"), {}, False),
        ((*SERVER, "--only=relay"), {"KEDGE_ONLY": "loop"}, False),
        (SERVER, {"KEDGE_ONLY": "relay"}, False),
        (SERVER, {"KEDGE_PROCESS__ONLY": "relay", "KEDGE_ONLY": "loop"}, False),
        (("/opt/kedge/.venv/bin/python", "-m", "controlplane.cli", "audit"), {}, False),
        (("/usr/bin/server", "kedge.conf"), {}, False),
    ],
)
def test_a_server_of_the_same_user_on_this_machine_is_told_by_its_words(
    tmp_path: Path, words: tuple[str, ...], environ: dict[str, str], refused: bool
) -> None:
    beside = Running(4711, RELAY_USER, words, environ)
    if not refused:
        check(tmp_path, beside)
        return
    with pytest.raises(RelayRefused, match=r"runs as user 61003, and so does a server .*process 4711"):
        check(tmp_path, beside)


def test_the_processes_of_this_machine_are_seen_and_so_is_whose_they_are() -> None:
    (own,) = [one for one in running() if one.pid == os.getpid()]
    assert (own.user, bool(own.words), own.environ.get("PATH")) == (os.getuid(), True, os.environ.get("PATH"))
