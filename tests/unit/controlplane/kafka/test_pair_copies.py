"""Records out of what brokers send, MirrorMaker's own records, and looks that are cut short."""

import gzip
import random
import struct
from collections.abc import Sequence

import pyarrow as pa
import pytest
from kafka.record.memory_records import MemoryRecordsBuilder

from agent.services import mirror_maker
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.pair_copies.batches import UnreadableBatch, stretch_of
from controlplane.kafka.pair_copies.log_edge import LogRecord, UnreadableRecords
from controlplane.kafka.pair_copies.offset_records import offset_of, offsets_partition, partition_of, seed_records
from controlplane.kafka.pair_copies.values import FlowEnd, FlowEnds, TailMatch
from planner.observed import TopicPartition
from tests.fakes.pair_logs import FakePairLogs, MemoryCluster

P = TopicPartition("pay.ments", 3)
HEAD = 61


def batch(first: int, values: Sequence[bytes], *, codec: int = 0, is_control: bool = False, stamped: int = 0) -> bytes:
    builder = MemoryRecordsBuilder(2, 0, 1 << 20)
    for n, value in enumerate(values):
        builder.append(1000 + n, b"k", value, [("h", None), ("i", b"1")])
    builder.close()
    made = bytearray(builder.buffer())
    body = packed(codec, bytes(made[HEAD:]))
    attributes = codec | (0x20 if is_control else 0) | stamped
    struct.pack_into(">q", made, 0, first)
    struct.pack_into(">i", made, 8, HEAD - 12 + len(body))
    struct.pack_into(">h", made, 21, attributes)
    return bytes(made[:HEAD]) + body


def packed(codec: int, body: bytes) -> bytes:
    if codec == 1:
        return gzip.compress(body)
    if codec == 2:
        return bytes(pa.compress(body, codec="snappy", asbytes=True))
    if codec in (3, 4):
        return bytes(pa.compress(body, codec="lz4" if codec == 3 else "zstd", asbytes=True))
    return body


def java_snappy(body: bytes) -> bytes:
    """As Java's `SnappyOutputStream`: a head, then blocks with their sizes."""
    halves = (body[: len(body) // 2], body[len(body) // 2 :])
    blocks = [bytes(pa.compress(half, codec="snappy", asbytes=True)) for half in halves]
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


def record(offset: int, value: bytes, at_ms: int = 1000) -> LogRecord:
    return LogRecord(offset, at_ms, b"k", value, (("h", None), ("i", b"1")))


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_records_are_read_whatever_they_were_packed_with(codec: int) -> None:
    found = stretch_of(batch(7, [b"a" * 500, b"b"], codec=codec), 7)
    assert found is not None
    assert (found.first, found.next) == (7, 9)
    assert found.records == (record(7, b"a" * 500), record(8, b"b", 1001))


def test_snappy_of_java_is_read() -> None:
    plain = batch(7, [b"a" * 500, b"b"])
    body = java_snappy(plain[HEAD:])
    content = bytearray(plain[:HEAD])
    struct.pack_into(">i", content, 8, HEAD - 12 + len(body))
    struct.pack_into(">h", content, 21, 2)
    found = stretch_of(bytes(content) + body, 7)
    assert found is not None
    assert [r.value for r in found.records] == [b"a" * 500, b"b"]


def test_markers_are_no_records_and_take_offsets() -> None:
    found = stretch_of(batch(0, [b"a"]) + batch(1, [b"commit"], is_control=True), 0)
    assert found is not None
    assert (found.records, found.first, found.next) == ((record(0, b"a"),), 0, 2)


def test_what_is_cut_off_at_the_end_is_left_out_and_a_first_one_is_nothing() -> None:
    whole, second = batch(0, [b"a"]), batch(1, [b"b"])
    found = stretch_of(whole + second[:-1], 0)
    assert found is not None
    assert found.next == 1
    assert stretch_of(whole[:-1], 0) is None
    assert stretch_of(b"", 5) is not None


def test_a_batch_begins_before_the_offset_that_was_asked_for() -> None:
    found = stretch_of(batch(4, [b"a", b"b", b"c"]), 6)
    assert found is not None
    assert (found.first, found.next, len(found.records)) == (4, 7, 3)


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:HEAD] + b"\xff" * (len(b) - HEAD), lambda b: b[:16] + b"\x01" + b[17:]], ids=["body", "old"]
)
@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_what_cannot_be_read_is_no_record(spoil, codec: int) -> None:
    with pytest.raises(UnreadableBatch):
        stretch_of(spoil(batch(0, [b"a" * 50, b"b"], codec=codec)), 0)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_that_would_fill_the_memory_is_not_opened(codec: int) -> None:
    plain = batch(0, [b"a"])
    body = packed(codec, b"a" * (65 << 20))
    content = bytearray(plain[:HEAD])
    struct.pack_into(">i", content, 8, HEAD - 12 + len(body))
    struct.pack_into(">h", content, 21, codec)
    with pytest.raises(UnreadableBatch, match="holds"):
        stretch_of(bytes(content) + body, 0)


