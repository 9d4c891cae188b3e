"""Where a new cluster's producer ids begin: one record more among those its first controller starts its log with.

Kafka hands out ids from 0 on in every cluster. A producer that moves to another cluster keeps its id, epoch and
sequence, and a broker there that has given the same id to somebody else takes its records for duplicates: they are
acknowledged, and in no log. So clusters get ranges of their own. No tool of Kafka writes that record: `kafka-storage
format` leaves `bootstrap.checkpoint`, a file of record batches between a header and a footer, to which it is added
before the first start. The active controller of an empty log appends what stands there (`ProducerIdsRecord`, key 15).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.durable import write_durably

BOOTSTRAP_FILE = "bootstrap.checkpoint"

_BATCH = struct.Struct(">qiibIhiqqqhii")
"""Head of a record batch of magic 2: base offset, length of all behind it, leader epoch, magic, CRC-32C of all behind,
attributes, last offset delta, first and last timestamp, producer id, its epoch, base sequence, count of records."""

_LENGTH_ENDS, _CRC_ENDS, _MAGIC, _CONTROL = 12, 21, 2, 0x20
_FRAME, _PRODUCER_IDS, _VERSION = 1, 15, 0
_NOBODY = -1
"""The broker, and its epoch, that the last block went to: none has had one."""


class UnknownBootstrap(Exception):
    """The file is not what `kafka-storage format` of the supported releases leaves; nothing was written."""


@dataclass(frozen=True, slots=True)
class _CheckpointBatch:
    at: int
    end: int
    base_offset: int
    last_timestamp: int
    is_control: bool


def begin_producer_ids(log_dir: Path, first: int) -> None:
    """Has the cluster that was formatted into this directory, and never started, hand out producer ids from `first` on.

    Raises UnknownBootstrap, OSError.
    """
    path = log_dir / BOOTSTRAP_FILE
    try:
        checkpoint = path.read_bytes()
    except FileNotFoundError as error:
        raise UnknownBootstrap(f"there is no {BOOTSTRAP_FILE} in {log_dir}") from error
    write_durably(path, with_producer_ids(checkpoint, first))


def with_producer_ids(checkpoint: bytes, first: int) -> bytes:
    """The checkpoint with a batch of one `ProducerIdsRecord` before its footer. Raises UnknownBootstrap."""
    batches = list(_batches(checkpoint))
    if [b.is_control for b in batches[:1] + batches[-1:]] != [True, True] or len(batches) < 3:
        raise UnknownBootstrap(f"{BOOTSTRAP_FILE} has no records between a header and a footer")
    if any(b.is_control for b in batches[1:-1]):
        raise UnknownBootstrap(f"{BOOTSTRAP_FILE} has control records among its records")
    footer = batches[-1]
    before, behind = checkpoint[: footer.at], bytearray(checkpoint[footer.at :])
    struct.pack_into(">q", behind, 0, footer.base_offset + 1)  # not among what the footer's CRC is of
    return before + _batch(footer.base_offset, batches[-2].last_timestamp, _record(first)) + bytes(behind)


def crc32c(content: bytes) -> int:
    """CRC-32C (Castagnoli, RFC 3720 appendix B.4), which record batches carry; zlib has another polynomial."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _batches(checkpoint: bytes) -> Iterator[_CheckpointBatch]:
    at = 0
    while at < len(checkpoint):
        if len(checkpoint) - at < _BATCH.size:
            raise UnknownBootstrap(f"{BOOTSTRAP_FILE} ends within a batch, at byte {at}")
        offset, length, _, magic, crc, attributes, _, _, last, *_ = _BATCH.unpack_from(checkpoint, at)
        end = at + _LENGTH_ENDS + length
        if magic != _MAGIC or not at + _BATCH.size <= end <= len(checkpoint):
            raise UnknownBootstrap(f"{BOOTSTRAP_FILE} has no batch of magic {_MAGIC} at byte {at}")
        if crc32c(checkpoint[at + _CRC_ENDS : end]) != crc:
            raise UnknownBootstrap(f"{BOOTSTRAP_FILE} is damaged: the batch at byte {at} has another CRC")
        yield _CheckpointBatch(at, end, offset, last, bool(attributes & _CONTROL))
        at = end


def _batch(base_offset: int, timestamp: int, record: bytes) -> bytes:
    """One batch of one record, uncompressed, of no producer."""
    tail = struct.pack(">hiqqqhii", 0, 0, timestamp, timestamp, -1, -1, -1, 1) + record
    body = struct.pack(">ibI", 0, _MAGIC, crc32c(tail)) + tail
    return struct.pack(">qi", base_offset, len(body)) + body


def _record(first: int) -> bytes:
    """Attributes, timestamp and offset as of its batch, no key, the value, no headers; before all of it its length."""
    value = bytes((_FRAME, _PRODUCER_IDS, _VERSION)) + struct.pack(">iqq", _NOBODY, _NOBODY, first) + b"\x00"
    body = b"\x00" + _varint(0) + _varint(0) + _varint(-1) + _varint(len(value)) + value + _varint(0)
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    """As records have it (zigzag), of a number from -64 to 63: nothing in this one is longer."""
    return bytes(((number << 1) ^ (number >> 63),))


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_table_entry, range(256)))
