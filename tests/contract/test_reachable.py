"""Tests of processes of other Unix users run wherever the checkout lies: below a home of mode 0700, too."""

import multiprocessing
import os
import stat
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.contract.reachable import closed_above, open_to_all

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="two Unix users need root")

OTHER = 61004


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Closed to others; in it a checkout whose packages are in another folder, and something private."""
    home = tmp_path / "home"
    for folder in (home / "checkout" / "code", home / "packages", home / "private"):
        folder.mkdir(parents=True)
    (home / "checkout" / "code" / "module.py").write_text("ours")
    (home / "packages" / "theirs.py").write_text("theirs")
    (home / "private" / "secret").write_text("private")
    (home / "checkout" / ".venv").symlink_to(home / "packages")
    home.chmod(0o700)
    return home


def seen_by_another(home: Path, folders: tuple[Path, ...]) -> list[str]:
    """What a process of another user reads at three paths, once these folders are opened to it."""
    forks = multiprocessing.get_context("fork")
    reader, writer = forks.Pipe(duplex=False)
    process = forks.Process(target=_look, args=(home, folders, writer))
    process.start()
    writer.close()
    try:
        assert reader.poll(30)
        return list(reader.recv())
    finally:
        process.join(30)


def _look(home: Path, folders: tuple[Path, ...], writer: Connection) -> None:
    if folders:
        open_to_all(folders)
    os.setgid(OTHER)
    os.setuid(OTHER)
    paths = [home / "checkout" / "code" / "module.py", home / "checkout" / ".venv" / "theirs.py"]
    writer.send([_read(path) for path in (*paths, home / "private" / "secret")])


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        return type(error).__name__


def test_another_user_reads_what_is_opened_and_nothing_beside_it(home: Path) -> None:
    assert seen_by_another(home, ()) == ["PermissionError"] * 3
    opened = (home / "checkout", home / "checkout" / ".venv")
    assert seen_by_another(home, opened) == ["ours", "theirs", "FileNotFoundError"]


def test_a_checkout_that_is_reached_by_a_link_is_found_by_it(home: Path) -> None:
    (home / "moved").mkdir()
    (home / "checkout").rename(home / "moved" / "checkout")
    (home / "checkout").symlink_to(home / "moved" / "checkout")
    assert seen_by_another(home, (home / "checkout",)) == ["ours", "FileNotFoundError", "FileNotFoundError"]


def test_for_everybody_else_the_home_is_as_it_was(home: Path) -> None:
    seen_by_another(home, (home / "checkout",))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert (home / "private" / "secret").read_text() == "private"


def test_where_the_way_is_open_nothing_is_mounted(tmp_path_factory: pytest.TempPathFactory) -> None:
    usr = Path("/usr/bin")
    assert closed_above(usr) is None
    before = os.readlink("/proc/self/ns/mnt")
    open_to_all((usr,))
    assert os.readlink("/proc/self/ns/mnt") == before