def test_a_codec_that_is_not_known_is_named() -> None:
    with pytest.raises(UnreadableBatch, match="not known \\(5\\)"):
        stretch_of(batch(0, [b"a"], codec=5), 0)


def test_times_that_a_log_sets_itself_are_not_compared() -> None:
    stamped = stretch_of(batch(0, [b"a"], stamped=0x08), 0)
    assert stamped is not None
    assert stamped.records[0].is_copy_of(record(3, b"a", 77))
    assert not record(0, b"a").is_copy_of(record(3, b"a", 77))
    assert not stamped.records[0].is_copy_of(record(3, b"b", 77))


# --- MirrorMaker's records ------------------------------------------------------------------------------------------


def test_seeds_are_written_as_the_agents_mirror_maker_reads_them() -> None:
    seeds = {P: 7, TopicPartition("a", 0): 0}
    ends = {(p.topic, p.partition): end for p, end in seeds.items()}
    assert seed_records("eu-1", seeds) == list(mirror_maker.start_after("eu-1", ends))
    assert offsets_partition("eu-1") == TopicPartition(mirror_maker.offsets_topic("eu-1"), 0)


def test_what_is_written_is_read() -> None:
    ((key, value),) = seed_records("eu-1", {P: 7})
    assert key == b'["MirrorSourceConnector",{"cluster":"eu-1","partition":3,"topic":"pay.ments"}]'
    assert (partition_of("eu-1", key), offset_of(value)) == (P, 6)
    assert partition_of("us-1", key) is None


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff", b"[]", b'["MirrorSourceConnector",{"cluster":"eu-1"}]'])
def test_what_is_no_offset_is_none(content: bytes | None) -> None:
    assert partition_of("eu-1", content) is None
    assert offset_of(content) is None


# --- looks ----------------------------------------------------------------------------------------------------------

FLOW = FlowEnds(FlowEnd("eu", ("e:1",)), FlowEnd("us", ("u:1",)), 1)


@pytest.fixture
def pair() -> tuple[MemoryCluster, MemoryCluster, FakePairLogs]:
    eu, us = MemoryCluster("eu"), MemoryCluster("us")
    for cluster in (eu, us):
        cluster.create_topic("t", 4)
    return eu, us, FakePairLogs(eu, us)


T = TopicPartition("t", 0)


def test_between_looks_only_new_offsets_are_read(pair) -> None:
    _, us, logs = pair
    logs.write_seeds(FLOW, {T: 5})
    us.append(offsets_partition("eu"), seed_records("eu", dict.fromkeys([T], 9)) * 50)
    assert logs.positions(FLOW, ["t"]).committed == {T: 8}
    read = us.read_records
    us.append(offsets_partition("eu"), seed_records("eu", {T: 11}))
    assert logs.positions(FLOW, ["t"]).committed == {T: 10}
    assert us.read_records == read + 1


def test_offsets_are_read_anew_once_their_log_ends_earlier(pair) -> None:
    _, us, logs = pair
    logs.write_seeds(FLOW, {T: 5, TopicPartition("t", 1): 6})
    assert len(logs.positions(FLOW, ["t"]).committed) == 2
    log = us.logs[offsets_partition("eu")]
    log.end, log.records = 1, {0: log.records[0]}
    assert logs.positions(FLOW, ["t"]).committed == {T: 4}


def test_offsets_that_cannot_be_read_to_their_end_are_not_told(pair) -> None:
    _, us, logs = pair
    logs.write_seeds(FLOW, {T: 5})
    us.append(offsets_partition("eu"), seed_records("eu", {T: 9}))
    us.unread[offsets_partition("eu")] = "broker 1 did not answer"
    with pytest.raises(KafkaUnavailable, match="broker 1 did not answer"):
        logs.positions(FLOW, ["t"])


@pytest.mark.parametrize("silent", ["eu", "us"])
def test_with_one_cluster_alone_nothing_is_told(pair, silent: str) -> None:
    eu, us, logs = pair
    (eu if silent == "eu" else us).is_silent = True
    for ask in (
        lambda: logs.positions(FLOW, ["t"]),
        lambda: logs.read_tails(FLOW, [T]),
        lambda: logs.seed_positions(FLOW.back, [T]),
        lambda: logs.groups_to_align(FLOW, ["t"], []),
        lambda: logs.align(FLOW, ["t"], ["billing"]),
    ):
        with pytest.raises(KafkaUnavailable):
            ask()


