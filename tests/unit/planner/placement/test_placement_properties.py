"""Whatever the placement: corrections break nothing, mend what they say, and end; what is in place is left alone."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings, strategies as st

from planner.observed import KafkaSnapshot, PartitionSeen
from planner.placement.corrections import MOST_A_BROKER, MOST_A_PAIR, MOST_AT_A_TIME, corrections
from planner.placement.deviations import Rule, misplaced
from planner.placement.policy import AntiAffinity, ClusterBrokers, TopicPolicy
from tests.builders import a_partition, a_snapshot

ABSENT_BROKER = 99
"""An id in replica lists that no broker has."""


@st.composite
def clusters(draw: st.DrawFn) -> tuple[KafkaSnapshot, ClusterBrokers, dict[int, int], AntiAffinity]:
    """Up to 9 brokers in up to 4 zones, some of which take nothing; up to 25 partitions anyhow."""
    count = draw(st.integers(2, 9))
    racks = {b: draw(st.sampled_from("abcd")) for b in range(count)}
    receivers = frozenset(b for b in racks if draw(st.integers(0, 4)))
    ids = [*racks, *([ABSENT_BROKER] if draw(st.booleans()) else [])]
    parts = []
    for n in range(draw(st.integers(0, 25))):
        replicas = tuple(draw(st.permutations(ids))[: draw(st.integers(1, min(4, len(ids))))])
        isr = tuple(b for b in replicas if b != ABSENT_BROKER)
        size = draw(st.sampled_from((0, 10, 300)))
        parts.append(a_partition(f"t-{n}", replicas, isr=isr, leader=isr[0] if isr else -1, size_bytes=size))
    room = {b: draw(st.sampled_from((0, 250, 10**6))) for b in racks}
    policy: AntiAffinity = draw(st.sampled_from(("strict", "best-effort", "none")))
    kafka = a_snapshot(*parts, brokers=tuple(racks))
    return kafka, ClusterBrokers(racks, receivers, len(set(racks.values()))), room, policy


def arrived(kafka: KafkaSnapshot, p: PartitionSeen, after: tuple[int, ...]) -> PartitionSeen:
    leader = p.leader if p.leader in after else after[0]
    return replace(p, replicas=after, isr=tuple(b for b in after if b != ABSENT_BROKER), leader=leader)


def zones(replicas: tuple[int, ...], ground: ClusterBrokers) -> int:
    return len({ground.racks[b] for b in replicas if b in ground.racks})


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_no_correction_breaks_a_rule(drawn: tuple[KafkaSnapshot, ClusterBrokers, dict[int, int], AntiAffinity]) -> None:
    kafka, ground, room, policy = drawn
    bad = misplaced(kafka, ground, lambda topic: TopicPolicy(policy))
    said = corrections(kafka, bad, ground, room)
    into: Counter[int] = Counter()
    between: Counter[tuple[int, int]] = Counter()
    arriving: Counter[int] = Counter()
    assert len(said.moves) <= MOST_AT_A_TIME
    assert {m.name for m in said.moves} | said.left.keys() <= {d.name for d in bad}
    for move in said.moves:
        was = kafka.by_name[move.name]
        assert move.before == was.replicas
        assert len(move.after) == len(set(move.after)) == len(move.before), "replicas are neither added nor lost"
        assert set(move.added) <= ground.receivers
        assert set(move.before) & set(move.after), "somebody who has it stays"
        assert was.leader in move.after, "who leads goes on leading" if ABSENT_BROKER not in move.before else ""
        assert zones(move.after, ground) >= zones(move.before, ground)
        assert ABSENT_BROKER in move.before or zones(move.after, ground) > zones(move.before, ground), (
            "no move for nothing"
        )
        assert move.bytes == was.size_bytes * len(move.added)
        into.update(move.added)
        between.update((was.leader, b) for b in move.added)
        arriving.update(dict.fromkeys(move.added, was.size_bytes))
    assert all(count <= MOST_A_BROKER for count in into.values())
    assert all(count <= MOST_A_PAIR for count in between.values())
    assert all(size <= room[b] for b, size in arriving.items())


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_batch_after_batch_all_is_in_place_but_for_what_is_told(
    drawn: tuple[KafkaSnapshot, ClusterBrokers, dict[int, int], AntiAffinity],
) -> None:
    kafka, ground, room, policy = drawn
    for _ in range(60):
        bad = misplaced(kafka, ground, lambda topic: TopicPolicy(policy))
        said = corrections(kafka, bad, ground, room)
        if not said.moves:
            break
        after = {m.name: m.after for m in said.moves}
        parts = (arrived(kafka, p, after[p.name]) if p.name in after else p for p in kafka.partitions)
        kafka = replace(kafka, partitions=tuple(parts))
        for move in said.moves:
            for broker in move.added:
                room[broker] -= kafka.by_name[move.name].size_bytes
    assert not said.moves, "it ends"
    assert {d.name for d in bad} == set(said.left), "each that is not in place has its reason"
    if all(size == 10**6 for size in room.values()) and policy == "best-effort":
        assert not [d for d in bad if d.rule is Rule.ZONES], "with room, nothing shares a zone that need not"


@settings(max_examples=100, deadline=None)
@given(clusters())
def test_what_is_in_place_is_left_alone(
    drawn: tuple[KafkaSnapshot, ClusterBrokers, dict[int, int], AntiAffinity],
) -> None:
    kafka, ground, room, _ = drawn
    sound = tuple(
        p for p in kafka.partitions if ABSENT_BROKER not in p.replicas and zones(p.replicas, ground) == len(p.replicas)
    )
    apart = replace(kafka, partitions=sound)
    bad = misplaced(apart, ground, lambda topic: TopicPolicy("strict"))
    assert bad == ()
    assert corrections(apart, bad, ground, room).moves == ()
