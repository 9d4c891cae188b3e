"""What is known of the copy to a standby: a latest-value row of the server that leads, and what follows of it.

Logs are read by one server, and what it found is shown and decided on by all. A row is of one flow and one order: what
was found of another one says nothing. Rows may be lost: then nothing is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import TypeAdapter

from controlplane.fleet.failovers.copying import NOTHING_FOUND, FlowFindings
from controlplane.fleet.failovers.seen import CopySeen
from controlplane.fleet.failovers.view import PairView
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_as
from events.failover_facts import TopicEnds
from events.ids import ClusterUid
from planner.observed import TopicPartition

FAILOVER_COPY: Final = "failover-copy"
"""Kind of the rows; each is kept under the uid of its pair, where other rows have a cluster's."""

IS_YOUNG_FOR: Final = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class CopyRow:
    """What became of the last look. `of`: what it was of (`copy_of`). `problem`: why something of the rest, which is as
    in `PairSeen`, is not known; "" where it is."""

    of: str
    copy: CopySeen | None = None
    seeds: Mapping[str, int] | None = None
    aligned: Mapping[str, int] | None = None
    ends: Mapping[str, TopicEnds] | None = None
    only_there: Mapping[str, int] | None = None
    problem: str = ""


_ROW: Final = TypeAdapter(CopyRow)


def copy_of(view: PairView) -> str:
    """The flow, whether it is in hand, the order and its step."""
    order = f"{view.order.id} {view.state}" if view.order is not None else "-"
    return f"{view.flows} {'on' if view.flow is not None else 'off'} {view.standby} {order}"


def copy_row(latest: LatestStore, view: PairView, now: datetime) -> CopyRow | None:
    """What was found of it as it is now, and lately; None where that is not known. Raises StoreUnavailable."""
    found = latest.get(_subject(view.uid))
    row = read_as(_ROW, found) if found is not None else None
    if found is None or row is None or row.of != copy_of(view):
        return None
    return row if abs(now - found.observed_at) <= IS_YOUNG_FOR else None


def keep_copy(latest: LatestStore, uid: str, row: CopyRow, *, source: str, now: datetime) -> None:
    """Writes it down as seen now. Raises StoreUnavailable."""
    value: dict[str, Any] = _ROW.dump_python(row, mode="json")
    latest.put(LatestValue(_subject(uid), value, source=source, observed_at=now))


def findings_of(latest: LatestStore, view: PairView) -> FlowFindings:
    """What earlier looks at the flow in hand found, of whichever server. Raises StoreUnavailable."""
    found = latest.get(_subject(view.uid, "flow"))
    row = read_as(_FLOW, found) if found is not None else None
    if row is None or row.flow != view.flows:
        return NOTHING_FOUND
    gaps = {_partition(name): count for name, count in row.gaps.items()}
    return FlowFindings(gaps, frozenset(map(_partition, row.remade)), row.ids, frozenset(row.anew))


def keep_findings(latest: LatestStore, view: PairView, found: FlowFindings, *, source: str, now: datetime) -> None:
    """Writes them down: a server that begins anew knows them still. Raises StoreUnavailable."""
    gaps = {str(p): count for p, count in found.gaps.items()}
    row = _FlowRow(view.flows, gaps, tuple(sorted(map(str, found.remade))), found.ids, tuple(sorted(found.anew)))
    value: dict[str, Any] = _FLOW.dump_python(row, mode="json")
    latest.put(LatestValue(_subject(view.uid, "flow"), value, source=source, observed_at=now))


@dataclass(frozen=True, slots=True)
class _FlowRow:
    """FlowFindings of one flow; partitions as words (`orders-0`)."""

    flow: int
    gaps: Mapping[str, int]
    remade: tuple[str, ...]
    ids: Mapping[str, tuple[str, str]]
    anew: tuple[str, ...]


_FLOW: Final = TypeAdapter(_FlowRow)


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def _subject(uid: str, name: str = "copy") -> Subject:
    return Subject(FAILOVER_COPY, ClusterUid(uid), name)
