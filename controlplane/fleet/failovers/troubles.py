"""What stands in the way of a pair, for people: nothing is decided by it.

Why a standby cannot be made ready is known to the server that leads alone, which asks for it: it writes that down in a
latest-value row, for as long as it is so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from pydantic import TypeAdapter

from controlplane.fleet.failovers.copy_rows import CopyRow
from controlplane.fleet.failovers.seen import ReplicatorsSeen
from controlplane.fleet.failovers.view import PairView
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_as
from events.ids import ClusterUid

SAID_AGAIN_EVERY_S: Final = 10.0
_IS_YOUNG_S: Final = 3 * SAID_AGAIN_EVERY_S


@dataclass(frozen=True, slots=True)
class PairTroubles:
    """`unproved`: of the door that is closing, by VM, why it is not known to be shut; `heard_open`: of those, the ones
    whose agents say that clients get in. `name`: what is wrong with the pair's name in DNS. `standby`: why it cannot be
    made ready. Each is empty where nothing is known to be wrong."""

    unproved: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    name: str = ""
    standby: str = ""
    heard_open: frozenset[str] = frozenset()
    replicators: ReplicatorsSeen | None = None
    """Of a warm pair, as its VMs say."""
    copy: CopyRow | None = None
    """Of one whose logs were looked at lately, what was found."""

    def is_copying(self, view: PairView) -> bool:
        """Whether the agent of the VM that is to copy says that it does."""
        return bool(view.replicator_at) and self.replicators is not None and self.replicators.is_running


NO_TROUBLES: Final = PairTroubles()


@dataclass(frozen=True, slots=True)
class PairWaitRow:
    """What a pair waited for at that version of its stream, and why its standby could not be made ready."""

    reason: str
    version: int = 0
    trouble: str = ""


_ROW: Final = TypeAdapter(PairWaitRow)


def wait_subject(uid: str) -> Subject:
    """Where it is kept what a pair waits for, as far as the server that leads knows."""
    return Subject("failover-wait", ClusterUid(uid), "wait")


def keep_wait(latest: LatestStore, uid: str, row: PairWaitRow, *, source: str, now: datetime) -> None:
    """Writes it down as seen now. Raises StoreUnavailable."""
    value: dict[str, Any] = _ROW.dump_python(row, mode="json")
    latest.put(LatestValue(wait_subject(uid), value, source=source, observed_at=now))


def standby_trouble(latest: LatestStore, view: PairView, now: datetime) -> str:
    """Why the standby cannot be made ready; "" where nobody has said so lately, or it was said of the pair as it was
    before its last event. Raises StoreUnavailable."""
    found = latest.get(wait_subject(view.uid))
    row = read_as(_ROW, found) if found is not None else None
    if found is None or row is None or row.version != view.version:
        return ""
    return row.trouble if abs((now - found.observed_at).total_seconds()) <= _IS_YOUNG_S else ""
