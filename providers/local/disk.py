"""Disks of the local cloud: directories that outlive VMs, shown inside a VM by a link, or gone with it
(ephemeral).

What the agent sees in `<vm>/volumes/`: `<dir>` (the disk), `<dir>.bytes` (its size) and, last to appear and
first to go, `<dir>.key` (which volume it is).
"""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from events.quantities import GIB
from providers.catalog import EPHEMERAL
from providers.errors import ResourceConflict
from providers.local.layout import Layout
from providers.local.record import read_record, write_record, write_text


@dataclass(frozen=True, slots=True)
class DiskRecord:
    """A disk as recorded. `attached_to` is an instance key."""

    installation_id: str
    cluster_uid: str
    key: str
    zone: str
    kind: str
    size_gib: int
    attached_to: str | None = None

    @property
    def dir(self) -> str:
        """Name of the mount inside a VM: the `<dir>` of `<node>.<dir>.v<n>`."""
        return self.key.split(".")[-2]


@dataclass(frozen=True, slots=True)
class DiskRecords:
    """The disks of one region. Callers hold the cluster's lock; every method may be repeated after a crash."""

    layout: Layout
    enforce: bool = False

    def read(self, cluster_uid: str, key: str) -> DiskRecord | None:
        record = read_record(self.layout.volume_record(cluster_uid, key))
        return DiskRecord(**record) if record else None

    def list_all(self) -> tuple[DiskRecord, ...]:
        """Every disk of the region, whoever owns it, in the order of its path."""
        return tuple(
            DiskRecord(**record)
            for path in sorted(self.layout.volumes.glob("*/*.json"))
            if (record := read_record(path))
        )

    def create(self, disk: DiskRecord) -> None:
        """Record the disk and make its directory; the data of one that exists is never touched."""
        there = self.read(disk.cluster_uid, disk.key)
        if there is not None:
            if (there.installation_id, there.zone, there.kind) != (
                disk.installation_id,
                disk.zone,
                disk.kind,
            ):
                raise ResourceConflict(
                    f"volume {disk.key} exists in zone {there.zone} as {there.kind}, asked for {disk}"
                )
        else:
            self._write(disk)
        if disk.kind != EPHEMERAL:
            self._make(disk, self._path(disk))

    def grow(self, cluster_uid: str, key: str, size_gib: int) -> None:
        """Give the disk that size, under whoever uses it. One that is as large already, or gone, is left alone."""
        disk = self.read(cluster_uid, key)
        if disk is None or disk.size_gib > size_gib:
            return
        path = self._path(disk)
        if self._image(path).exists():
            os.truncate(self._image(path), size_gib * GIB)
            _grow_loop(path)
        if disk.attached_to is not None:
            mounts = self.layout.vm(cluster_uid, disk.attached_to) / "volumes"
            if _shown(mounts, disk.dir) == key:
                write_text(mounts / f"{disk.dir}.bytes", f"{size_gib * GIB}\n")
        self._write(replace(disk, size_gib=size_gib))

    def destroy(self, cluster_uid: str, key: str, *, alive: Callable[[str], bool]) -> None:
        """Delete the disk and its data. Raises `ResourceConflict` while a VM that is not dead has it attached.

        An ephemeral disk stays with its VM for good. Once it was detached it may go before that VM, too: Terraform
        deletes the attachment first, then disk and VM in any order.
        """
        disk = self.read(cluster_uid, key)
        if disk is None:
            return
        holder = disk.attached_to
        if holder is not None:
            mounts = self.layout.vm(cluster_uid, holder) / "volumes"
            detached = disk.kind == EPHEMERAL and _shown(mounts, disk.dir) != key
            if not detached and alive(holder):
                raise ResourceConflict(f"volume {key} is attached to {holder}: detach it first")
            self.detach(cluster_uid, key, holder)
            if disk.kind == EPHEMERAL:
                self._remove(mounts / disk.dir)
        self._remove(self._path(disk))
        self._image(self._path(disk)).unlink(missing_ok=True)
        self.layout.volume_record(cluster_uid, key).unlink(missing_ok=True)

    def attach(self, cluster_uid: str, key: str, instance: str, *, zone: str, alive: Callable[[str], bool]) -> None:
        """Show the disk in a VM. A holder that is dead has lost it; a living one keeps it (`ResourceConflict`)."""
        disk = self.read(cluster_uid, key)
        if disk is None:
            raise ResourceConflict(f"volume {key} does not exist, so it cannot be attached to {instance}")
        if disk.zone != zone:
            raise ResourceConflict(f"volume {key} is in zone {disk.zone}, {instance} in zone {zone}")
        if disk.attached_to not in (None, instance):
            if alive(disk.attached_to) or disk.kind == EPHEMERAL:
                raise ResourceConflict(f"volume {key} is attached to {disk.attached_to}, not to be had for {instance}")
            self.detach(cluster_uid, key, disk.attached_to)
        self._write(disk, attached_to=instance)
        self._show(disk, self.layout.vm(cluster_uid, instance) / "volumes")

    def detach(self, cluster_uid: str, key: str, instance: str) -> None:
        """Take the disk out of a VM; its data stays (an ephemeral disk's goes with the VM)."""
        disk = self.read(cluster_uid, key)
        mounts = self.layout.vm(cluster_uid, instance) / "volumes"
        name = key.split(".")[-2]
        if _shown(mounts, name) == key:
            (mounts / f"{name}.key").unlink()
        mount = mounts / name
        if mount.is_symlink() and mount.resolve() == self.layout.volume(cluster_uid, key).resolve():
            mount.unlink()
        if disk is not None and disk.attached_to == instance and disk.kind != EPHEMERAL:
            self._write(disk, attached_to=None)

    def release_all(self, cluster_uid: str, instance: str) -> None:
        """The VM is gone: its disks are free again, its ephemeral ones are gone too."""
        for disk in self.list_all():
            if disk.cluster_uid == cluster_uid and disk.attached_to == instance:
                self.detach(cluster_uid, disk.key, instance)
                if disk.kind == EPHEMERAL:
                    self._remove(self.layout.vm(cluster_uid, instance) / "volumes" / disk.dir)
                    self.layout.volume_record(cluster_uid, disk.key).unlink(missing_ok=True)

    def _show(self, disk: DiskRecord, mounts: Path) -> None:
        mounts.mkdir(parents=True, exist_ok=True)
        mount = mounts / disk.dir
        self._make(disk, mount if disk.kind == EPHEMERAL else self._path(disk))
        if disk.kind != EPHEMERAL:
            temporary = mounts / f".{disk.dir}.tmp"
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(self._path(disk))
            temporary.rename(mount)
        write_text(mounts / f"{disk.dir}.bytes", f"{disk.size_gib * GIB}\n")
        write_text(mounts / f"{disk.dir}.key", f"{disk.key}\n")

    def _make(self, disk: DiskRecord, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        if not self.enforce or os.geteuid() != 0 or path.is_mount():
            return
        if disk.kind == EPHEMERAL:
            _run("mount", "-t", "tmpfs", "-o", f"size={disk.size_gib}g,mode=0700", "kedge", str(path))
            return
        image = self._image(path)
        if not image.exists():
            raw = image.with_suffix(".new")
            with raw.open("wb") as file:
                file.truncate(disk.size_gib * GIB)
            _run("mkfs.ext4", "-q", "-m", "0", str(raw))
            raw.rename(image)
        _run("mount", "-o", "loop", str(image), str(path))
        # Kafka takes every directory of a log dir for a partition; this one would stop it.
        remove_tree(path / "lost+found")

    def _remove(self, path: Path) -> None:
        if path.is_mount():
            _run("umount", "-l", str(path))
        remove_tree(path)

    def _image(self, path: Path) -> Path:
        return path.with_name(f"{path.name}.img")

    def _path(self, disk: DiskRecord) -> Path:
        return self.layout.volume(disk.cluster_uid, disk.key)

    def _write(self, disk: DiskRecord, **changes: str | None) -> None:
        write_record(self.layout.volume_record(disk.cluster_uid, disk.key), {**asdict(disk), **changes})


def attached_keys(vm_dir: Path) -> tuple[str, ...]:
    """Volume keys a VM sees."""
    return tuple(sorted(path.read_text().strip() for path in (vm_dir / "volumes").glob("*.key")))


def unmount_all(root: Path) -> None:
    """Unmount every disk below the root of a local cloud; there are mounts only where sizes are enforced."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        mounted = line.split()[1].replace("\\040", " ")
        if Path(mounted).is_relative_to(root):
            _run("umount", "-l", mounted)


def remove_tree(path: Path) -> None:
    """Delete a directory with all that is in it; one that is not there is fine."""
    import shutil  # it loads every compressor there is, and most verbs remove nothing

    if path.exists():
        shutil.rmtree(path)


def _shown(mounts: Path, name: str) -> str | None:
    path = mounts / f"{name}.key"
    return path.read_text().strip() if path.exists() else None


def _grow_loop(path: Path) -> None:
    """The mounted image has become larger: so does its device, and what is on it. Not mounted, there is no hurry."""
    if path.is_mount():
        for line in Path("/proc/self/mounts").read_text().splitlines():
            device, mounted = line.split()[:2]
            if mounted.replace("\\040", " ") == str(path):
                _run("losetup", "--set-capacity", device)
                _run("resize2fs", device)


def _run(*argv: str) -> None:
    import subprocess  # only where sizes are enforced

    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
