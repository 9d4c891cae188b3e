"""Keeps the volumes of the document mounted below the VM's root, and gives back those that are to leave.

What is mounted is asked of the kernel each time; a key file beside the mount point says which volume it is, and counts
for nothing while nothing is mounted there.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.disks.choice import CannotTell, MakeFilesystem, MountDisk, NotThere, choose, filesystem_uuid
from agent.disks.devices import BlockDevice, block_devices
from agent.disks.growing import Mounted, grow_filesystem, mounted_at
from agent.disks.measuring import VolumeRate, keep_rate, measure
from agent.durable import write_durably
from agent.layout import AgentLayout
from agent.settings import Filesystem
from agent.tools import Tool, ToolFailed, output_of, run_tool
from agent.wire import Document, LogDir, ServiceDocument, ServiceName

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VolumesSeen:
    """Mount name -> key of the volumes that are there, and why others are not, in words."""

    attached: Mapping[str, str]
    problem: str = ""


class Volumes(Protocol):
    """How volumes come to the VM."""

    def look(self, document: Document | None, busy: Collection[ServiceName]) -> VolumesSeen:
        """Sees to what the document wants, and tells what is there. `busy` services have a live process."""


class GivenVolumes:
    """Others attach volumes and write their keys: the `local` cloud. There is nothing to unmount: what is given back is
    told no more, which is what whoever takes it away waits for."""

    def __init__(self, layout: AgentLayout) -> None:
        self._layout = layout

    def look(self, document: Document | None, busy: Collection[ServiceName]) -> VolumesSeen:
        given = _given_back(document, busy)
        return VolumesSeen({name: key for name, key in self._layout.attached().items() if key not in given})


class DiskVolumes:
    """Block devices of a real VM. `own_on_root`: this cloud's VMs have their own disk in the root filesystem."""

    def __init__(
        self,
        layout: AgentLayout,
        *,
        filesystem: Filesystem = "xfs",
        own_on_root: bool = False,
        run: Tool = run_tool,
        is_mounted: Callable[[Path], bool] = os.path.ismount,
        devices: Callable[[Tool], list[BlockDevice]] = block_devices,
        mounted: Callable[[Path], Mounted | None] = mounted_at,
        measure: Callable[[Path], VolumeRate | None] = measure,
    ) -> None:
        self._layout = layout
        self._filesystem = filesystem
        self._own_on_root = own_on_root
        self._run = run
        self._is_mounted = is_mounted
        self._devices = devices
        self._mounted = mounted
        self._measure = measure
        self._filled: dict[str, int] = {}
        """Size in bytes of each volume's disk when its file system was last let grow; nothing before the first time."""

    def look(self, document: Document | None, busy: Collection[ServiceName]) -> VolumesSeen:
        problems: list[str] = []
        if document is not None:
            wanted = [(service, log_dir) for service in document.services for log_dir in service.log_dirs]
            given = _given_back(document, busy)
            problems = [self._see_to(service, log_dir, document.cluster_uid, given) for service, log_dir in wanted]
        return VolumesSeen(self._attached(), "; ".join(p for p in problems if p))

    def _see_to(self, service: ServiceDocument, log_dir: LogDir, cluster_uid: str, given: Collection[str]) -> str:
        try:
            if log_dir.volume in given:
                self._give_back(log_dir)
            elif not service.gives_volumes:
                return self._bring(log_dir, cluster_uid, service.log_dirs)
        except (ToolFailed, OSError) as error:
            return f"volume {log_dir.volume}: {error}"
        return ""

    def _attached(self) -> Mapping[str, str]:
        return {name: key for name, key in self._layout.attached().items() if self._is_there(name)}

    def _is_there(self, name: str) -> bool:
        mount = self._layout.root / "volumes" / name
        return self._is_mounted(mount) or (mount / _ON_ROOT).exists()

    def _bring(self, log_dir: LogDir, cluster_uid: str, of_service: Sequence[LogDir]) -> str:
        """Why it is not there, "" when it is."""
        if self._attached().get(log_dir.name) == log_dir.volume:
            self._fill(log_dir)
            return ""
        mount = self._layout.mount(log_dir)
        if self._is_mounted(mount):
            held = self._layout.attached().get(log_dir.name, "something that is not the agent's")
            return f"volume {log_dir.volume}: {held} is mounted at {mount}"
        if log_dir.own and self._own_on_root:
            return self._bring_from_root(log_dir)
        others = [d for d in of_service if d.volume != log_dir.volume]
        match choose(log_dir, cluster_uid=cluster_uid, devices=self._devices(self._run), others=others):
            case MakeFilesystem(path):
                self._make(path, filesystem_uuid(cluster_uid, log_dir.volume), log_dir)
                self._mount(path, log_dir)
                self._measure_new(log_dir)
            case MountDisk(path):
                self._mount(path, log_dir)
            case NotThere(reason) | CannotTell(reason):
                return reason
        return ""

    def _fill(self, log_dir: LogDir) -> None:
        """A disk that became larger is for the service on it, which runs on meanwhile."""
        mount = self._layout.mount(log_dir)
        seen = self._mounted(mount)
        if seen is None or seen.device_bytes <= self._filled.get(log_dir.volume, 0):
            return
        grow_filesystem(self._run, mount, seen)
        if log_dir.volume in self._filled:
            _log.info(
                "volume %s: its disk has %d bytes now, and so has its file system", log_dir.volume, seen.device_bytes
            )
        self._filled[log_dir.volume] = seen.device_bytes

    def _make(self, path: str, uuid: str, log_dir: LogDir) -> None:
        """Without force: both tools refuse a disk on which they see anything."""
        _log.info("making %s on %s for the new volume %s", self._filesystem, path, log_dir.volume)
        if self._filesystem == "xfs":
            output_of(self._run, ("mkfs.xfs", "-q", "-m", f"uuid={uuid}", path))
        else:
            output_of(self._run, ("mkfs.ext4", "-q", "-m", "0", "-U", uuid, path))

    def _measure_new(self, log_dir: LogDir) -> None:
        """Once in its life, before anything is on it. Whoever is not measured is merely unknown."""
        try:
            rate = self._measure(self._layout.mount(log_dir))
            if rate is not None:
                keep_rate(self._layout.rate_file(log_dir), log_dir.volume, rate)
        except OSError as error:
            _log.warning("volume %s was not measured: %s", log_dir.volume, error)

    def _mount(self, path: str, log_dir: LogDir) -> None:
        """The key first: it counts only once something is mounted, so there is no moment in between."""
        mount = self._layout.mount(log_dir)
        mount.mkdir(parents=True, exist_ok=True)
        write_durably(self._key_file(log_dir), log_dir.volume.encode())
        output_of(self._run, ("mount", "-o", "noatime", path, str(mount)))
        _log.info("volume %s: %s is mounted at %s", log_dir.volume, path, mount)

    def _bring_from_root(self, log_dir: LogDir) -> str:
        """A directory of the root filesystem. It is gone with the VM, as a disk of its own would be."""
        mount = self._layout.mount(log_dir)
        mark = mount / _ON_ROOT
        if not mark.exists():
            if not log_dir.fresh:
                return f"volume {log_dir.volume} was in the root filesystem, and is not there any more"
            mount.mkdir(parents=True, exist_ok=True)
            write_durably(mark, log_dir.volume.encode())
        if mark.read_text() != log_dir.volume:
            return f"volume {log_dir.volume}: {mount} holds {mark.read_text()}"
        write_durably(self._key_file(log_dir), log_dir.volume.encode())
        return ""

    def _give_back(self, log_dir: LogDir) -> None:
        """Unmounts, so that the cloud can take the disk away; a mounted one is `busy` to AWS."""
        mount = self._layout.mount(log_dir)
        if self._layout.attached().get(log_dir.name) != log_dir.volume:
            return
        if self._is_mounted(mount):
            output_of(self._run, ("umount", str(mount)))
            _log.info("volume %s is unmounted: its disk may be taken away", log_dir.volume)
        self._key_file(log_dir).unlink(missing_ok=True)

    def _key_file(self, log_dir: LogDir) -> Path:
        return self._layout.root / "volumes" / f"{log_dir.name}.key"


def _given_back(document: Document | None, busy: Collection[ServiceName]) -> frozenset[str]:
    """Keys of the volumes that are to leave and that nobody uses any more. A broker and the ZooKeeper server beside it
    share one: it stays while either runs, or is to keep it."""
    services = document.services if document is not None else ()
    kept = {d.volume for s in services if not s.gives_volumes or s.name in busy for d in s.log_dirs}
    return frozenset(d.volume for s in services if s.gives_volumes for d in s.log_dirs if d.volume not in kept)


_ON_ROOT = ".volume"
"""In the mount point of a volume that is a directory of the root filesystem; holds its key."""
