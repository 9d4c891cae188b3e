"""The local cloud has the Kafka releases that are on this machine: another is refused before a VM is made."""

from pathlib import Path

import pytest

from providers.base import Place
from providers.bootable import NextVm, TellsBootable
from providers.local.cloud import LocalCloud

PLACE = Place("local", "local-1")


def a_cloud(folder: Path, *versions: str) -> LocalCloud:
    for version in versions:
        (folder / "kafka" / version / "libs").mkdir(parents=True)
    return LocalCloud(installation_id="test", root=folder / "local", python="python3", kafka_dir=folder / "kafka")


def test_a_release_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    cloud = a_cloud(tmp_path, "4.1.1", "4.2.0")
    assert isinstance(cloud, TellsBootable)
    told = cloud.unbootable(PLACE, NextVm("small", "4.1.2"))
    assert told == f"Kafka 4.1.2 is not on this machine: {tmp_path / 'kafka'} has 4.1.1, 4.2.0"


@pytest.mark.parametrize(("versions", "revision"), [(("4.1.2",), {}), ((), {}), (("4.1.1",), {"any": "r2"})])
def test_what_is_there_or_unknown_or_of_a_revision_refuses_nobody(
    versions: tuple[str, ...], revision: dict[str, str], tmp_path: Path
) -> None:
    assert a_cloud(tmp_path, *versions).unbootable(PLACE, NextVm("small", "4.1.2", revision)) == ""
