"""The disk of an image: partitions, the bytes BIOS reads, the files UEFI reads, a VHD's footer."""

import struct

import pytest

from controlplane.server.machine_images import disk, vhd
from controlplane.server.machine_images.architecture import architecture_named
from controlplane.server.machine_images.manifest import identifier
from controlplane.server.machine_images.refusal import ImageRefused

AMD64, ARM64 = architecture_named("amd64"), architecture_named("arm64")
LAYOUT = disk.layout(AMD64, 3072, "kedge-4.2.0-amd64/ab")


def test_partitions_follow_one_another_and_leave_room_for_both_tables() -> None:
    ordered = sorted((LAYOUT.bios, LAYOUT.esp, LAYOUT.root), key=lambda one: one.start_mib)
    assert [one.name for one in ordered] == ["bios", "esp", "root"], "the root is last, so that it can grow"
    ends = [one.start_mib + one.size_mib for one in ordered]
    assert [one.start_mib for one in ordered] == [1, *ends[:-1]]
    assert ends[-1] == LAYOUT.size_mib - 1


def test_the_same_image_has_the_same_identifiers_and_another_image_others() -> None:
    again, other = (disk.layout(AMD64, 3072, name) for name in ("kedge-4.2.0-amd64/ab", "kedge-4.2.0-amd64/cd"))
    assert disk.partition_table(again) == disk.partition_table(LAYOUT)
    assert again.root_uuid != other.root_uuid
    assert str(LAYOUT.disk_uuid) in disk.partition_table(LAYOUT)


def test_a_filesystem_has_no_identifier_that_is_drawn_when_it_is_made() -> None:
    command = disk.root_filesystem(LAYOUT, "/disk", "/root.tar")
    assert command[command.index("-U") + 1] == str(LAYOUT.root_uuid)
    assert f"hash_seed={LAYOUT.root_uuid}" in command[command.index("-E") + 1]
    assert {"-i", LAYOUT.disk_uuid.hex[:8], "--invariant"} <= set(disk.esp_filesystem(LAYOUT, "/disk"))


def test_bios_is_told_where_the_core_lies_and_the_core_where_its_rest_is() -> None:
    """Fields of GRUB's boot.img and diskboot.img; the partition table's signature in the first sector stays."""
    start, rest = disk.boot_code(b"\xeb" * 512, b"\xcc" * 1300, LAYOUT)
    first = LAYOUT.bios.offset // 512
    assert struct.unpack_from("<Q", start, 0x5C) == (first,)
    assert struct.unpack_from("<QH", rest, 500) == (first + 1, 2)
    assert (len(start), len(rest)) == (440, 3 * 512)
    assert rest[512:1300] == b"\xcc" * 788


def test_a_core_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit into 2 MiB"):
        disk.boot_code(b"\0" * 512, b"\0" * (2 * 2**20 + 1), LAYOUT)


@pytest.mark.parametrize(("architecture", "first"), [(AMD64, "BOOTX64.EFI"), (ARM64, "BOOTAA64.EFI")])
def test_uefi_finds_the_signed_shim_which_finds_the_signed_grub(architecture: object, first: str) -> None:
    assert architecture in (AMD64, ARM64)
    one = AMD64 if architecture is AMD64 else ARM64
    files = disk.esp_files(one, LAYOUT)
    assert files[f"/EFI/BOOT/{first}"] == f"usr/lib/shim/shim{one.efi}.efi.signed"
    text = files["/EFI/debian/grub.cfg"]
    assert isinstance(text, bytes)
    assert str(LAYOUT.root_uuid).encode() in text


def test_an_architecture_has_the_names_of_all_who_name_it() -> None:
    assert architecture_named("x86_64") is AMD64
    assert architecture_named("aarch64") is ARM64
    assert ("grub-pc-bin" in AMD64.packages, "grub-pc-bin" in ARM64.packages) == (True, False)
    with pytest.raises(ImageRefused, match="'riscv64'"):
        architecture_named("riscv64")


def test_a_footer_of_a_vhd_tells_nothing_of_the_hour_and_its_checksum_holds() -> None:
    """The checksum is the complement of the sum of all bytes but its own (Virtual Hard Disk Image Format, 1.0)."""
    own = identifier("x", "vhd")
    written = [b"conectix".ljust(24, b"\1") + drawn * 4 + b"\2" * 484 for drawn in (b"\x05", b"\x09")]
    first, second = (vhd.settled(one, epoch=1764000000, own=own) for one in written)
    assert first == second
    assert first[68:84] == own.bytes
    (checksum,) = struct.unpack_from(">I", first, 64)
    assert checksum == ~sum(first[:64] + first[68:]) & 0xFFFFFFFF
    with pytest.raises(ValueError, match="not the footer"):
        vhd.settled(b"\0" * 512, epoch=0, own=own)