def test_seeds_that_a_replicator_writes_over_are_refused(pair) -> None:
    _, us, logs = pair

    class Overwriting(MemoryCluster):
        def append(self, partition, records) -> None:
            super().append(partition, [*records, *seed_records("eu", {T: 2})])

    logs.clusters["us"] = Overwriting("us", logs=us.logs, ids=us.ids)
    with pytest.raises(KafkaUnavailable, match="is not what was written"):
        logs.write_seeds(FLOW, {T: 5})


def test_a_topic_of_offsets_with_more_partitions_is_refused(pair) -> None:
    _, us, logs = pair
    us.create_topic(offsets_partition("eu").topic, 2)
    with pytest.raises(KafkaRefused):
        logs.write_seeds(FLOW, {T: 5})


@pytest.mark.parametrize("markers", [0, 1, 2, 7, 100])
def test_the_last_record_is_found_behind_markers(pair, markers: int) -> None:
    eu, us, logs = pair
    for cluster in (eu, us):
        for n in range(20):
            cluster.logs[T].append(record(0, b"%d" % n))
    for _ in range(markers):
        eu.logs[T].mark()
    found = logs.read_tails(FLOW, [T])[T]
    assert (found.match, found.source_offset, found.source_end) == (TailMatch.SAME, 19, 20 + markers)


def test_a_log_of_markers_alone_holds_no_record(pair) -> None:
    eu, _, logs = pair
    for _ in range(50):
        eu.logs[T].mark()
    eu.logs[T].trim(10)
    assert logs.read_tails(FLOW, [T])[T].match is TailMatch.EMPTY
    assert logs.seed_positions(FlowEnds(FLOW.target, FLOW.source), [T]) == {T: None}


def test_an_end_that_cannot_be_read_is_unknown_and_its_neighbours_are_not(pair) -> None:
    eu, us, logs = pair
    other = TopicPartition("t", 1)
    for cluster in (eu, us):
        for p in (T, other):
            cluster.logs[p].append(record(0, b"x"))
    us.unread[T] = "it has no leader"
    found = logs.read_tails(FLOW, [T, other])
    assert (found[T].match, found[T].why) == (TailMatch.UNKNOWN, "of the target: it has no leader")
    assert found[other].match is TailMatch.SAME


@pytest.mark.parametrize("side", ["eu", "us"])
def test_a_place_that_could_not_be_looked_for_is_not_told_as_not_found(pair, side: str) -> None:
    """What no look can ever read is: a person has to say, and a group begins where it was synced."""
    eu, us, logs = pair
    other = TopicPartition("t", 1)
    for cluster in (eu, us):
        for n in range(4):
            cluster.logs[T].append(record(0, b"%d" % n))
            cluster.logs[other].append(record(0, b"%d" % n))
    logs.clusters[side].unread[T] = "broker 1 did not answer"
    with pytest.raises(KafkaUnavailable, match="broker 1 did not answer"):
        logs.seed_positions(FLOW.back, [T, other])
    logs.clusters[side].unread[T] = UnreadableRecords("an old format")
    assert logs.seed_positions(FLOW.back, [T, other]) == {T: None, other: 4}


def test_a_pattern_of_groups_that_is_none_is_named(pair) -> None:
    with pytest.raises(ValueError, match="no pattern of groups"):
        pair[2].groups_to_align(FLOW, ["t"], ["("])


@pytest.mark.parametrize("seed", range(30))
def test_no_group_skips_a_record_however_the_copy_came_about(seed: int) -> None:
    """A copy with records twice, markers at the source, and a source whose beginning is gone."""
    chance, eu, us = random.Random(seed), MemoryCluster("eu"), MemoryCluster("us")
    for cluster in (eu, us):
        cluster.create_topic("t", 1)
    source, target = eu.logs[T], us.logs[T]
    for n in range(40):
        source.append(LogRecord(0, 1000 + n // 3, None, b"%d" % n))
        if seed % 2 and chance.random() < 0.2:
            source.mark()
    source.trim(chance.randrange(10))
    data = [r for _, r in sorted(source.records.items())]
    for n, one in enumerate(data):
        target.append(one)
        if chance.random() < 0.1:
            for again in data[max(0, n - 3) : n + 1]:
                target.append(again)
    for n in range(12):
        committed = {T: chance.randrange(source.first, source.end + 1)}
        eu.commit(f"g-{n}", committed)
    logs = FakePairLogs(eu, us)
    again = logs.align(FLOW, ["t"], logs.groups_to_align(FLOW, ["t"], []))
    for n in range(12):
        group = f"g-{n}"
        place, committed_at = us.known_groups[group].committed[T], eu.known_groups[group].committed[T]
        unread = [r.value for o, r in sorted(source.records.items()) if o >= committed_at]
        to_read = [r.value for o, r in sorted(target.records.items()) if o >= place]
        assert set(unread) <= set(to_read)
        if seed % 2 == 0:  # markers among the unread hide as many
            assert len(to_read) - len(unread) == again[group]
        assert unread[:1] == to_read[:1]
