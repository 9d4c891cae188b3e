"""What the agent must remember over its own death and over a reboot: the last document, what was started and stopped.

A `stopped` is on disk before it is reported: the control plane deletes VMs on the strength of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from agent.durable import write_durably
from agent.wire import Document, ServiceDocument

T = TypeVar("T")

_ENDED_KEPT = 200


class RecordUnreadable(ValueError):
    """A record is damaged. Refuse: without it a stopped service could be started again."""


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """The last accepted document and the etag it came with. Its epoch is the highest accepted."""

    etag: str
    document: Document


@dataclass(frozen=True, slots=True)
class Launch:
    """The last launch of a service. `number` counts launches on this VM, so that one exit is noted once."""

    number: int
    start_id: str
    boot_id: str
    kafka_version: str
    at: datetime


@dataclass(frozen=True, slots=True)
class End:
    """A start_id that is over for good. `exit_code` is None when the process was not our child (an earlier agent's)."""

    start_id: str
    exit_code: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """The history of one service on this VM that decisions need."""

    launch: Launch | None = None
    ended: tuple[End, ...] = ()
    noted_exit: int = 0
    """Number of the last launch whose unexpected exit was noted."""
    exits_in_a_row: int = 0
    unexpected_exits: int = 0
    used_directories: tuple[str, ...] = ()
    """Directory ids Kafka has run on here: such a directory is never formatted again, empty or not."""
    refused: str = ""
    """Kafka's words where it last refused the configuration it was given, by a start or by its formatting."""
    refused_start: str = ""
    """The start_id that was for."""

    def end_of(self, start_id: str) -> End | None:
        return next((end for end in reversed(self.ended) if end.start_id == start_id), None)

    def launched(self, service: ServiceDocument, *, boot_id: str, at: datetime) -> "ServiceRecord":
        number = self.launch.number + 1 if self.launch else 1
        same_start = self.launch is not None and self.launch.start_id == service.start_id
        directories = {log_dir.directory_id for log_dir in service.log_dirs}
        return replace(
            self,
            launch=Launch(number, service.start_id, boot_id, service.kafka_version, at),
            exits_in_a_row=self.exits_in_a_row if same_start else 0,
            used_directories=tuple(sorted(directories.union(self.used_directories))),
        )

    def refused_by(self, start_id: str, words: str) -> "ServiceRecord":
        """What came of the last try of that start: `words` is "" where it failed for something else, or not at all."""
        return replace(self, refused=words, refused_start=start_id if words else "")

    def finished(self, start_ids: tuple[str, ...], exit_code: int | None, at: datetime) -> "ServiceRecord":
        new = tuple(End(start_id, exit_code, at) for start_id in start_ids if self.end_of(start_id) is None)
        return replace(self, ended=(self.ended + new)[-_ENDED_KEPT:])

    def crashed(self, *, after_long_run: bool) -> "ServiceRecord":
        return replace(
            self,
            noted_exit=self.launch.number if self.launch else 0,
            exits_in_a_row=1 if after_long_run else self.exits_in_a_row + 1,
            unexpected_exits=self.unexpected_exits + 1,
        )


class Records:
    """The files below the agent's state directory."""

    def __init__(self, state: Path) -> None:
        self._state = state
        (state / "records").mkdir(mode=0o700, parents=True, exist_ok=True)

    def document(self) -> KeptDocument | None:
        """None when there was never one. Raises `RecordUnreadable`."""
        return self._read("document", _DOCUMENT.validate_json)

    def keep_document(self, kept: KeptDocument) -> None:
        write_durably(self._path("document"), _DOCUMENT.dump_json(kept))

    def service(self, name: str) -> ServiceRecord:
        """An empty record when the service was never started here. Raises `RecordUnreadable`."""
        return self._read(name, _SERVICE.validate_json) or ServiceRecord()

    def keep_service(self, name: str, record: ServiceRecord) -> None:
        write_durably(self._path(name), _SERVICE.dump_json(record))

    def is_retired(self) -> bool:
        return self._path("retired").exists()

    def keep_retired(self) -> None:
        write_durably(self._path("retired"), b"{}")

    def _path(self, name: str) -> Path:
        return self._state / "records" / f"{name}.json"

    def _read(self, name: str, parse: Callable[[bytes], T]) -> T | None:
        path = self._path(name)
        try:
            return parse(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise RecordUnreadable(f"the agent's record {path} cannot be read: {error}") from error


_DOCUMENT = TypeAdapter(KeptDocument)
_SERVICE = TypeAdapter(ServiceRecord)
