"""Frames between the server and the planning worker: a JSON head and binary parts over a socket pair.

The worker's stdout carries nothing, so whatever Java or a library prints there cannot break the protocol.
Knows no pyspark: the server imports this too.
"""

import json
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from planner.kinds import KINDS, PlanTask

_LENGTHS = struct.Struct(">4sIQ")
_MAGIC = b"KDG1"
_MOST_HEAD_BYTES = 64 * 2**20
_MOST_PART_BYTES = 8 * 2**30


class FrameBroken(ConnectionError):
    """The other side is gone, or sent what is no frame. The connection is of no use any more."""


@dataclass(frozen=True, slots=True)
class Frame:
    """`kind` says what it is: ready, heartbeat, plan, cancel, planned, failed, stop."""

    kind: str
    head: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[bytes, ...] = ()


class FrameSocket:
    """One end of the pair. Many threads may send; one may receive."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sending = threading.Lock()

    def send(self, frame: Frame) -> None:
        """Raises FrameBroken when the other side is gone."""
        lengths = [len(part) for part in frame.parts]
        head = json.dumps({"kind": frame.kind, "head": frame.head, "parts": lengths}).encode()
        try:
            with self._sending:
                self._sock.sendall(_LENGTHS.pack(_MAGIC, len(head), sum(lengths)) + head)
                for part in frame.parts:
                    self._sock.sendall(part)
        except OSError as error:
            raise FrameBroken(f"cannot send {frame.kind}: {error}") from error

    def receive(self) -> Frame:
        """The next frame; blocks. Raises FrameBroken at the end of the stream or on bytes that are no frame."""
        magic, head_length, parts_length = _LENGTHS.unpack(self._exactly(_LENGTHS.size))
        if magic != _MAGIC or head_length > _MOST_HEAD_BYTES or parts_length > _MOST_PART_BYTES:
            raise FrameBroken("the other side sent something that is not a frame")
        head = json.loads(self._exactly(head_length))
        if sum(head["parts"]) != parts_length:
            raise FrameBroken("the other side sent a frame whose lengths do not add up")
        return Frame(head["kind"], head["head"], tuple(self._exactly(n) for n in head["parts"]))

    def close(self) -> None:
        self._sock.close()

    def _exactly(self, count: int) -> bytes:
        received = bytearray(count)
        view, done = memoryview(received), 0
        while done < count:
            try:
                got = self._sock.recv_into(view[done:])
            except OSError as error:
                raise FrameBroken(f"cannot receive: {error}") from error
            if not got:
                raise FrameBroken("the other side closed the connection")
            done += got
        return bytes(received)


def plan_frame(job: int, tasks: Sequence[PlanTask]) -> Frame:
    """Tasks of one job: documents in the head, partitions as Arrow streams, one part each."""
    documents = [{"kind": task.kind.name, "request": task.kind.document(task.request)} for task in tasks]
    parts = tuple(to_stream(task.kind.partitions(task.request)) for task in tasks)
    return Frame("plan", {"job": job, "tasks": documents}, parts)


def tasks_of(frame: Frame) -> list[PlanTask]:
    """The tasks of a plan frame."""
    found = []
    for document, part in zip(frame.head["tasks"], frame.parts, strict=True):
        kind = KINDS[document["kind"]]
        found.append(PlanTask(kind, kind.request(document["request"], pa.ipc.open_stream(part).read_all())))
    return found


def to_stream(table: pa.Table) -> bytes:
    """An Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
