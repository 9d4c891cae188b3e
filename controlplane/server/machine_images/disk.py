"""The disk of an image: its partitions, and the two ways firmware finds a kernel on it.

Hetzner's and DigitalOcean's x86 machines and Azure's first generation start by BIOS, arm64 and Azure's second
generation by UEFI, Google's and AWS's by what the image says: so amd64 has both, with GRUB as the one loader. UEFI gets
Debian's signed shim and GRUB as files, BIOS a core that was made in the root. Nothing is mounted, no device is needed.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from controlplane.server.machine_images.architecture import Architecture
from controlplane.server.machine_images.manifest import identifier

SECTOR = 512
_MIB = 2**20
_BIOS_TYPE = "21686148-6449-6E6F-744E-656564454649"
_ESP_TYPE = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"

_KERNEL_SECTOR = 0x5C
"""Where GRUB's boot.img is told the sector of its core (GRUB_BOOT_MACHINE_KERNEL_SECTOR, 8 bytes)."""
_BLOCK_LIST = SECTOR - 12
"""Where the first sector of the core is told the rest: sector (8 bytes), count (2), segment (2) (diskboot.S)."""
_BOOT_CODE = 440
"""Bytes of boot.img that go before the disk's signature and partition table."""

ROOT_LABEL = "kedge-root"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition by its number, in MiB."""

    number: int
    start_mib: int
    size_mib: int
    type_guid: str
    name: str

    @property
    def offset(self) -> int:
        """In bytes."""
        return self.start_mib * _MIB


@dataclass(frozen=True, slots=True)
class DiskLayout:
    """Numbers are those of Debian's own cloud images; the root lies last, so that it grows with the disk."""

    bios: Partition
    esp: Partition
    root: Partition
    disk_uuid: UUID
    root_uuid: UUID
    size_mib: int


def layout(architecture: Architecture, size_mib: int, name: str) -> DiskLayout:
    """Of a disk of that size. `name` tells identifiers of different images apart."""
    root = Partition(1, 67, size_mib - 68, architecture.root_type, "root")
    return DiskLayout(
        bios=Partition(14, 1, 2, _BIOS_TYPE, "bios"),
        esp=Partition(15, 3, 64, _ESP_TYPE, "esp"),
        root=root,
        disk_uuid=identifier(name, "disk"),
        root_uuid=identifier(name, "root"),
        size_mib=size_mib,
    )


def partition_table(wanted: DiskLayout) -> str:
    """sfdisk's script."""
    lines = ["label: gpt", f"label-id: {wanted.disk_uuid}", "unit: sectors"]
    for one in (wanted.root, wanted.bios, wanted.esp):
        start, size = one.offset // SECTOR, one.size_mib * _MIB // SECTOR
        own = identifier(str(wanted.disk_uuid), one.name)
        lines.append(
            f'disk{one.number} : start={start}, size={size}, type={one.type_guid}, uuid={own}, name="{one.name}"'
        )
    return "\n".join(lines) + "\n"


def root_filesystem(wanted: DiskLayout, disk: str, tar: str) -> tuple[str, ...]:
    """mke2fs's command. Debian 12's GRUB does not know a seed of checksums in the superblock."""
    extended = f"offset={wanted.root.offset},hash_seed={wanted.root_uuid},root_owner=0:0,nodiscard"
    made = ("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-O", "^metadata_csum_seed", "-L", ROOT_LABEL)
    size = ("-U", str(wanted.root_uuid), "-E", extended, "-d", tar, disk, f"{wanted.root.size_mib * 1024}k")
    return (*made, *size)


def esp_filesystem(wanted: DiskLayout, disk: str) -> tuple[str, ...]:
    """mkfs.vfat's command."""
    made = ("mkfs.vfat", "-F", "32", "-s", "1", "--invariant", "-i", wanted.disk_uuid.hex[:8], "-n", "KEDGE-EFI")
    return (*made, f"--offset={wanted.esp.offset // SECTOR}", disk, str(wanted.esp.size_mib * 1024))


def esp_files(architecture: Architecture, wanted: DiskLayout) -> Mapping[str, str | bytes]:
    """Path on the ESP -> path in the root whose file it is, or its text. GRUB that is signed reads /EFI/debian."""
    upper = f"{architecture.efi.upper()}.EFI"
    text = f"search --no-floppy --fs-uuid --set=root {wanted.root_uuid}\nset prefix=($root)/boot/grub\n"
    grub = f"grub{architecture.efi}.efi"
    return {
        f"/EFI/BOOT/BOOT{upper}": f"usr/lib/shim/shim{architecture.efi}.efi.signed",
        f"/EFI/BOOT/{grub}": f"usr/lib/grub/{architecture.efi_folder}/{grub}.signed",
        "/EFI/debian/grub.cfg": (text + "configfile $prefix/grub.cfg\n").encode(),
    }


def boot_code(boot: bytes, core: bytes, wanted: DiskLayout) -> tuple[bytes, bytes]:
    """GRUB's first sector and its core as they lie on the disk, which is what `grub-bios-setup` does to a device."""
    first = wanted.bios.offset // SECTOR
    count = -(-len(core) // SECTOR)
    if count > wanted.bios.size_mib * _MIB // SECTOR:
        raise ValueError(f"a core of {len(core)} bytes does not fit into {wanted.bios.size_mib} MiB")
    start, rest = bytearray(boot[:_BOOT_CODE]), bytearray(core.ljust(count * SECTOR, b"\0"))
    struct.pack_into("<Q", start, _KERNEL_SECTOR, first)
    struct.pack_into("<QH", rest, _BLOCK_LIST, first + 1, count - 1)
    return bytes(start), bytes(rest)


def write_boot_code(disk: Path, boot: bytes, core: bytes, wanted: DiskLayout) -> None:
    """Puts GRUB where BIOS finds it. The rest of the first sector stays."""
    start, rest = boot_code(boot, core, wanted)
    with disk.open("r+b") as raw:
        raw.write(start)
        raw.seek(wanted.bios.offset)
        raw.write(rest)
