"""A Debian as a server of a cloud: what its firmware says of the vendor, cards, disks that come while it runs."""

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.boot import namespaces
from tests.boot.debian_vm import NO_LANGUAGES, DebianVm, LoopDisk, Root, ran
from tests.waiting import until

_SEEN_WITHIN_S = 60.0

_FIRMWARE = """#!/bin/sh
case "$2" in
system-manufacturer) echo "{vendor}";;
system-product-name) echo "vServer";;
system-serial-number) echo "{serial}";;
esac
"""
_VIRTUAL = """#!/bin/sh
case " $* " in *" --container "*|*" -c "*) echo none; exit 1;; esac
echo kvm
"""
_EVERY_CARD = "[Match]\nName=en*\n\n[Network]\nDHCP=ipv4\n"
"""Of the image: a card that appears, at the start or later, is brought up (docs/boot.md asks for it)."""


@dataclass
class CloudVm:
    """`serial` is the vendor's number of it, which its firmware and the metadata service both tell."""

    below: Path
    folder: Path
    name: str
    vendor: str
    serial: str
    machine: DebianVm = field(init=False)
    disks: dict[str, LoopDisk] = field(default_factory=dict)
    """By the name below /dev/disk/by-id."""

    def make(self) -> "CloudVm":
        """Its root and its network namespace; off."""
        self._root = Root(self.below, self.folder).mount()
        namespaces.make(self.name)
        self.machine = DebianVm(self._root.path, self.name, namespace=self.name)
        self._be_of(self.vendor, self.serial)
        return self

    def boot(self) -> None:
        self.machine.boot()

    def attach(self, name: str, disk: LoopDisk) -> None:
        """A disk appears, under the name the vendor gives it: what its kernel and udev would do."""
        disk.attach()
        self.disks[name] = disk
        inside = self._devices()
        path = inside / Path(disk.device).name
        os.mknod(path, 0o660 | stat.S_IFBLK, os.stat(disk.device).st_rdev)
        (inside / "disk/by-id").mkdir(parents=True, exist_ok=True)
        (inside / "disk/by-id" / name).symlink_to(f"../../{path.name}")

    def detach(self, name: str) -> None:
        disk = self.disks.pop(name)
        if self.machine.is_on:
            inside = self._devices()
            (inside / "disk/by-id" / name).unlink(missing_ok=True)
            (inside / Path(disk.device).name).unlink(missing_ok=True)
        disk.detach()

    def lose(self) -> None:
        """Deleted: its plug is pulled, its own disk is gone, the others stay."""
        first = self.machine.init_pid()
        self.machine.power_cut()
        until(lambda: not Path(f"/proc/{first}/root").exists(), "its processes to end", timeout_s=_SEEN_WITHIN_S)
        for name in list(self.disks):
            self.detach(name)
        namespaces.remove(self.name)
        # Its processes are killed with it, which takes them a moment.
        until(self._unmounted, "the root of a VM that is off to be free", timeout_s=_SEEN_WITHIN_S)
        shutil.rmtree(self.folder / "changes", ignore_errors=True)

    def _unmounted(self) -> bool:
        try:
            self._root.unmount()
        except AssertionError:
            return False
        return True

    def _devices(self) -> Path:
        """Its /dev, once its system has begun."""

        def begun() -> Path | None:
            pid = self.machine.init_pid()
            inside = Path(f"/proc/{pid}/root")
            return inside / "dev" if pid and (inside / "run/systemd/system").exists() else None

        return until(begun, "the VM to begin", timeout_s=_SEEN_WITHIN_S, told=self.machine.words)

    def _be_of(self, vendor: str, serial: str) -> None:
        root = self.machine.root
        files: Mapping[str, tuple[int, str]] = {
            "usr/sbin/dmidecode": (0o755, _FIRMWARE.format(vendor=vendor, serial=serial)),
            "usr/bin/systemd-detect-virt": (0o755, _VIRTUAL),
            "etc/cloud/cloud.cfg.d/90-vendor.cfg": (0o644, f"datasource_list: [{vendor}, None]\n{NO_LANGUAGES}"),
            "etc/systemd/network/90-every-card.network": (0o644, _EVERY_CARD),
        }
        for path, (mode, text) in files.items():
            (root / path).unlink(missing_ok=True)
            (root / path).write_text(text)
            (root / path).chmod(mode)
        ran("systemctl", f"--root={root}", "enable", "systemd-networkd.service")
