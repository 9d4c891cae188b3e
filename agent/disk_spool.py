"""Messages that wait for Kafka on the VM's root disk, bounded: the oldest give way, and how many did is told.

They outlive the agent, so that an upgrade of it during a split loses none. Never on a volume of Kafka's. Nothing is
fsynced: a power cut may tear the newest file, which is then passed over, and no broker waits for a flush of ours.
"""

import logging
import struct
import zlib
from bisect import insort
from pathlib import Path

from agent.metrics_spool import Parcel

_log = logging.getLogger(__name__)

_HEAD = struct.Struct(">4sI")
_MAGIC = b"KSP1"
_SUFFIX = ".parcel"


class DiskSpool:
    """Oldest first, one file each. Not for several threads. What a disk refuses is dropped and counted."""

    def __init__(self, directory: Path, *, most_bytes: int) -> None:
        """Goes on with what an earlier agent left there. Raises OSError when the directory cannot be made."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._most_bytes = most_bytes
        self._sizes = _found(directory)
        self._queue = sorted(self._sizes)
        self._next = self._queue[-1] + 1 if self._queue else 0
        self._taken: dict[bytes, int] = {}
        self.dropped = 0
        """Parcels that gave way since the start."""
        self._shrink()

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, parcel: Parcel) -> None:
        """At the end. The oldest are dropped until all fit; one that alone is too large is dropped itself."""
        number, self._next = self._next, self._next + 1
        path = self._path(number)
        content = _HEAD.pack(_MAGIC, len(parcel.key)) + parcel.key + zlib.compress(parcel.payload, 1)
        try:
            path.write_bytes(content)
        except OSError as error:
            self.dropped += 1
            _log.warning("a message is lost, the spool in %s cannot be written: %s", self._directory, error)
            path.unlink(missing_ok=True)
            return
        self._sizes[number] = len(content)
        self._queue.append(number)
        self._shrink()

    def put_back(self, parcel: Parcel) -> None:
        """In its old place: it was taken, and was not delivered."""
        number = self._taken.pop(parcel.key, None)
        if number is not None:
            insort(self._queue, number)
            self._shrink()

    def take(self) -> Parcel:
        """The oldest that can be read. Raises IndexError when there is none."""
        while True:
            number = self._queue.pop(0)
            parcel = self._read(number)
            if parcel is not None:
                self._taken[parcel.key] = number
                return parcel
            self._drop(number)

    def done(self, parcel: Parcel) -> None:
        """Its file goes."""
        number = self._taken.pop(parcel.key, None)
        if number is not None:
            self._remove(number)

    def _read(self, number: int) -> Parcel | None:
        try:
            content = self._path(number).read_bytes()
            magic, length = _HEAD.unpack_from(content)
            key, packed = content[_HEAD.size : _HEAD.size + length], content[_HEAD.size + length :]
            return Parcel(key, zlib.decompress(packed)) if magic == _MAGIC else None
        except (OSError, struct.error, zlib.error):
            return None  # torn by a power cut: counted as dropped

    def _shrink(self) -> None:
        while self._queue and sum(self._sizes.values()) > self._most_bytes:
            self._drop(self._queue.pop(0))

    def _drop(self, number: int) -> None:
        self.dropped += 1
        self._remove(number)

    def _remove(self, number: int) -> None:
        self._sizes.pop(number, None)
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:012d}{_SUFFIX}"


def _found(directory: Path) -> dict[int, int]:
    """Bytes by number of what an earlier agent left."""
    names = ((path, path.name.removesuffix(_SUFFIX)) for path in directory.glob(f"*{_SUFFIX}"))
    return {int(name): path.stat().st_size for path, name in names if name.isdecimal()}
