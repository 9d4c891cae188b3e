"""The steps of a build that run programs: the programs themselves, the root, the disk, its form for a cloud."""

import os
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from controlplane.server.machine_images import contents, disk, packages, root, vhd
from controlplane.server.machine_images.architecture import Architecture, architecture_named
from controlplane.server.machine_images.manifest import identifier
from controlplane.server.machine_images.packages import DebianPackage
from controlplane.server.machine_images.programs import RunProgram
from controlplane.server.machine_images.refusal import ImageRefused
from providers.cloud_init import MAKE_USER

_FOLDER = "image"
"""Below the root of the programs: what they work on."""
_RAW, _ROOT = f"/{_FOLDER}/disk.raw", f"/{_FOLDER}/root.tar"
"""As the programs see them."""


class DiskFormat(StrEnum):
    """Forms of a disk that clouds take: raw and qcow2 most, VHD Azure."""

    RAW = "raw"
    QCOW2 = "qcow2"
    VHD = "vhd"


@dataclass(frozen=True, slots=True)
class Steps:
    """In this order: `unpack_tools`, `make_root`, `make_disk`, `converted`."""

    scratch: root.Scratch
    mirrors: root.Mirrors
    wanted: Architecture
    layout: disk.DiskLayout
    epoch: int
    run: RunProgram

    def unpack_tools(self, locked: Sequence[str] | None) -> tuple[str, ...]:
        """The packages of the programs, as files. Raises `ImageRefused` where they are not those of a lock."""
        own = architecture_named(platform.machine()).name
        self._ran(*root.tools_command(self.scratch, self.mirrors, own))
        found = tuple(sorted(self.scratch.tools_list.read_text().split()))
        if locked is not None and (other := sorted(set(found) ^ set(locked))):
            raise ImageRefused(
                f"the programs that make the disk are others than the lock's: {', '.join(other[:4])}",
                next_step="name a mirror that keeps those, as a snapshot of Debian's (`--mirror`)",
            )
        self.scratch.tools.mkdir()
        unpacked = ("tar", "--extract", "--no-same-owner", "--exclude=./dev/*", "--file", str(self.scratch.tools_tar))
        self._ran(*unpacked, "--directory", str(self.scratch.tools))
        (self.scratch.tools / _FOLDER).mkdir()
        return found

    def make_root(
        self, entries: Mapping[str, contents.Content], locked: Sequence[DebianPackage] | None
    ) -> tuple[DebianPackage, ...]:
        """Its packages. Raises `ImageRefused`, also where they are not those of a lock."""
        settings = contents.settings_entries(str(self.layout.root_uuid))
        contents.write_contents(self.scratch.contents, {**settings, **entries}, epoch=self.epoch)
        here = files("controlplane.server.machine_images")
        self.scratch.finish.write_text((here / "finish.sh").read_text().replace("@MAKE_USER@", MAKE_USER))
        self.scratch.settle_cacerts.write_text((here / "settle_cacerts.py").read_text())
        self.scratch.preferences.write_text(packages.preferences(locked or ()))
        self._ran(*root.root_command(self.wanted, self.scratch, self.mirrors))
        installed = packages.packages_in(self.scratch.packages.read_text())
        if locked is not None:
            packages.hold_to(locked, installed)
        return installed

    def make_disk(self) -> Path:
        """The disk, raw."""
        inside = self.scratch.tools / _FOLDER
        raw = inside / "disk.raw"
        os.link(self.scratch.root_tar, inside / "root.tar")
        with raw.open("wb") as file:
            file.truncate(self.layout.size_mib * 2**20)
        self._in_tools("sfdisk", "--quiet", _RAW, stdin=disk.partition_table(self.layout))
        self._in_tools(*disk.root_filesystem(self.layout, _RAW, _ROOT))
        self._in_tools(*disk.esp_filesystem(self.layout, _RAW))
        with tarfile.open(self.scratch.root_tar) as tar:
            self._fill_esp(tar)
            if self.wanted.boots_by_bios:
                boot, core = (_file(tar, f"boot/grub/i386-pc/{name}.img") for name in ("boot", "core"))
                disk.write_boot_code(raw, boot, core, self.layout)
        return raw

    def _fill_esp(self, tar: tarfile.TarFile) -> None:
        at = f"{_RAW}@@{self.layout.esp.offset}"
        self._in_tools("mmd", "-i", at, "::/EFI", "::/EFI/BOOT", "::/EFI/debian")
        for path, held in disk.esp_files(self.wanted, self.layout).items():
            body = held if isinstance(held, bytes) else _file(tar, held)
            name = Path(path).name
            (self.scratch.tools / _FOLDER / name).write_bytes(body)
            self._in_tools("mcopy", "-i", at, f"/{_FOLDER}/{name}", f"::{path}")

    def converted(self, wanted: DiskFormat) -> Path:
        """The disk in the form that was asked for."""
        inside = self.scratch.tools / _FOLDER
        if wanted is DiskFormat.RAW:
            return inside / "disk.raw"
        form = ("qcow2",) if wanted is DiskFormat.QCOW2 else ("vpc", "-o", "subformat=fixed,force_size=on")
        self._in_tools("qemu-img", "convert", "-f", "raw", "-O", *form, _RAW, f"/{_FOLDER}/disk.{wanted}")
        made = inside / f"disk.{wanted}"
        if wanted is DiskFormat.VHD:
            with made.open("r+b") as file:
                file.seek(-vhd.FOOTER_BYTES, os.SEEK_END)
                settled = vhd.settled(file.read(), epoch=self.epoch, own=identifier(str(self.layout.disk_uuid), "vhd"))
                file.seek(-vhd.FOOTER_BYTES, os.SEEK_END)
                file.write(settled)
        return made

    def _in_tools(self, *command: str, stdin: str = "") -> None:
        self._ran(*root.in_tools(self.scratch, command, is_root=os.geteuid() == 0), stdin=stdin)

    def _ran(self, *command: str, stdin: str = "") -> None:
        # mtools asks for sizes of floppies otherwise.
        environment = {"SOURCE_DATE_EPOCH": str(self.epoch), "MTOOLS_SKIP_CHECK": "1", "TZ": "UTC"}
        self.run(command, environment=environment, stdin=stdin)


def _file(tar: tarfile.TarFile, path: str) -> bytes:
    """A file of the root, links followed. Raises `ImageRefused`."""
    try:
        file = tar.extractfile(f"./{path}")
    except KeyError:
        file = None
    if file is None:
        raise ImageRefused(f"Debian's packages brought no /{path}, without which the image does not start")
    return file.read()
