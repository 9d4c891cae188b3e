"""Reports that are kept together: none keeps out another, and none is lost while the database is away."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from agent.wire import Report, UnchangedReport
from controlplane.api.report_buffer import ReportBuffer
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, reports_of
from controlplane.cluster.observed.report_pace import AT_REST
from controlplane.runtime.process_errors import Troubles
from controlplane.storage.latest_values import LatestValue, Renewal
from events.errors import StoreUnavailable
from events.ids import ClusterUid
from tests.fakes.latest_values import MemoryLatestStore

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
UID = ClusterUid("c1")


def _report(seq: int, *, boot: str = "b1", node: str = "broker-0") -> Report:
    return Report(
        cluster_uid=UID,
        node=node,
        generation=1,
        boot_id=boot,
        seq=seq,
        at=NOW,
        agent_version="1",
        epoch=1,
        services=(),
    )


class Store(MemoryLatestStore):
    """`calls` are the numbers of rows that came at once; it takes no row of the subjects in `refuses`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []
        self.is_away = False
        self.refuses: set[str] = set()

    def put_all(self, observations: Sequence[LatestValue]) -> int:
        if self.is_away:
            raise StoreUnavailable("it is away")
        self.calls.append(len(observations))
        if self.refuses & {one.subject.name for one in observations}:
            raise ValueError("unsupported Unicode escape sequence")
        return super().put_all(observations)

    def put(self, observation: LatestValue) -> bool:
        if observation.subject.name in self.refuses:
            raise ValueError("unsupported Unicode escape sequence")
        return super().put(observation)

    def renew_all(self, renewals: Sequence[Renewal]) -> int:
        if self.refuses & {one.subject.name for one in renewals}:
            raise ValueError("strings cannot contain NUL")
        return super().renew_all(renewals)


def _put(buffer: ReportBuffer, seq: int, key: str = "broker-0.g1", *, boot: str = "b1", wakes: bool = False) -> bool:
    return buffer.put(UID, key, _report(seq, boot=boot), NOW + timedelta(seconds=seq), wakes=wakes)


async def _kept_after(buffer: ReportBuffer, *seqs: int) -> list[bool]:
    answers = [_put(buffer, seq, f"broker-{seq}.g1", wakes=True) for seq in seqs]
    while buffer._keeping is not None and not buffer._keeping.done():
        await asyncio.sleep(0)
    return answers


def test_what_comes_within_a_moment_is_one_transaction() -> None:
    store, woken = Store(), list[str]()
    buffer = ReportBuffer(store, woken.append, every_s=0.001, troubles=Troubles())
    assert asyncio.run(_kept_after(buffer, 1, 2, 3)) == [True, True, True]
    assert (store.calls, woken) == ([3], [UID])
    assert len(reports_of(store, UID)) == 3


def test_a_cluster_is_woken_once_its_report_is_there_to_be_read() -> None:
    store = Store()
    there: list[int] = []
    buffer = ReportBuffer(store, lambda uid: there.append(len(reports_of(store, ClusterUid(uid)))), every_s=0)
    _put(buffer, 1, wakes=True)
    assert there == [1]


def test_it_says_what_is_news() -> None:
    buffer = ReportBuffer(Store(), lambda _: None, every_s=0)
    sent = [("b1", 9), ("b1", 9), ("b1", 8), ("b2", 1), ("b1", 10), ("b2", 2)]
    assert [_put(buffer, seq, boot=boot) for boot, seq in sent] == [True, False, False, True, False, True]


def test_nothing_is_lost_while_the_database_is_away_and_newer_ones_win() -> None:
    store, woken = Store(), list[str]()
    buffer = ReportBuffer(store, woken.append, every_s=0)
    store.is_away = True
    with pytest.raises(StoreUnavailable):
        _put(buffer, 1, wakes=True)
    with pytest.raises(StoreUnavailable):
        _put(buffer, 2)
    assert buffer.is_failing
    assert woken == []
    store.is_away = False
    buffer.keep()
    assert not buffer.is_failing
    assert woken == [UID]
    (row,) = store.of_cluster(UID, AGENT_REPORT)
    assert row.seq == 2


def test_a_report_that_no_database_takes_keeps_out_nobody_elses() -> None:
    store = Store()
    store.refuses = {"broker-2.g1"}
    buffer = ReportBuffer(store, lambda _: None, every_s=0.001, troubles=Troubles())
    asyncio.run(_kept_after(buffer, 1, 2, 3))
    assert sorted(reports_of(store, UID)) == ["broker-1.g1", "broker-3.g1"]
    assert not buffer.is_failing


def _stands(buffer: ReportBuffer, seq: int, key: str = "broker-0.g1", digest: str = "runs") -> bool:
    told = UnchangedReport(wire=1, cluster_uid=UID, node="broker-0", generation=1, boot_id="b1", seq=seq, digest=digest)
    return buffer.renew(UID, key, told, NOW + timedelta(seconds=seq), AT_REST)


def _put_at_rest(buffer: ReportBuffer, seq: int, digest: str = "runs", key: str = "broker-0.g1") -> None:
    told = _report(seq).model_copy(update={"digest": digest})
    assert buffer.put(UID, key, told, NOW, wakes=False, pace=AT_REST)


def test_what_stands_renews_nothing_else_that_another_server_took_in_and_is_asked_for_whole() -> None:
    """The other one died before it kept the last report, of which it had said that it had it."""
    store = MemoryLatestStore()
    one, other = (ReportBuffer(store, lambda uid: None, every_s=0) for _ in range(2))
    _put_at_rest(one, 1)
    _put_at_rest(other, 2, "failed")
    assert _stands(one, 4)
    (kept,) = reports_of(store, UID).values()
    assert (kept.report.digest, kept.received_at) == ("failed", NOW), "it was not heard again"
    assert not _stands(one, 5)
    _put_at_rest(one, 6)
    assert _stands(one, 7)
    assert reports_of(store, UID)["broker-0.g1"].received_at == NOW + timedelta(seconds=7)


def test_a_report_that_stands_and_no_database_takes_keeps_out_nobody_elses() -> None:
    store = Store()

    async def all_stand() -> None:
        buffer = ReportBuffer(store, lambda uid: None)
        for key in ("a.g1", "bad.g1"):
            _put_at_rest(buffer, 1, key=key)
        buffer.keep()
        store.refuses = {"bad.g1"}
        assert all(_stands(buffer, 2, key) for key in ("a.g1", "bad.g1"))
        buffer.keep()
        assert [_stands(buffer, 3, key) for key in ("a.g1", "bad.g1")] == [True, False]
        if buffer._keeping is not None:
            buffer._keeping.cancel()

    asyncio.run(all_stand())
    assert reports_of(store, UID)["a.g1"].received_at == NOW + timedelta(seconds=2)
