"""How each source stands, as its last poll saw it. Lost with the process; the next poll says it again."""

import threading
from dataclasses import dataclass, replace
from datetime import datetime

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.signing import CLAIMED, Signature
from controlplane.cluster.spec_source import binding_of
from events.spec.problems import Problem

SYNCED, OUT_OF_SYNC, REFUSED, UNKNOWN = "Synced", "OutOfSync", "Refused", "Unknown"
NOT_POLLED = "NotPolledYet"
HELD_BY_LEADER = "PolledByLeader"
LOOK_FAILED = "LookFailed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """What the last poll of a source found. `state` is one of the words above, `since` when it became (state, reason).

    `tip` is the newest commit seen, `applied` the one whose files were looked at last. `missing` clusters of the source
    have no file there any more; `failovers` and `failovers_missing` are its pairs, likewise. A loop tells its portals
    this, by these names.
    """

    state: str = UNKNOWN
    reason: str = NOT_POLLED
    message: str = ""
    next_step: str = ""
    since: datetime | None = None
    polled_at: datetime | None = None
    reached_at: datetime | None = None
    tip: str = ""
    applied: str = ""
    author: str = ""
    signature: Signature = CLAIMED
    clusters: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    failovers: tuple[str, ...] = ()
    failovers_missing: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_reached: bool = True
    """Whether the last poll got an answer from the repository at all."""


@dataclass(frozen=True, slots=True)
class SourceStatus(SourceReport):
    """One source as its last poll left it."""

    binding: GitBinding


class SourceStatuses:
    """The status of every binding. Safe for many threads."""

    def __init__(self, bindings: tuple[GitBinding, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._statuses = {binding.name: SourceStatus(binding) for binding in bindings}

    def all(self) -> list[SourceStatus]:
        """By name."""
        with self._lock:
            return [self._statuses[name] for name in sorted(self._statuses)]

    def of(self, name: str) -> SourceStatus | None:
        """The source of that binding, None where no such binding is set."""
        with self._lock:
            return self._statuses.get(name)

    def of_source(self, source: str) -> SourceStatus | None:
        """The same by `git:BINDING`."""
        return self.of(binding_of(source))

    def put(self, status: SourceStatus, *, now: datetime) -> None:
        """After a poll. The same state for the same reason keeps its `since`."""
        with self._lock:
            before = self._statuses[status.binding.name]
            same = (before.state, before.reason) == (status.state, status.reason)
            since = before.since if same and before.since is not None else now
            self._statuses[status.binding.name] = replace(status, since=since, polled_at=now)
