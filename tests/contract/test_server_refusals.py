"""What a server is not started with, as its command tells it."""

from pathlib import Path

import pytest

from controlplane.server.process import run
from controlplane.server.settings import load_settings


def test_a_mirror_of_providers_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything of the home or the database is touched."""
    settings = load_settings(home=tmp_path / "home", terraform_mirror=str(tmp_path / "mirror"), port=0)
    assert run(settings) == 1
    told = capsys.readouterr().err
    assert f"kedge server: the mirror {tmp_path / 'mirror'} that terraform.mirror names is not there" in told
    assert "`terraform providers mirror`" in told
    assert list((tmp_path / "home").glob("*")) == []


def test_a_mirror_of_providers_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mirror").touch()
    assert run(load_settings(home=tmp_path / "home", terraform_mirror=str(tmp_path / "mirror"), port=0)) == 1
    assert "that terraform.mirror names is not a folder" in capsys.readouterr().err
