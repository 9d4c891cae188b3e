"""The private key of a VM's tunnels: made once, kept over restarts, and refused where it is no secret any more."""

import base64
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.overlay.keys import KeyUnusable, is_key, own_key, public_half
from agent.tools import ToolFailed, ToolResult

KEY = base64.b64encode(bytes(range(32))).decode()


def wg(command: Sequence[str]) -> ToolResult:
    assert tuple(command) == ("wg", "genkey")
    return ToolResult(0, f"{KEY}\n")


def nothing(command: Sequence[str]) -> ToolResult:
    raise AssertionError(f"nothing is to be run: {command}")


def test_it_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "overlay.key"
    assert own_key(file, wg) == KEY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert own_key(file, nothing) == KEY


def test_without_wg_there_is_none_and_no_empty_file(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed):
        own_key(tmp_path / "overlay.key", lambda _: ToolResult(1, err="wg: no"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_one_that_others_may_read_is_refused_and_stays(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "overlay.key"
    file.write_text(KEY)
    file.chmod(mode)
    with pytest.raises(KeyUnusable, match=f"mode {mode:o}"):
        own_key(file, nothing)
    assert file.read_text() == KEY


@pytest.mark.parametrize("text", ["", "short", KEY[:-4], KEY + KEY, base64.b64encode(bytes(32)).decode(), "\udcff"])
def test_one_that_is_damaged_is_refused_and_no_other_is_made(tmp_path: Path, text: str) -> None:
    file = tmp_path / "overlay.key"
    file.write_bytes(text.encode(errors="surrogateescape"))
    file.chmod(0o600)
    with pytest.raises(KeyUnusable) as refused:
        own_key(file, nothing)
    assert KEY not in str(refused.value)


def test_a_key_has_32_bytes_and_is_not_all_zero() -> None:
    assert is_key(KEY)
    assert not is_key(base64.b64encode(bytes(32)).decode())
    assert not is_key(KEY + "\n")


def test_the_public_half_is_the_one_wg_pubkey_tells() -> None:
    assert public_half(KEY) == "j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8="
