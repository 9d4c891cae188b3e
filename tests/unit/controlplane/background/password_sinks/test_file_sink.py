"""The file sink: whole files that nobody else reads, in directories that nobody else writes to."""

import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from controlplane.background.password_sinks.file_sink import FileSink, directory_of
from controlplane.background.password_sinks.sink import NotWritten, UserPassword
from controlplane.kafka.client_properties import client_properties

CANARY = "canary-Zm9v_YmFy-0123456789abcdef"


def a_password(number: int = 1, text: str = CANARY) -> UserPassword:
    return UserPassword("orders", "alice", number, SecretStr(text))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = tmp_path / "sink"
    there.mkdir(mode=0o700)
    return there


def refusal(sink: FileSink) -> str:
    with pytest.raises(NotWritten) as refused:
        sink.put(a_password())
    assert refused.value.reason == "SinkUnusable"
    assert CANARY not in str(refused.value)
    return str(refused.value)


def test_clients_read_it_as_properties_and_nobody_else_does(folder: Path) -> None:
    FileSink("apps", folder).put(a_password())
    file = folder / "orders" / "alice.properties"
    assert client_properties(file.read_text()) == {
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": CANARY,
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_another_one_takes_its_place_and_nothing_is_left_beside_it(folder: Path) -> None:
    sink = FileSink("apps", folder)
    sink.put(a_password())
    sink.put(a_password(2, "another"))
    assert [path.name for path in (folder / "orders").iterdir()] == ["alice.properties"]
    assert "sasl.password=another\n" in (folder / "orders" / "alice.properties").read_text()


def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert "No such file" in refusal(FileSink("apps", tmp_path / "unmounted"))
    assert not (tmp_path / "unmounted").exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_directory_that_others_write_to_is_refused(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    assert "chmod 700" in refusal(FileSink("apps", folder))
    assert not list(folder.iterdir())


def test_a_link_leads_nowhere(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert "is no directory" in refusal(FileSink("apps", tmp_path / "link"))
    (tmp_path / "elsewhere").mkdir()
    (folder / "orders").symlink_to(tmp_path / "elsewhere")
    assert "is no directory" in refusal(FileSink("apps", folder))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_what_cannot_be_replaced_is_told_and_leaves_nothing_behind(folder: Path) -> None:
    (folder / "orders" / "alice.properties").mkdir(parents=True)
    assert "cannot be written to" in refusal(FileSink("apps", folder))
    assert [path.name for path in (folder / "orders").iterdir()] == ["alice.properties"]


@pytest.mark.parametrize("text", ["/var/x", "file:var/x", "file:/var/../etc", "vault:https://x/y", "file:"])
def test_only_directories_from_the_root_on(text: str) -> None:
    with pytest.raises(ValueError, match="file:/var/lib"):
        directory_of(text)
