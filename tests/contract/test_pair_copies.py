"""What a pair's server is told of the copy between two clusters, in memory and of two real brokers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.pair_copies.offset_records import offsets_partition
from controlplane.kafka.pair_copies.values import LogExtent, TailMatch
from planner.observed import TopicPartition
from tests.contract.pair_copy_worlds import EU, US, FakeWorld, RealPair, RealWorld, World, Written

AT_MS = 1_790_000_000_000


@pytest.fixture(scope="module")
def real_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealPair]:
    pair = RealPair(tmp_path_factory.mktemp("pair"))
    yield pair
    pair.close()


@pytest.fixture(params=["fake", pytest.param("real", marks=[pytest.mark.kafka, pytest.mark.timeout(300)])])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    name = request.node.name.split("[")[0].removeprefix("test_")[:60]
    if request.param == "fake":
        yield FakeWorld(name)
        return
    real = RealWorld(request.getfixturevalue("real_pair"), name)
    yield real
    real.close()


@pytest.fixture
def p(world: World, request: pytest.FixtureRequest) -> TopicPartition:
    """A partition that both have."""
    return both(world, f"{request.node.name.split('[')[0][-100:]}")


def both(world: World, topic: str, *, compacted: bool = False) -> TopicPartition:
    for side in (EU, US):
        world.create_topic(side, topic, compacted=compacted)
    return TopicPartition(topic, 0)


def records(count: int, *, begin: int = 0) -> list[Written]:
    return [
        Written(b"v-%d" % n, b"k-%d" % n, AT_MS + n, (("trace", b"%d" % n), ("none", None)))
        for n in range(begin, begin + count)
    ]


def tail(world: World, p: TopicPartition) -> tuple[TailMatch, int | None, int | None, int | None]:
    found = world.logs.read_tails(world.flow(), [p])[p]
    return found.match, found.source_offset, found.target_offset, found.delta


def test_identical_logs_end_the_same_at_the_same_offset(world: World, p: TopicPartition) -> None:
    world.write(EU, p, records(10))
    world.write(US, p, records(10))
    seen = world.logs.positions(world.flow(), [p.topic])
    assert (seen.source, seen.target, seen.committed) == ({p: LogExtent(0, 10)}, {p: LogExtent(0, 10)}, {})
    assert tail(world, p) == (TailMatch.SAME, 9, 9, 0)


def test_logs_whose_offsets_differ_end_the_same_at_a_distance(world: World, p: TopicPartition) -> None:
    """A replicator that crashed copied two twice; retention took the beginning at the source."""
    world.write(EU, p, records(10))
    world.trim(EU, p, 4)
    world.write(US, p, [*records(8), *records(4, begin=6)])
    assert tail(world, p) == (TailMatch.SAME, 9, 11, 2)
    assert world.logs.positions(world.flow(), [p.topic]).source == {p: LogExtent(4, 10)}


@pytest.mark.parametrize(
    "other",
    [
        Written(b"other", b"k-9", AT_MS + 9, (("trace", b"9"), ("none", None))),
        Written(b"v-9", b"other", AT_MS + 9, (("trace", b"9"), ("none", None))),
        Written(b"v-9", b"k-9", AT_MS + 10, (("trace", b"9"), ("none", None))),
        Written(b"v-9", b"k-9", AT_MS + 9, (("trace", b"9"),)),
    ],
    ids=["value", "key", "time", "headers"],
)
def test_a_record_that_differs_in_anything_is_another(
    world: World, other: Written, request: pytest.FixtureRequest
) -> None:
    p = both(world, f"differs-{request.node.callspec.id}")
    world.write(EU, p, records(10))
    world.write(US, p, [*records(9), other])
    assert tail(world, p)[0] is TailMatch.DIFFERENT


def test_the_marker_of_a_transaction_is_no_record(world: World, p: TopicPartition) -> None:
    world.transact(EU, p, records(5))
    world.write(US, p, records(5))
    assert world.logs.positions(world.flow(), [p.topic]).source == {p: LogExtent(0, 6)}
    assert tail(world, p) == (TailMatch.SAME, 4, 4, 0)


def test_records_of_an_aborted_transaction_are_copied_too(world: World, p: TopicPartition) -> None:
    world.transact(EU, p, records(5), aborts=True)
    world.write(US, p, records(5))
    assert tail(world, p) == (TailMatch.SAME, 4, 4, 0)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_are_compared(world: World, codec: str) -> None:
    p = both(world, f"compressed-{codec}")
    world.write(EU, p, records(500), codec=codec)
    world.write(US, p, records(500))
    assert tail(world, p) == (TailMatch.SAME, 499, 499, 0)


def test_large_batches_of_many_partitions_are_read_whole(world: World) -> None:
    """More than a broker sends at once of any but the first."""
    for side in (EU, US):
        world.create_topic(side, "large", partitions=4)
    partitions = [TopicPartition("large", n) for n in range(4)]
    for p in partitions:
        for side in (EU, US):
            world.write(side, p, [Written(b"a" * 400_000), Written(b"b" * 400_000)])
    assert {t.match for t in world.logs.read_tails(world.flow(), partitions).values()} == {TailMatch.SAME}


def test_of_an_empty_log_there_is_nothing_to_copy(world: World, p: TopicPartition) -> None:
    assert tail(world, p) == (TailMatch.EMPTY, None, None, None)
    world.write(EU, p, records(3))
    assert tail(world, p) == (TailMatch.DIFFERENT, 2, None, None)
    world.trim(EU, p, 3)
    assert tail(world, p) == (TailMatch.EMPTY, None, None, None)


def test_a_partition_that_the_target_lacks_is_unknown(world: World) -> None:
    world.create_topic(EU, "lacking", partitions=2)
    world.create_topic(US, "lacking", partitions=1)
    second = TopicPartition("lacking", 1)
    assert tail(world, second)[0] is TailMatch.UNKNOWN
    assert second not in world.logs.positions(world.flow(), ["lacking"]).target
    assert world.logs.positions(world.flow(), ["no-such-topic"]).source == {}


def test_compacted_logs_are_compared_by_what_is_left(world: World) -> None:
    p = both(world, "compacted", compacted=True)
    written = [Written(b"v-%d" % n, b"k-%d" % (n % 3), AT_MS + n) for n in range(12)]
    world.write(EU, p, written)
    last = Written(b"last", b"k-9", AT_MS + 20_000)  # so much later that a real log goes on in another file
    world.write(EU, p, [last])
    world.compact(EU, p)
    # The copy began when a part of it was gone.
    world.write(US, p, [*written[9:], last])
    assert tail(world, p) == (TailMatch.SAME, 12, 3, -9)


def test_what_was_written_as_seeds_is_read_as_how_far_the_copy_is(world: World, p: TopicPartition) -> None:
    world.write(EU, p, records(10))
    world.logs.write_seeds(world.flow(), {p: 7})
    assert world.logs.positions(world.flow(), [p.topic]).committed == {p: 6}
    world.logs.write_seeds(world.flow(), {p: 9})
    assert world.logs.positions(world.flow(), [p.topic]).committed == {p: 8}
    world.logs.write_seeds(world.flow(), {p: 0})
    assert world.logs.positions(world.flow(), [p.topic]).committed == {}


def test_what_the_target_has_is_told_without_a_word_of_the_source(world: World, p: TopicPartition) -> None:
    world.write(US, p, [Written(b"1"), Written(b"2")])
    world.logs.write_seeds(world.flow(), {p: 1, TopicPartition(f"{p.topic}-gone", 0): 4})
    nobody = replace(world.flow(), source=replace(world.flow().source, bootstrap=("127.0.0.1:1",)))
    found = world.logs.copied(nobody, [p.topic])
    assert (found.source, found.target, found.committed) == ({}, {p: LogExtent(0, 2)}, {p: 0})
    assert found.target_ids == world.logs.positions(world.flow(), [p.topic]).target_ids


def test_offsets_of_other_connectors_and_clusters_are_not_of_this_flow(world: World, p: TopicPartition) -> None:
    flow = world.flow()
    world.logs.write_seeds(flow, {p: 3})
    topic = p.topic.encode()
    world.write(
        US,
        offsets_partition(flow.source.cluster),
        [
            Written(b'{"offset":90}', b'["MirrorSourceConnector",{"cluster":"x","partition":0,"topic":"%s"}]' % topic),
            Written(b'{"offset":91}', b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"x"}]'),
            Written(b"no json", b"neither"),
        ],
    )
    assert world.logs.positions(flow, [p.topic]).committed == {p: 2}


def test_offsets_of_a_topic_that_was_made_anew_are_forgotten(world: World, p: TopicPartition) -> None:
    flow, q = world.flow(), both(world, "made-anew-beside")
    world.logs.write_seeds(flow, {p: 3, q: 5})
    assert world.logs.positions(flow, [p.topic, q.topic]).committed == {p: 2, q: 4}
    world.delete_topic(US, offsets_partition(flow.source.cluster).topic)
    assert world.logs.positions(flow, [p.topic, q.topic]).committed == {}
    world.logs.write_seeds(flow, {p: 6})
    assert world.logs.positions(flow, [p.topic, q.topic]).committed == {p: 5}


def test_a_topic_that_was_made_anew_has_another_id(world: World, p: TopicPartition) -> None:
    first = world.logs.positions(world.flow(), [p.topic, "nowhere"])
    assert first.source_ids.keys() == first.target_ids.keys() == {p.topic}
    assert world.logs.positions(world.flow(), [p.topic]).target_ids == first.target_ids
    world.delete_topic(US, p.topic)
    world.create_topic(US, p.topic)
    then = world.logs.positions(world.flow(), [p.topic])
    assert then.source_ids == first.source_ids
    assert then.target_ids[p.topic] != first.target_ids[p.topic]


def test_the_way_back_begins_behind_the_old_primarys_last_record(world: World, p: TopicPartition) -> None:
    never, gone, other = both(world, "back-never"), both(world, "back-gone"), both(world, "back-other")
    world.write(EU, p, records(6))
    world.write(US, p, records(9))
    world.write(EU, gone, records(3))
    world.trim(EU, gone, 3)
    world.write(EU, other, [Written(b"only here")])
    world.write(US, other, records(3))
    found = world.logs.seed_positions(world.flow(US, EU), [p, never, gone, other])
    assert found == {p: 6, never: 0, gone: None, other: None}


def test_the_way_back_begins_behind_that_record_also_where_offsets_differ(world: World, p: TopicPartition) -> None:
    world.transact(EU, p, records(6))
    world.write(US, p, [*records(4), *records(400, begin=2)])
    assert world.logs.seed_positions(world.flow(US, EU), [p]) == {p: 8}


def align(world: World, topics: list[str], not_groups: Sequence[str] = ()) -> Mapping[str, int]:
    """Of all groups that are to be."""
    groups = world.logs.groups_to_align(world.flow(), topics, not_groups)
    return world.logs.align(world.flow(), topics, groups)


def test_groups_go_on_at_the_same_record(world: World, p: TopicPartition) -> None:
    """At the tail, in the middle, and behind a marker; offsets differ."""
    q = both(world, "aligned-marker")
    world.write(EU, p, records(10))
    world.trim(EU, p, 2)
    world.write(US, p, records(8, begin=2))
    world.transact(EU, q, records(4))
    world.write(US, q, records(4))
    world.commit(EU, "tail", p, 10)
    world.commit(EU, "middle", p, 5)
    world.commit(EU, "middle", q, 5)
    world.commit(EU, "left-out-1", p, 5)
    world.commit(US, "middle", p, 0)
    again = align(world, [p.topic, q.topic], ["left-out-.*"])
    assert again == {"tail": 0, "middle": 0}
    assert (world.committed(US, "tail", p), world.committed(US, "middle", p)) == (8, 3)
    assert (world.committed(US, "middle", q), world.committed(US, "left-out-1", p)) == (4, None)


def test_a_group_before_records_that_are_there_twice_goes_on_at_the_first(world: World, p: TopicPartition) -> None:
    world.write(EU, p, records(10))
    world.write(US, p, [*records(8), *records(4, begin=6)])
    world.commit(EU, "before", p, 3)
    world.commit(EU, "behind", p, 9)
    assert align(world, [p.topic]) == {"before": 2, "behind": 0}
    assert (world.committed(US, "before", p), world.committed(US, "behind", p)) == (3, 11)


def test_a_group_whose_record_is_not_found_begins_where_it_was_synced(world: World, p: TopicPartition) -> None:
    """Two were copied twice. A group that went back since it was synced is not led past what it has not read."""
    world.write(EU, p, records(10))
    world.write(US, p, [*records(2), *records(2), *records(7, begin=3)])
    for group in ("synced", "went-back", "unknown"):
        world.commit(EU, group, p, 2)
    world.commit(US, "synced", p, 1)
    world.commit(US, "went-back", p, 9)
    assert align(world, [p.topic]) == {"synced": 2, "went-back": 1, "unknown": 3}
    assert world.committed(US, "synced", p) == 1
    assert world.committed(US, "went-back", p) == 2
    assert world.committed(US, "unknown", p) == 0


def test_a_group_reads_all_where_the_target_has_less_before_its_place(world: World, p: TopicPartition) -> None:
    """Nobody can tell what an offset that was synced is of."""
    world.write(EU, p, records(10))
    world.write(US, p, [*records(5), *records(2, begin=8)])
    world.commit(EU, "billing", p, 6)
    world.commit(US, "billing", p, 5)
    assert align(world, [p.topic]) == {"billing": 3}
    assert world.committed(US, "billing", p) == 0


def test_nothing_is_aligned_while_records_are_left(world: World, p: TopicPartition) -> None:
    world.write(EU, p, records(10))
    world.write(US, p, records(9))
    world.commit(EU, "early", p, 3)
    with pytest.raises(KafkaUnavailable, match="1 partitions are not drained"):
        align(world, [p.topic])
    assert world.committed(US, "early", p) is None


def test_groups_with_members_at_the_target_are_named(world: World, p: TopicPartition) -> None:
    world.write(EU, p, records(3))
    world.write(US, p, records(3))
    world.commit(EU, "early-reader", p, 2)
    world.commit(EU, "calm", p, 2)
    world.join(US, "early-reader", p.topic)
    with pytest.raises(KafkaRefused, match="members of early-reader are at the standby"):
        align(world, [p.topic])
    assert world.committed(US, "calm", p) is None
