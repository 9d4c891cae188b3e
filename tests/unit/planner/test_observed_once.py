"""What is asked of a snapshot again and again is worked out once for it, and again for the next."""

import pickle
from dataclasses import replace

from planner.observed import KafkaSnapshot, once_a_reading
from tests.unit.planner.drain.drain_cases import partition, snapshot

RACKS = {1: "a", 2: "b"}
ASKED: list[KafkaSnapshot] = []


@once_a_reading
def topics(of: KafkaSnapshot) -> tuple[str, ...]:
    ASKED.append(of)
    return tuple(of.by_topic)


@once_a_reading
def count(of: KafkaSnapshot) -> int:
    return len(of.partitions)


def test_an_answer_is_kept_with_its_snapshot_and_not_taken_over_by_another() -> None:
    ASKED.clear()
    first = snapshot(
        RACKS, [partition("orders", 0, (1, 2)), partition("orders", 1, (2, 1)), partition("clicks", 0, (1, 2))]
    )
    assert topics(first) == topics(first) == ("orders", "clicks")
    assert count(first) == 3
    second = replace(first, partitions=first.by_topic["orders"])
    assert topics(second) == ("orders",)
    assert count(second) == 2
    assert len(ASKED) == 2


def test_a_snapshot_with_answers_travels_and_is_equal_to_one_without() -> None:
    read = snapshot(RACKS, [partition("orders", 0, (1, 2))])
    assert topics(read) == ("orders",)
    assert pickle.loads(pickle.dumps(read)) == read == snapshot(RACKS, [partition("orders", 0, (1, 2))])
