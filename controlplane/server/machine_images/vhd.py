"""Azure's form of a disk: the disk itself, whole MiB, and a footer (Virtual Hard Disk Image Format, 1.0)."""

import struct
from uuid import UUID

FOOTER_BYTES = 512
_SINCE_2000 = 946684800
"""Seconds from 1970 to 2000, from which VHDs count."""
_TIME, _CHECKSUM, _ID = 24, 64, 68


def settled(footer: bytes, *, epoch: int, own: UUID) -> bytes:
    """A footer with a time and an identifier that follow from the inputs: qemu-img writes those of the moment. Raises
    `ValueError` for what is none."""
    if len(footer) != FOOTER_BYTES or not footer.startswith(b"conectix"):
        raise ValueError("this is not the footer of a VHD")
    written = bytearray(footer)
    struct.pack_into(">I", written, _TIME, max(epoch - _SINCE_2000, 0))
    written[_ID : _ID + 16] = own.bytes
    struct.pack_into(">I", written, _CHECKSUM, 0)
    struct.pack_into(">I", written, _CHECKSUM, ~sum(written) & 0xFFFFFFFF)
    return bytes(written)
