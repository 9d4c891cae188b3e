"""What the agent remembers of the replicator over its own death and over a reboot."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agent.durable import write_durably
from agent.journal.places import FilePlace
from agent.wire_replicator import ReplicatorDocument

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplicatorRecord:
    """Of the last process that was started, and of all that ended unasked. `is_over`: that one was asked to end, or its
    exit is counted. `log_from`: where in the log its lines begin; `has_copied`: it was seen to copy."""

    start_id: str = ""
    boot_id: str = ""
    is_over: bool = True
    log_from: FilePlace | None = None
    has_copied: bool = False
    exits_in_a_row: int = 0
    unexpected_exits: int = 0

    def launched(self, wanted: ReplicatorDocument, *, boot_id: str, log_from: FilePlace | None) -> "ReplicatorRecord":
        return replace(
            self,
            start_id=wanted.start_id,
            boot_id=boot_id,
            is_over=False,
            log_from=log_from,
            has_copied=False,
            exits_in_a_row=self.exits_in_a_row if wanted.start_id == self.start_id else 0,
        )

    def crashed(self, *, after_long_run: bool) -> "ReplicatorRecord":
        return replace(
            self,
            is_over=True,
            exits_in_a_row=1 if after_long_run else self.exits_in_a_row + 1,
            unexpected_exits=self.unexpected_exits + 1,
        )


class ReplicatorRecordFile:
    """On disk; there is none before a document has named a replicator."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> ReplicatorRecord | None:
        """A damaged one is an empty one: a process is known by its marks, and only counts are lost."""
        try:
            return _RECORD.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            _log.warning("what was kept of the replicator cannot be read, its exits are counted anew: %s", error)
            return ReplicatorRecord()

    def write(self, record: ReplicatorRecord) -> None:
        """Raises OSError."""
        write_durably(self._path, _RECORD.dump_json(record), mode=0o600)


_RECORD: TypeAdapter[ReplicatorRecord] = TypeAdapter(ReplicatorRecord)
