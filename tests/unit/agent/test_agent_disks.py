"""Which disk is which volume, and when a filesystem is made: on fake tools that answer as util-linux does."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.addresses import bound_addresses
from agent.disks.choice import CannotTell, MakeFilesystem, MountDisk, NotThere, choose, filesystem_uuid
from agent.disks.devices import BlockDevice, block_devices
from agent.disks.measuring import VolumeRate
from agent.disks.volumes import DiskVolumes, GivenVolumes, VolumesSeen
from agent.layout import AgentLayout
from agent.settings import AgentSettings, AgentSettingsRefused
from agent.tools import ToolFailed, ToolResult, output_of, run_tool
from agent.wire import Document, LogDir
from tests.unit.agent.wanted import broker, document

GIB = 2**30
UID = document().cluster_uid
NEW = LogDir(name="data", volume="b-0.data.v1", directory_id="d", fresh=True, size_gib=100)
KNOWN = NEW.model_copy(update={"fresh": False})
OURS = filesystem_uuid(UID, NEW.volume)


@dataclass
class FakeMachine:
    """Disks by path, as blkid would find them; `mkfs` and `mount` change them, as the real ones do."""

    disks: dict[str, dict[str, str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    mounted: dict[str, str] = field(default_factory=dict)
    """Mount point -> path."""
    commands: list[tuple[str, ...]] = field(default_factory=list)
    broken: frozenset[str] = frozenset()

    def run(self, command: Sequence[str]) -> ToolResult:
        tool, *arguments = command
        if tool in self.broken:
            raise ToolFailed(f"{tool} is not on this VM: its image needs it")
        if tool not in ("lsblk", "blkid"):
            self.commands.append(tuple(command))
        if tool == "lsblk":
            return ToolResult(0, json.dumps({"blockdevices": [self._row(p) for p in self.disks]}))
        if tool == "blkid":
            return self._blkid(arguments[-1])
        if tool.startswith("mkfs"):
            uuid = next(a.removeprefix("uuid=") for a in arguments if a.startswith("uuid=") or a == OURS)
            self.disks[arguments[-1]] = {"TYPE": tool.removeprefix("mkfs."), "USAGE": "filesystem", "UUID": uuid}
        elif tool == "mount":
            self.mounted[arguments[-1]] = arguments[-2]
        elif tool == "umount":
            del self.mounted[arguments[-1]]
        return ToolResult(0)

    def _row(self, path: str) -> dict[str, object]:
        mounts = [m for m, device in self.mounted.items() if device == path]
        return {
            "path": path,
            "type": "disk",
            "size": self.sizes.get(path, 100 * GIB),
            "ro": False,
            "mountpoints": mounts or [None],
        }

    def _blkid(self, path: str) -> ToolResult:
        found = self.disks[path]
        if "error" in found:
            return ToolResult(2, "", found["error"])
        if not found:
            return ToolResult(2)
        return ToolResult(0, "".join(f"{k}={v}\n" for k, v in {"DEVNAME": path, **found}.items()))

    def volumes(
        self, root: Path, measure: Callable[[Path], VolumeRate | None] = lambda _: None, *, own_on_root: bool = False
    ) -> DiskVolumes:
        return DiskVolumes(
            AgentLayout(root),
            run=self.run,
            is_mounted=lambda p: str(p) in self.mounted,
            devices=lambda run: block_devices(run, is_there=lambda _: True),
            own_on_root=own_on_root,
            measure=measure,
        )


def wanting(log_dir: LogDir, *, gives: bool = False) -> Document:
    return document(broker(log_dirs=(log_dir,), gives_volumes=gives))


def looked(
    machine: FakeMachine, root: Path, wanted: Document, busy: bool = False, own_on_root: bool = False
) -> VolumesSeen:
    return machine.volumes(root, own_on_root=own_on_root).look(wanted, ["broker"] if busy else [])


# --- the choice ---------------------------------------------------------------------------------------------------


def disk(
    path: str, content: str = "blank", *, gib: float = 100, uuid: str = "", mounts: tuple[str, ...] = ()
) -> BlockDevice:
    return BlockDevice(path, int(gib * GIB), content, uuid, mounts, content)  # type: ignore[arg-type]


def test_a_disk_with_the_volumes_filesystem_is_the_volume_whatever_it_is_called_and_however_large() -> None:
    there = [
        disk("/dev/nvme0n1", "filesystem", uuid="root", mounts=("/",)),
        disk("/dev/vdq", "filesystem", gib=7, uuid=OURS),
    ]
    assert choose(KNOWN, cluster_uid=UID, devices=there) == MountDisk("/dev/vdq")
    assert choose(NEW, cluster_uid=UID, devices=there) == MountDisk("/dev/vdq")


def test_a_new_volume_is_the_only_blank_disk_of_its_size() -> None:
    there = [disk("/dev/vda", "other", mounts=("/",)), disk("/dev/vdb", gib=1700), disk("/dev/vdc", gib=93.2)]
    assert choose(NEW, cluster_uid=UID, devices=there) == MakeFilesystem("/dev/vdc")


def test_a_volume_that_held_data_is_never_given_a_filesystem() -> None:
    answer = choose(KNOWN, cluster_uid=UID, devices=[disk("/dev/vdb")])
    assert isinstance(answer, NotThere)
    assert "no disk has its filesystem" in answer.reason


@pytest.mark.parametrize(
    "there",
    [
        pytest.param([disk("/dev/vdb"), disk("/dev/vdc")], id="two blank disks of its size"),
        pytest.param([disk("/dev/vdb"), disk("/dev/vdc", "unreadable", gib=1)], id="a disk that cannot be read"),
        pytest.param([disk(p, "filesystem", uuid=OURS) for p in ("/dev/vdb", "/dev/vdc")], id="a copy of the disk"),
        pytest.param([disk("/dev/vdb", "filesystem", uuid=OURS, mounts=("/mnt",))], id="mounted by somebody else"),
    ],
)
def test_what_cannot_be_told_apart_is_left_alone(there: list[BlockDevice]) -> None:
    assert isinstance(choose(NEW, cluster_uid=UID, devices=there), CannotTell)


SECOND = NEW.model_copy(update={"name": "data2", "volume": "b-0.data2.v1", "directory_id": "e"})


def test_as_many_blank_disks_as_there_are_new_volumes_alike_become_them_one_each() -> None:
    there = [disk("/dev/vdc"), disk("/dev/vdb"), disk("/dev/vdd", gib=7)]
    assert choose(NEW, cluster_uid=UID, devices=there, others=[SECOND]) == MakeFilesystem("/dev/vdb")
    assert choose(SECOND, cluster_uid=UID, devices=there, others=[NEW]) == MakeFilesystem("/dev/vdc")


def test_a_new_volume_waits_until_all_that_are_like_it_are_attached() -> None:
    answer = choose(NEW, cluster_uid=UID, devices=[disk("/dev/vdb")], others=[SECOND])
    assert isinstance(answer, NotThere)
    assert "2 new volumes like it, and 1 blank disks so far (/dev/vdb)" in answer.reason


def test_one_blank_disk_too_many_and_none_is_taken() -> None:
    there = [disk("/dev/vdb"), disk("/dev/vdc"), disk("/dev/vdd")]
    assert isinstance(choose(NEW, cluster_uid=UID, devices=there, others=[SECOND]), CannotTell)


def test_the_disk_that_is_left_is_the_volume_that_is_left() -> None:
    """The first has its filesystem: the agent died between the two."""
    there = [disk("/dev/vdb", "filesystem", uuid=OURS), disk("/dev/vdc")]
    assert choose(SECOND, cluster_uid=UID, devices=there, others=[NEW]) == MakeFilesystem("/dev/vdc")


def test_a_volume_that_held_data_leaves_the_blank_disk_to_the_new_one() -> None:
    there = [disk("/dev/vdb")]
    assert isinstance(choose(KNOWN, cluster_uid=UID, devices=there, others=[SECOND]), NotThere)
    assert choose(SECOND, cluster_uid=UID, devices=there, others=[KNOWN]) == MakeFilesystem("/dev/vdb")


def test_a_disk_with_anything_on_it_is_not_blank_enough() -> None:
    there = [
        disk("/dev/vdb", "other"),
        disk("/dev/vdc", "filesystem", uuid="somebody's"),
        disk("/dev/vdd", mounts=("/x",)),
    ]
    assert isinstance(choose(NEW, cluster_uid=UID, devices=there), NotThere)


def test_the_same_volume_of_another_cluster_is_another_filesystem() -> None:
    assert filesystem_uuid("a", "b-0.data.v1") != filesystem_uuid("b", "b-0.data.v1")


# --- what is on the disks -----------------------------------------------------------------------------------------


def test_devices_are_what_the_disk_says_and_not_what_was_remembered_of_it() -> None:
    machine = FakeMachine(
        {"/dev/a": {}, "/dev/b": {"TYPE": "xfs", "USAGE": "filesystem", "UUID": "u"}, "/dev/c": {"error": "I/O error"}}
    )
    found = block_devices(machine.run, is_there=lambda _: True)
    assert [d.content for d in found] == ["blank", "filesystem", "unreadable"]


def test_a_disk_with_partitions_or_without_a_device_file_is_nobodys_new_volume() -> None:
    rows = [
        {
            "path": "/dev/a",
            "type": "disk",
            "size": GIB,
            "ro": False,
            "mountpoints": [None],
            "children": [{"path": "/dev/a1", "mountpoints": ["/"]}],
        },
        {"path": "/dev/b", "type": "disk", "size": GIB, "ro": False, "mountpoints": [None]},
        {"path": "/dev/r", "type": "rom", "size": GIB, "ro": True, "mountpoints": [None]},
        {"path": "/dev/z", "type": "loop", "size": 0, "ro": False, "mountpoints": [None]},
    ]
    found = block_devices(
        lambda _c: ToolResult(0, json.dumps({"blockdevices": rows})), is_there=lambda p: p != "/dev/b"
    )
    assert [(d.path, d.content, d.mounts) for d in found] == [("/dev/a", "other", ("/",))]


def test_an_answer_of_lsblk_that_makes_no_sense_is_said_and_not_taken_for_no_disks() -> None:
    with pytest.raises(ToolFailed, match="lsblk answered something else"):
        block_devices(lambda _c: ToolResult(0, "[]"))


# --- mounted, and given back --------------------------------------------------------------------------------------


def test_a_new_volume_gets_a_filesystem_with_its_own_uuid_and_is_mounted_once(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}})
    seen = looked(machine, tmp_path, wanting(NEW))
    assert seen == VolumesSeen({"data": NEW.volume})
    assert machine.disks["/dev/vdb"]["UUID"] == OURS
    mount = str(tmp_path / "volumes" / "data")
    assert machine.commands[-1] == ("mount", "-o", "noatime", "/dev/vdb", mount)
    assert looked(machine, tmp_path, wanting(KNOWN)) == seen
    assert len(machine.commands) == 2


def test_two_new_volumes_are_made_and_mounted_each_at_its_own_place(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}, "/dev/vdc": {}})
    wanted = document(broker(log_dirs=(NEW, SECOND)))
    assert looked(machine, tmp_path, wanted) == VolumesSeen({"data": NEW.volume, "data2": SECOND.volume})
    assert [machine.disks[d]["UUID"] for d in ("/dev/vdb", "/dev/vdc")] == [OURS, filesystem_uuid(UID, SECOND.volume)]
    machine.mounted.clear()
    machine.disks = {"/dev/vdx": machine.disks["/dev/vdc"], "/dev/vdy": machine.disks["/dev/vdb"]}
    assert looked(machine, tmp_path, wanted).attached == {"data": NEW.volume, "data2": SECOND.volume}
    assert machine.mounted == {
        str(tmp_path / "volumes" / n): d for n, d in (("data", "/dev/vdy"), ("data2", "/dev/vdx"))
    }


def test_after_a_reboot_the_volume_is_mounted_again_and_nothing_is_made(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}})
    looked(machine, tmp_path, wanting(NEW))
    machine.mounted.clear()
    machine.commands.clear()
    machine.disks["/dev/sdx"] = machine.disks.pop("/dev/vdb")
    assert looked(machine, tmp_path, wanting(NEW)).attached == {"data": NEW.volume}
    assert [c[0] for c in machine.commands] == ["mount"]


def test_a_key_file_without_a_mount_is_no_volume(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}})
    looked(machine, tmp_path, wanting(NEW))
    machine.mounted.clear()
    del machine.disks["/dev/vdb"]
    seen = looked(machine, tmp_path, wanting(KNOWN))
    assert seen.attached == {}
    assert "is not attached" in seen.problem


def test_what_was_made_but_not_mounted_when_the_agent_died_is_mounted_by_the_next(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}}, broken=frozenset({"mount"}))
    assert "mount is not on this VM" in looked(machine, tmp_path, wanting(NEW)).problem
    machine.broken = frozenset()
    assert looked(machine, tmp_path, wanting(NEW)).attached == {"data": NEW.volume}
    assert [c[0] for c in machine.commands] == ["mkfs.xfs", "mount"]


def test_a_volume_that_leaves_is_unmounted_once_its_service_is_down(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}})
    looked(machine, tmp_path, wanting(NEW))
    assert looked(machine, tmp_path, wanting(KNOWN, gives=True), busy=True).attached == {"data": NEW.volume}
    assert looked(machine, tmp_path, wanting(KNOWN, gives=True)).attached == {}
    assert machine.mounted == {}
    assert looked(machine, tmp_path, wanting(KNOWN, gives=True)) == VolumesSeen({})


def test_a_volume_that_was_given_back_is_mounted_again_where_its_service_is_to_serve_after_all(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}})
    looked(machine, tmp_path, wanting(NEW))
    assert looked(machine, tmp_path, wanting(KNOWN, gives=True)).attached == {}
    assert looked(machine, tmp_path, wanting(KNOWN)).attached == {"data": NEW.volume}
    assert [c[0] for c in machine.commands] == ["mkfs.xfs", "mount", "umount", "mount"]


def test_a_volume_that_a_broker_and_the_server_beside_it_share_stays_while_either_runs(tmp_path: Path) -> None:
    """Its own broker was down, and the server was not: `umount` failed, again and again."""
    machine = FakeMachine({"/dev/vdb": {}})
    looked(machine, tmp_path, wanting(NEW))
    both = document(
        broker(log_dirs=(KNOWN,), gives_volumes=True), broker(name="zookeeper", log_dirs=(KNOWN,), gives_volumes=True)
    )
    volumes = machine.volumes(tmp_path)
    assert volumes.look(both, ["broker", "zookeeper"]) == VolumesSeen({"data": NEW.volume})
    assert volumes.look(both, ["zookeeper"]) == VolumesSeen({"data": NEW.volume})
    assert [c[0] for c in machine.commands] == ["mkfs.xfs", "mount"]
    assert volumes.look(both, []) == VolumesSeen({})
    assert volumes.look(both, []) == VolumesSeen({})
    assert [c[0] for c in machine.commands] == ["mkfs.xfs", "mount", "umount"]


def test_where_others_write_the_keys_a_volume_that_is_given_back_is_told_no_more(tmp_path: Path) -> None:
    (tmp_path / "volumes" / "data").mkdir(parents=True)
    (tmp_path / "volumes" / "data.key").write_text(NEW.volume)
    given = GivenVolumes(AgentLayout(tmp_path))
    there, leaving = VolumesSeen({"data": NEW.volume}), wanting(KNOWN, gives=True)
    assert given.look(None, []) == there
    assert given.look(wanting(KNOWN), []) == there
    assert given.look(leaving, ["broker"]) == there
    assert given.look(leaving, []) == VolumesSeen({})
    assert given.look(wanting(KNOWN), []) == there


def test_without_a_document_nothing_is_touched(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}})
    assert machine.volumes(tmp_path).look(None, []) == VolumesSeen({})
    assert machine.commands == []


def test_an_own_disk_in_the_root_filesystem_is_a_directory_that_is_made_once(tmp_path: Path) -> None:
    own = NEW.model_copy(update={"own": True})
    machine = FakeMachine({})
    assert looked(machine, tmp_path, wanting(own), own_on_root=True).attached == {"data": NEW.volume}
    later = own.model_copy(update={"fresh": False})
    assert looked(machine, tmp_path, wanting(later), own_on_root=True).attached == {"data": NEW.volume}
    (tmp_path / "volumes" / "data" / ".volume").unlink()
    lost = looked(machine, tmp_path, wanting(later), own_on_root=True)
    assert lost.attached == {}
    assert "is not there any more" in lost.problem


def test_something_else_at_the_mount_point_is_told_and_left_there(tmp_path: Path) -> None:
    machine = FakeMachine({"/dev/vdb": {}}, mounted={str(tmp_path / "volumes" / "data"): "/dev/vdz"})
    seen = looked(machine, tmp_path, wanting(NEW))
    assert seen.attached == {}
    assert "something that is not the agent's is mounted" in seen.problem
    assert machine.commands == []


# --- tools, addresses, settings -----------------------------------------------------------------------------------


def test_a_tool_that_is_missing_or_fails_is_told_in_words() -> None:
    with pytest.raises(ToolFailed, match="is not on this VM"):
        run_tool(("no-such-tool-on-any-machine",))
    with pytest.raises(ToolFailed, match="exit code 1: no such disk"):
        output_of(lambda _c: ToolResult(1, "", "no such\n disk"), ("mount", "x"))


def test_bound_addresses_are_those_of_interfaces_but_link_local_ones() -> None:
    links = [{"addr_info": [{"local": "10.0.0.9", "scope": "global"}, {"local": "fe80::1", "scope": "link"}]}, {}]
    assert bound_addresses(lambda _c: ToolResult(0, json.dumps(links))) == {"10.0.0.9"}
    assert bound_addresses(lambda _c: ToolResult(1, "", "no")) == frozenset()


def test_how_disks_come_is_a_setting_and_a_wrong_word_is_refused() -> None:
    given = {"KEDGE_KAFKA_DIR": "/opt/kafka", "KEDGE_AGENT_DISKS": "devices", "KEDGE_AGENT_OWN_DISKS": "root"}
    settings = AgentSettings.from_env(root=Path("/r"), environ=given)
    assert (settings.disks, settings.filesystem, settings.own_disks) == ("devices", "xfs", "root")
    with pytest.raises(AgentSettingsRefused, match="expected one of xfs, ext4"):
        AgentSettings.from_env(root=Path("/r"), environ={**given, "KEDGE_AGENT_FILESYSTEM": "btrfs"})
