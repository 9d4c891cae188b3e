"""Data records out of what a leader answers to Fetch: batches of format 2 (Kafka 0.11), markers left out.

Headers of batches are never compressed; layout and codecs as in Kafka's `DefaultRecordBatch` and `CompressionType`.
The client library takes codecs that the server does not bring along, so blocks are opened here.
"""

import struct
import zlib
from collections.abc import Iterator

from kafka.errors import CorruptRecordError
from kafka.record.default_records import DefaultRecordBatch

from controlplane.kafka.pair_copies.log_edge import LogRecord, LogStretch

_START = struct.Struct(">qi")
_MAGIC_AT, _ATTRIBUTES_AT, _RECORDS_AT = 16, 21, 61
_CODEC, _STAMPED, _CONTROL = 0x07, 0x08, 0x20
_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4
_MOST_BYTES = 64 << 20
"""Of one batch once it is opened: producers say what is in it, and a small one may hold far more than memory."""
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEAD = 16


class UnreadableBatch(Exception):
    """A batch whose records nobody can compare: why."""


def stretch_of(content: bytes, asked: int) -> LogStretch | None:
    """The records of all whole batches, from the one that holds `asked` on. None where the first is cut off.

    Raises UnreadableBatch.
    """
    records: list[LogRecord] = []
    first, after = None, asked
    for batch in _whole_batches(content):
        opened = _opened(batch)
        if opened.next_offset <= asked:
            continue
        first = opened.base_offset if first is None else first
        after = opened.next_offset
        if not opened.attributes & _CONTROL and opened.records_count:
            records += _records(opened)
    if first is None:
        return LogStretch((), asked, asked) if not content else None
    return LogStretch(tuple(records), first, after)


def _whole_batches(content: bytes) -> Iterator[bytes]:
    at = 0
    while at + _RECORDS_AT <= len(content):
        _, length = _START.unpack_from(content, at)
        end = at + _START.size + length
        if end > len(content):
            return  # the broker cuts the last one off where its bytes are over
        if content[at + _MAGIC_AT] != 2:
            raise UnreadableBatch(f"its records have format {content[at + _MAGIC_AT]}, of before Kafka 0.11")
        yield content[at:end]
        at = end


def _opened(batch: bytes) -> DefaultRecordBatch:
    (attributes,) = struct.unpack_from(">h", batch, _ATTRIBUTES_AT)
    codec = attributes & _CODEC
    if not codec or attributes & _CONTROL:
        return DefaultRecordBatch(batch)
    plain = struct.pack(">h", attributes & ~_CODEC)
    head = batch[:_ATTRIBUTES_AT] + plain + batch[_ATTRIBUTES_AT + 2 : _RECORDS_AT]
    return DefaultRecordBatch(head + decompressed(codec, batch[_RECORDS_AT:]))


def _records(batch: DefaultRecordBatch) -> Iterator[LogRecord]:
    is_stamped = bool(batch.attributes & _STAMPED)
    try:
        for r in batch:
            yield LogRecord(r.offset, r.timestamp, r.key, r.value, tuple(r.headers), is_stamped)
    except (CorruptRecordError, UnicodeDecodeError) as e:
        raise UnreadableBatch(f"its records from offset {batch.base_offset} on cannot be read: {e}") from e


def decompressed(codec: int, block: bytes) -> bytes:
    """The records of a batch. Raises UnreadableBatch."""
    import pyarrow as pa  # it is large, and a server without pairs does without

    try:
        if codec == _GZIP:
            found = zlib.decompressobj(wbits=31).decompress(block, _MOST_BYTES + 1)
        elif codec == _SNAPPY:
            found = b"".join(map(_snappy, _snappy_blocks(block)))
        elif codec in (_LZ4, _ZSTD):
            with pa.CompressedInputStream(pa.BufferReader(block), "lz4" if codec == _LZ4 else "zstd") as stream:
                found = bytes(stream.read(_MOST_BYTES + 1))
        else:
            raise UnreadableBatch(f"its records are compressed by a codec that is not known ({codec})")
    except (OSError, EOFError, ValueError, IndexError, struct.error, zlib.error) as e:
        raise UnreadableBatch(f"a compressed batch cannot be opened: {e}") from e
    if len(found) > _MOST_BYTES:
        raise UnreadableBatch(f"a compressed batch holds more than {_MOST_BYTES >> 20} MiB")
    return found


def _snappy_blocks(block: bytes) -> Iterator[bytes]:
    """Java's producers write blocks with a head of their own (`SnappyOutputStream`), others one without."""
    if not block.startswith(_XERIAL):
        yield block
        return
    at = _XERIAL_HEAD
    while at < len(block):
        (size,) = struct.unpack_from(">i", block, at)
        yield block[at + 4 : at + 4 + size]
        at += 4 + size


def _snappy(block: bytes) -> bytes:
    """A block begins with its size without compression, as a varint."""
    import pyarrow as pa

    size, shift = 0, 0
    for byte in block:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > _MOST_BYTES:
        raise ValueError(f"a block says that it holds {size} bytes")
    found: bytes = pa.decompress(block, decompressed_size=size, codec="snappy", asbytes=True)
    return found
