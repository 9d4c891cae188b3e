"""The lines of a VM's logs on their way to Kafka: in order, and read no faster than Kafka takes them.

The log files are the spool: they are on disk already, bounded, and rolled by those who write them. A batch is read when
the one before is acknowledged, so a split costs the VM one batch of memory and no disk, and holds up nobody who logs;
afterwards what the files still hold follows in order. What was rolled away in the meantime is told as missing. The
place in each file is kept on disk behind what Kafka has: an agent that restarts may repeat lines, and leaves out none.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent.journal.entries import LogEntry
from agent.journal.places import FilePlace
from agent.journal.source import Gathered, LogSource, line_of
from agent.masking import masked
from agent.metrics_spool import Parcel, Spool
from agent.secret_log import known_secrets
from agent.sending import Carrier, Sending

_log = logging.getLogger(__name__)

LINE_VERSION = 1

MOST_BYTES = 512 * 1024
"""Read at a time, all logs together."""

_SPOOL_BYTES = 8 * 2**20
_WAIT_S, _MORE_S, _IDLE_S = 0.2, 0.25, 1.0
"""Until the next look: while Kafka has not answered; while there is more (2 MiB/s at most, so that catching up
after a split is no flood); else."""

_KEEP_EVERY_S = 5.0

Places = Mapping[str, FilePlace]
"""By name of the log file."""


@dataclass(frozen=True, slots=True)
class LogOrigin:
    """Which VM the lines are of."""

    cluster_uid: str
    node: str
    generation: int


class JournalShipping:
    """`tick` does what is due and returns the seconds until the next. Call it from one thread."""

    def __init__(
        self,
        origin: LogOrigin,
        sources: Sequence[LogSource],
        carrier: Carrier,
        now_s: Callable[[], float],
        *,
        places: Places,
        keep: Callable[[Places], None],
        secrets: Iterable[str] = (),
    ) -> None:
        """Goes on from `places`; `keep` makes them durable. `secrets` are never told."""
        self._origin, self._sources, self._now_s = origin, sources, now_s
        self._sending = Sending(Spool(most_bytes=_SPOOL_BYTES), carrier, in_flight=1, what="lines of logs")
        self._places = dict(places)
        self._ahead: dict[str, FilePlace] = {}
        self._keep, self._kept, self._kept_s = keep, dict(places), float("-inf")
        self._secrets = tuple(secrets)
        self._lost = 0
        self._unreadable: set[str] = set()

    @property
    def waiting(self) -> int:
        """Batches read and not yet acknowledged by Kafka: 0 or 1."""
        return self._sending.waiting

    def tick(self) -> float:
        """One batch at most is under way; the place moves on when Kafka has it."""
        self._sending.step()
        if self._sending.waiting:
            return _WAIT_S
        self._move_on()
        if self._now_s() - self._kept_s >= _KEEP_EVERY_S:
            self._keep_places()
        lines, is_more = self._gather()
        if lines:
            payload = b"\n".join(lines)
            self._sending.put(Parcel(f"{self._origin.cluster_uid}/{self._origin.node}".encode(), payload))
            self._sending.step(_WAIT_S / 4)
        return _MORE_S if is_more else _IDLE_S

    def leave(self) -> None:
        """The last words, after the carrier was closed: what is acknowledged by now is not told again."""
        if not self._sending.waiting:
            self._move_on()
        self._keep_places()

    def _move_on(self) -> None:
        self._places |= self._ahead
        self._ahead = {}

    def _gather(self) -> tuple[list[bytes], bool]:
        lines, is_more = [], False
        for source in self._sources:
            name = source.path.name
            try:
                found = source.gather(
                    self._places.get(name), most_bytes=MOST_BYTES // len(self._sources), now_s=self._now_s()
                )
            except OSError as error:
                self._cannot(name, str(error))
                continue
            self._cannot(name, "")
            if found is not None:
                self._ahead[name] = found.place
                lines += [self._encode(line) for line in self._lines(source, found)]
                is_more = is_more or found.is_more
        return lines, is_more

    def _lines(self, source: LogSource, found: Gathered) -> Iterable[dict[str, object]]:
        inode = found.place.inode
        note = LogEntry(found.place.offset, found.entries[-1].at if found.entries else None, "WARN", "", "")
        dropped, self._lost = self._sending.dropped - self._lost, self._sending.dropped
        if dropped:
            yield line_of(source.service, inode, note, "a batch of lines is missing: Kafka refused its size")
        if found.loss:
            yield line_of(source.service, inode, note, f"{source.path.name}: {found.loss}")
        for entry in found.entries:
            yield line_of(source.service, inode, entry, masked(entry.text, (*self._secrets, *known_secrets())))
        if found.left_out:
            text = f"{found.left_out} lines left out: more than {source.lines_per_min} of one minute"
            yield {**line_of(source.service, inode, note, text), "left_out": found.left_out}

    def _encode(self, line: dict[str, object]) -> bytes:
        about = self._origin
        head = {"v": LINE_VERSION, "cluster": about.cluster_uid, "node": about.node, "generation": about.generation}
        return json.dumps(head | line, ensure_ascii=False, separators=(",", ":")).encode()

    def _keep_places(self) -> None:
        if self._places != self._kept:
            self._keep(self._places)
            self._kept, self._kept_s = dict(self._places), self._now_s()

    def _cannot(self, name: str, why: str) -> None:
        if not why:
            self._unreadable.discard(name)
        elif name not in self._unreadable:
            self._unreadable.add(name)
            _log.warning("lines of %s stay on the VM: %s", name, why)
