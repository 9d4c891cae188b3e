"""The agent lets a file system grow with its disk: once for each size, without touching anything else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.disks.growing import Mounted, mounted_at
from agent.disks.volumes import DiskVolumes
from agent.layout import AgentLayout
from agent.tools import ToolResult
from agent.wire import LogDir
from tests.unit.agent.wanted import broker, document

GIB = 2**30
DATA = LogDir(name="data", volume="b-0.data.v1", directory_id="d", fresh=False, size_gib=100)


@dataclass
class Disk:
    """A mounted disk, and the commands that were run."""

    filesystem: str = "xfs"
    size: int = 100 * GIB
    commands: list[tuple[str, ...]] = field(default_factory=list)
    code: int = 0

    def run(self, command: Sequence[str]) -> ToolResult:
        self.commands.append(tuple(command))
        return ToolResult(self.code, "", "no space for the log" if self.code else "")

    def volumes(self, root: Path) -> DiskVolumes:
        mount = root / "volumes" / DATA.name
        mount.mkdir(parents=True)
        (root / "volumes" / f"{DATA.name}.key").write_text(DATA.volume)
        return DiskVolumes(
            AgentLayout(root),
            run=self.run,
            is_mounted=lambda path: path == mount,
            mounted=lambda path: Mounted("/dev/vdb", self.filesystem, self.size) if path == mount else None,
        )


@pytest.mark.parametrize(("filesystem", "tool"), [("xfs", "xfs_growfs"), ("ext4", "resize2fs")])
def test_a_disk_that_became_larger_is_filled_once(tmp_path: Path, filesystem: str, tool: str) -> None:
    disk = Disk(filesystem)
    volumes, wanted = disk.volumes(tmp_path), document(broker(log_dirs=(DATA,)))
    for _ in range(3):
        assert volumes.look(wanted, ["broker"]).problem == ""
    disk.commands.clear()
    disk.size = 200 * GIB
    for _ in range(3):
        assert volumes.look(wanted, ["broker"]).problem == ""
    place = str(tmp_path / "volumes" / "data") if filesystem == "xfs" else "/dev/vdb"
    assert disk.commands == [(tool, place)]


def test_an_agent_that_is_started_anew_makes_up_for_what_the_one_before_has_missed(tmp_path: Path) -> None:
    disk = Disk(size=200 * GIB)
    volumes = disk.volumes(tmp_path)
    volumes.look(document(broker(log_dirs=(DATA,))), ["broker"])
    assert [c[0] for c in disk.commands] == ["xfs_growfs"]


def test_a_tool_that_fails_is_told_and_tried_again_and_the_volume_stays(tmp_path: Path) -> None:
    disk = Disk(code=1)
    volumes, wanted = disk.volumes(tmp_path), document(broker(log_dirs=(DATA,)))
    seen = volumes.look(wanted, ["broker"])
    assert "xfs_growfs" in seen.problem
    assert "no space for the log" in seen.problem
    assert dict(seen.attached) == {"data": DATA.volume}
    disk.code = 0
    assert volumes.look(wanted, ["broker"]).problem == ""
    assert len(disk.commands) == 2


def test_a_strange_file_system_and_a_place_where_nothing_is_mounted_are_left_alone(tmp_path: Path) -> None:
    disk = Disk("btrfs")
    disk.volumes(tmp_path).look(document(broker(log_dirs=(DATA,))), ["broker"])
    assert disk.commands == []
    assert mounted_at(tmp_path) is None
