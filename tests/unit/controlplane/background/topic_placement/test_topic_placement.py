"""Placements of topics: written where something changed, read by servers that do not read Kafka, with their age."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from controlplane.background.topic_placement.packed import hash_of, packed, shape_of, text_of, unpacked
from controlplane.background.topic_placement.reconciler import READINGS, SIZES, PlacementReconciler
from controlplane.background.topic_placement.snapshot import RecordedPlacements
from controlplane.background.topic_placement.store import TopicRecord
from controlplane.cluster.view import ClusterView
from controlplane.storage.latest_values import LatestValue, Subject
from events.errors import StoreUnavailable
from events.ids import ClusterUid, Epoch
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from tests.builders import NOW, a_partition, a_snapshot
from tests.changed_view import changed_view
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.placements import MemoryPlacementStore

UID, FIRST = ClusterUid("c1"), Epoch(1)


@dataclass
class Writes(MemoryPlacementStore):
    """Counts what is written, and may be away."""

    written: list[str] = field(default_factory=list)
    is_away: bool = False

    def __post_init__(self) -> None:
        MemoryPlacementStore.__init__(self)

    def keep(self, uid: ClusterUid, changed: Sequence[TopicRecord], gone: Collection[str], at: datetime) -> None:
        if self.is_away:
            raise StoreUnavailable("disk full")
        self.written += [r.topic for r in changed] + [f"-{topic}" for topic in sorted(gone)]
        super().keep(uid, changed, gone, at)


@dataclass
class Server:
    """One server over stores that all of them share. It reads Kafka by `reads`."""

    store: Writes = field(default_factory=Writes)
    latest: MemoryLatestStore = field(default_factory=MemoryLatestStore)
    epoch: Epoch | None = FIRST
    now: datetime = NOW
    seen: dict[ClusterUid, KafkaSnapshot] = field(default_factory=dict)
    gone: set[ClusterUid] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.reconciler = PlacementReconciler(self, self.store, self.latest, lambda: self.epoch)
        self.recorded = RecordedPlacements(self.store, self.latest, lambda: self.now)

    def views(self) -> list[ClusterView]:
        return [changed_view(ClusterView(uid=uid), deleted=uid in self.gone) for uid in self.seen]

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return self.seen.get(uid)

    def reads(self, *partitions: PartitionSeen, s: float = 0) -> list[str]:
        """Reads Kafka so many seconds later; returns what was written by it."""
        self.now = NOW + timedelta(seconds=s)
        self.seen[UID] = a_snapshot(*partitions, at=self.now)
        return self.polls()

    def polls(self) -> list[str]:
        before = len(self.store.written)
        self.reconciler.poll()
        return self.store.written[before:]

    def beside(self, epoch: Epoch | None = None) -> "Server":
        """Another server of the installation, which has not read Kafka."""
        return Server(self.store, self.latest, epoch, self.now)


def told(server: Server) -> dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]]:
    snapshot = server.recorded.of(UID)
    assert snapshot is not None
    return {str(p.name): (p.leader, p.replicas, p.isr) for p in snapshot.partitions}


def sizes(server: Server) -> dict[str, int | None]:
    snapshot = server.recorded.of(UID)
    assert snapshot is not None
    return {str(p.name): snapshot.bytes_of(p) for p in snapshot.partitions}


def sized(name: str, size: int) -> PartitionSeen:
    return replace(a_partition(name), size_bytes=size)


def unsized(name: str) -> PartitionSeen:
    """No broker has told how large it is."""
    return replace(a_partition(name, (1007, 1008)), size_bytes=0)


def readings_of(server: Server) -> list[LatestValue]:
    """A look whose rows are those of the store."""
    told = {"cluster_id": "x", "written_at": "1", "sized_at": "1"}
    return [LatestValue(Subject(READINGS, UID, "topics"), told, "kafka", server.now)]


MOVED = a_partition("a-1", (1001, 1002), isr=(1001,), adding=(1002,), removing=(1000,), min_isr=1)


def test_a_server_that_never_read_kafka_tells_partitions_and_how_old_the_look_is() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"), MOVED, a_partition("b-0"))
    other = leader.beside()
    other.now = NOW + timedelta(minutes=3)
    snapshot = other.recorded.of(UID)
    assert snapshot is not None
    assert snapshot.at == NOW
    assert snapshot.by_name[MOVED.name] == MOVED
    assert [str(p.name) for p in snapshot.partitions] == ["a-0", "a-1", "b-0"]
    assert (snapshot.brokers, snapshot.log_dirs) == ({}, {})


def test_sizes_are_recorded_every_ten_minutes_and_told_with_an_age_of_their_own() -> None:
    leader = Server()
    empty = replace(a_partition("b-0"), size_bytes=0, leader_bytes=0)
    leader.reads(sized("a-0", 1000), empty, unsized("c-0"))
    reader = leader.beside()
    assert sizes(reader) == {"a-0": 1000, "b-0": 0, "c-0": None}
    leader.reads(sized("a-0", 2000), empty, unsized("c-0"), s=599)
    reader.now = NOW + timedelta(seconds=605)
    assert sizes(reader)["a-0"] == 1000
    snapshot = reader.recorded.of(UID)
    assert snapshot is not None
    assert (snapshot.at, snapshot.sizes_at) == (NOW + timedelta(seconds=599), NOW)
    assert leader.reads(sized("a-0", 3000), empty, sized("d-0", 1), s=600) == ["d", "-c"]
    reader.now = NOW + timedelta(seconds=611)
    assert sizes(reader) == {"a-0": 3000, "b-0": 0, "d-0": 1}


def test_a_new_leader_records_sizes_at_its_first_look() -> None:
    leader = Server()
    leader.reads(sized("a-0", 1000))
    leader.beside(Epoch(2)).reads(sized("a-0", 5000), s=60)
    late = leader.beside()
    late.now = NOW + timedelta(seconds=66)
    assert sizes(late) == {"a-0": 5000}


def test_sizes_nobody_can_read_are_unknown_and_hide_no_topic() -> None:
    leader = Server()
    leader.reads(sized("a-0", 1000))
    for broken in ("", "no base64!", "bm8gemxpYg=="):
        rows = [LatestValue(Subject(SIZES, UID, "topics"), {"sizes": broken}, "kafka", NOW + timedelta(seconds=1))]
        leader.latest = MemoryLatestStore()
        leader.latest.put_all([*readings_of(leader), *rows])
        reader = leader.beside()
        assert sizes(reader) == {"a-0": None}, broken
        snapshot = reader.recorded.of(UID)
        assert snapshot is not None
        assert snapshot.sizes_at is None


def test_a_look_that_finds_everything_where_it_was_writes_no_topic_and_a_newer_age() -> None:
    leader = Server()
    assert leader.reads(a_partition("a-0"), a_partition("b-0")) == ["a", "b"]
    grown = replace(a_partition("a-0"), size_bytes=10**9, leader_bytes=10**9)
    assert leader.reads(grown, a_partition("b-0"), s=60) == []
    snapshot = leader.beside().recorded.of(UID)
    assert snapshot is not None
    assert snapshot.at == NOW + timedelta(seconds=60)


def test_one_topic_that_changed_is_one_row_and_one_that_went_is_taken_out() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"), a_partition("b-0"), a_partition("c-0"))
    assert leader.reads(a_partition("a-0"), a_partition("b-0", leader=1002), s=60) == ["b", "-c"]
    assert told(leader.beside()) == {
        "a-0": (1000, (1000, 1001, 1002), (1000, 1001, 1002)),
        "b-0": (1002, (1000, 1001, 1002), (1000, 1001, 1002)),
    }


def test_without_a_new_look_nothing_is_worked_out() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"))
    leader.store.is_away = True
    assert leader.polls() == []


def test_a_server_that_has_just_started_writes_only_what_is_not_written() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"), a_partition("b-0"), a_partition("c-0"))
    again = leader.beside(Epoch(2))
    assert again.reads(a_partition("a-0"), a_partition("b-0", leader=1001), s=60) == ["b", "-c"]


def test_who_leads_again_does_not_believe_what_it_wrote_before_another_one_led() -> None:
    first = Server()
    first.reads(a_partition("a-0"))
    second = first.beside(Epoch(2))
    second.reads(a_partition("a-0", leader=1001), s=60)
    first.epoch = Epoch(3)
    assert first.reads(a_partition("a-0"), s=120) == ["a"]
    assert told(first.beside())["a-0"][0] == 1000


def test_who_does_not_lead_writes_nothing() -> None:
    server = Server(epoch=None)
    assert server.reads(a_partition("a-0")) == []
    assert server.recorded.of(UID) is None


def test_what_could_not_be_written_is_written_by_the_next_round() -> None:
    leader = Server()
    leader.store.is_away = True
    with pytest.raises(StoreUnavailable):
        leader.reads(a_partition("a-0"))
    leader.store.is_away = False
    assert leader.polls() == ["a"]


def test_a_reader_sees_a_change_after_five_seconds_and_reads_rows_only_then() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"))
    reader = leader.beside()
    first = reader.recorded.of(UID)
    leader.reads(a_partition("a-0", leader=1001), s=1)
    assert reader.recorded.of(UID) is first
    reader.now = NOW + timedelta(seconds=6)
    assert told(reader)["a-0"][0] == 1001
    leader.reads(a_partition("a-0", leader=1001), s=60)
    before = reader.recorded.of(UID)
    reader.now = NOW + timedelta(seconds=66)
    after = reader.recorded.of(UID)
    assert before is not None
    assert after is not None
    assert after.at == NOW + timedelta(seconds=60)
    assert after.partitions is before.partitions, "no row was written, so none was read"


def test_of_a_cluster_where_one_topic_changed_the_others_are_not_unpacked_again() -> None:
    leader = Server()
    leader.reads(unsized("a-0"), unsized("b-0"), unsized("c-0"))
    reader = leader.beside()
    before = reader.recorded.of(UID)
    leader.reads(unsized("a-0"), replace(unsized("b-0"), leader=1001), s=60)
    reader.now = NOW + timedelta(seconds=66)
    after = reader.recorded.of(UID)
    assert before is not None
    assert after is not None
    assert [(str(p.name), p.leader) for p in after.partitions] == [("a-0", 1007), ("b-0", 1001)]
    assert after.partitions[0] is before.partitions[0]


def test_what_the_leader_before_wrote_and_told_nobody_is_told_by_the_next_one() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"))
    reader = leader.beside()
    reader.recorded.of(UID)
    moved = a_partition("a-0", leader=1001)
    text = text_of([moved])
    leader.store.keep(UID, [TopicRecord("a", hash_of(text), packed(text), NOW + timedelta(seconds=60))], (), NOW)
    again = leader.beside(Epoch(2))
    assert again.reads(moved, s=120) == []
    reader.now = NOW + timedelta(seconds=126)
    assert told(reader)["a-0"][0] == 1001


def test_a_cluster_that_was_deleted_leaves_nothing_behind() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"))
    leader.gone.add(UID)
    leader.polls()
    assert leader.store.clusters() == frozenset()
    later = leader.beside(Epoch(2))
    later.gone.add(UID)
    leader.store.keep(UID, [TopicRecord("a", "", b"", NOW)], (), NOW)
    later.seen[UID] = a_snapshot()
    later.polls()
    assert leader.store.clusters() == frozenset(), "of one that was deleted while another server led, too"


def test_a_row_nobody_can_read_hides_its_topic_alone() -> None:
    leader = Server()
    leader.reads(a_partition("a-0"), a_partition("b-0"))
    leader.store.keep(UID, [TopicRecord("a", "", b"no zlib", NOW)], (), NOW)
    assert list(told(leader.beside())) == ["b-0"]


ids = st.integers(-1, 2**31 - 1)
lists = st.lists(ids, max_size=5).map(tuple)


@given(st.lists(st.tuples(ids, lists, lists, lists, lists, ids, ids), min_size=1, max_size=6))
def test_whatever_is_packed_is_unpacked_and_one_change_is_another_shape_and_hash(rows: list[Any]) -> None:
    parts = [
        PartitionSeen(TopicPartition("t", n), leader, replicas, isr, min_isr, adding, removing, 0, configured)
        for n, (leader, replicas, isr, adding, removing, min_isr, configured) in enumerate(rows)
    ]
    text = text_of(parts)
    assert unpacked("t", packed(text)) == tuple(parts)
    other = [replace(parts[0], isr=(*parts[0].isr, 7)), *parts[1:]]
    assert (shape_of(parts), hash_of(text)) != (shape_of(other), hash_of(text_of(other)))
    assert shape_of(parts) == shape_of([replace(p, size_bytes=5, leader_bytes=5) for p in parts])


@pytest.mark.parametrize("data", [b"", b"no zlib", packed(b"{}"), packed(b'{"form":2,"partitions":[]}'), packed(b"[")])
def test_bytes_that_make_no_sense_are_no_partitions(data: bytes) -> None:
    assert unpacked("t", data) is None


def test_bytes_that_were_cut_off_are_no_partitions() -> None:
    assert unpacked("t", packed(text_of([a_partition("t-0")]))[:-6]) is None
