"""Looks at the logs of both clusters of each warm pair, and does what asks for brokers: where a copy goes on is written
for the replicator before it starts, offsets of groups are set once all is copied. What was found is written down."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from controlplane.background.failovers.copying_work import CopyWork
from controlplane.background.rounds import Round
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, reports_by_key
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.copy_rows import CopyRow, copy_of, findings_of, keep_copy, keep_findings
from controlplane.fleet.failovers.copying import (
    CopyHistory,
    Tails,
    copy_seen,
    suspected_markers,
    undrained,
    with_look,
)
from controlplane.fleet.failovers.paired_topics import paired_topics
from controlplane.fleet.failovers.replicators import replicators_seen
from controlplane.fleet.failovers.seen import CopySeen, ReplicatorsSeen
from controlplane.fleet.failovers.state import PairCache, RegisteredPair
from controlplane.fleet.failovers.view import PairState, PairView
from controlplane.fleet.ports import PairedFleet
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.pair_copies.port import PairLogs
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import ClusterUid

_SOURCE = "copies"
_AT_REST_EVERY, _AT_WORK_EVERY, _HELD_EVERY = timedelta(seconds=5), timedelta(seconds=2), timedelta(0)
_HELD = (PairState.DRAINING, PairState.ALIGNING)
"""Producers wait for what is found."""
_NEVER = datetime.min.replace(tzinfo=UTC)

_log = logging.getLogger(__name__)

LogsOf = Callable[[ClusterView, ClusterView], PairLogs]
"""How the brokers of two clusters, as they are now, are asked."""


@dataclass(frozen=True, slots=True)
class _CopyFound:
    """What was found of one flow so far. `process`: the replicator behind whose start the tails were read; `of`: what
    the last look that was answered was of (`copy_of`)."""

    history: CopyHistory = field(default_factory=CopyHistory)
    tails: Tails = field(default_factory=dict)
    process: tuple[str, str, int] = ("", "", 0)
    of: str = ""


@dataclass(slots=True)
class CopyWatch:
    """`Polled` by the leader, as often as producers that are held may wait."""

    cache: PairCache
    fleet: PairedFleet
    logs: LogsOf
    latest: LatestStore
    leads: Callable[[], bool]
    clock: Clock
    threads: int = 0
    """Pairs that are looked at side by side: brokers that are gone keep a thread for seconds. 0: in the poll itself."""
    _known: dict[tuple[str, int], _CopyFound] = field(default_factory=dict)
    """By pair and flow."""
    _rows: dict[str, CopyRow] = field(default_factory=dict)
    _looked: dict[str, datetime] = field(default_factory=dict)
    _aligned: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    """By pair and what was found (`copy_of`), groups whose offsets are set, with what they read again."""
    _pool: ThreadPoolExecutor | None = None
    _looks: dict[str, Future[None]] = field(default_factory=dict)
    """By pair, the look that goes on, or was not asked for how it ended."""

    def poll(self) -> None:
        """One round over all warm pairs, without those that are still looked at. Raises StoreUnavailable,
        RoundIncomplete."""
        this_round = Round("copies of pairs")
        warm = [p for p in self.cache.pairs().living if p.view.is_warm and p.view.name and not p.view.stands_still]
        for pair in warm:
            now, look = self.clock(), self._looks.get(pair.uid)
            if look is not None and look.done():
                with this_round.apart(pair.name):
                    self._looks.pop(pair.uid).result()
            if pair.uid not in self._looks and now - self._looked.get(pair.uid, _NEVER) >= _pace_of(pair.view):
                self._looked[pair.uid] = now
                with this_round.apart(pair.name):
                    self._begin(pair)
        self._forget_others({pair.uid: pair.view.flows for pair in warm})
        this_round.close()

    def close(self) -> None:
        """Waits for the looks that go on, which are bounded."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _forget_others(self, flows: Mapping[str, int]) -> None:
        """Keeps what is of these pairs, and of the flow of each. Looks write meanwhile: each key is taken out alone."""
        for known in [key for key in list(self._known) if flows.get(key[0]) != key[1]]:
            self._known.pop(known, None)
        for aligned in [key for key in list(self._aligned) if key[0] not in flows]:
            self._aligned.pop(aligned, None)
        kept: tuple[dict[str, Any], ...] = (self._rows, self._looked, self._looks)
        for one in kept:
            for uid in [uid for uid in list(one) if uid not in flows]:
                one.pop(uid, None)

    def _begin(self, pair: RegisteredPair) -> None:
        if not self.threads:
            self._look(pair)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="copies")
        self._looks[pair.uid] = self._pool.submit(self._look, pair)

    def _look(self, pair: RegisteredPair) -> None:
        primary, standby = (self.fleet.view(ClusterUid(uid)) for uid in (pair.view.primary, pair.view.standby))
        if primary is None or standby is None or pair.view.declaration is None:
            return
        before, of = self._rows.get(pair.uid), copy_of(pair.view)
        row = before if before is not None and before.of == of else CopyRow(of)
        paired = paired_topics(pair.view.declaration.document, primary)
        partitions = {name: declared.partitions for name, declared in paired.items()}
        work = CopyWork(pair, primary, standby, partitions, self.logs(primary, standby), lambda: self._is_due(pair))
        try:
            row = replace(self._found(work, row), problem="")
        except KafkaFault as error:
            row = replace(row, copy=self._copy_of(work), problem=str(error))
        if row.problem and (before is None or before.problem != row.problem):
            _log.warning("the copy of the pair %s: %s", pair.name, row.problem)
        self._rows[pair.uid] = row
        keep_copy(self.latest, pair.uid, row, source=_SOURCE, now=self.clock())

    def _found(self, work: CopyWork, row: CopyRow) -> CopyRow:
        """Raises KafkaFault."""
        view = work.pair.view
        if view.order is not None and not view.order.planned:
            return self._ended(work, row)
        if view.flow is None and view.may_diverge:
            return row if row.only_there is not None else replace(row, only_there=work.only_there())
        if view.flow is None:
            is_over = row.seeds is None and not self._replicators(work).lacking
            return replace(row, seeds=work.seeds()) if is_over else row
        self._read(work)
        row = replace(row, copy=self._copy_of(work))
        is_due = view.state is PairState.ALIGNING and view.order is not None and view.order.aligns
        if not is_due or row.aligned is not None:
            return row
        done = self._aligned.setdefault((work.pair.uid, row.of), {})
        work.align(done)
        return replace(row, aligned=dict(done))

    def _ended(self, work: CopyWork, row: CopyRow) -> CopyRow:
        """How much was copied once nothing is any more. Of an unplanned order the primary is asked nothing: it may be
        gone, and each answer that does not come would be waited for."""
        order, is_known = work.pair.view.order, row.ends is not None
        stops = order is not None and order.replicator_stops and work.pair.view.flow is not None
        if not stops or is_known or self._replicators(work).lacking:
            return replace(row, copy=self._copy_of(work))
        return replace(row, copy=self._copy_of(work), ends=work.ends())

    def _is_due(self, pair: RegisteredPair) -> bool:
        now = self.cache.pairs().by_uid.get(pair.uid)
        return self.leads() and now is not None and copy_of(now.view) == copy_of(pair.view)

    def _read(self, work: CopyWork) -> None:
        """Ends of logs, and of those where nothing moves any more the last records."""
        if not work.topics:
            return
        view, process, now_of = work.pair.view, self._process_of(work), copy_of(work.pair.view)
        known = self._known.get((view.uid, view.flows)) or self._remembered(view)
        if known.process != process or (view.state is PairState.DRAINING and known.of != now_of):
            known = replace(known, process=process, tails={})  # each once while nobody gets in
        history = with_look(known.history, work.positions(), known.tails)
        if history.found != known.history.found:
            keep_findings(self.latest, view, history.found, source=_SOURCE, now=self.clock())
        known = self._known[view.uid, view.flows] = replace(known, history=history, of=now_of)
        asked = suspected_markers(history, known.tails)
        if view.state is PairState.DRAINING and history.last is not None:
            asked = undrained(history.last, known.tails)
        if asked:
            tails = {**known.tails, **work.tails(asked)}
            self._known[view.uid, view.flows] = replace(known, tails=tails)

    def _remembered(self, view: PairView) -> _CopyFound:
        """What a server of before found of the flow."""
        return _CopyFound(CopyHistory(found=findings_of(self.latest, view)))

    def _copy_of(self, work: CopyWork) -> CopySeen | None:
        if work.pair.view.flow is None:
            return None
        if not work.topics:
            return CopySeen(0.0, {}, {})
        known = self._known.get((work.pair.uid, work.pair.view.flows))
        if known is None:
            return None
        found = copy_seen(known.history, self.clock(), tails=known.tails)
        # What was read before this step began may be older than the last record that a client got in.
        return found if known.of == copy_of(work.pair.view) else replace(found, drained=None)

    def _replicators(self, work: CopyWork) -> ReplicatorsSeen:
        reports = reports_by_key(self.latest.of_cluster(work.standby.uid, AGENT_REPORT))
        return replicators_seen(work.pair, work.standby, reports, self.clock())

    def _process_of(self, work: CopyWork) -> tuple[str, str, int]:
        """Another one wherever a replicator was started anew."""
        key = work.pair.view.replicator_at
        seen = reports_by_key(self.latest.of_cluster(work.standby.uid, AGENT_REPORT)).get(key)
        report = seen.report.replicator if seen is not None else None
        return (key, report.start_id, report.pid) if report is not None else (key, "", 0)


def _pace_of(view: PairView) -> timedelta:
    if view.state in _HELD or (view.order is not None and not view.order.planned):
        return _HELD_EVERY
    return _AT_REST_EVERY if view.state is PairState.STANDBY and view.order is None else _AT_WORK_EVERY
