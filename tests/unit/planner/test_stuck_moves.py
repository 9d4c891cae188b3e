"""Why a move hangs, and the gentlest cure: from metadata and pulses alone."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from planner.observed import KafkaSnapshot, PartitionSeen, ThrottlesSeen, TopicPartition
from planner.pulse import MovePulse, felt
from planner.stuck_moves import (
    Diagnosis,
    MoveContext,
    MoveCure,
    MovePolicy,
    MovePrescription,
    PastMoveCure,
    StuckMove,
    hung_moves,
    prescribe_moves,
)
from tests.builders import NOW, a_partition, a_snapshot

MIB = 2**20
AFTER = timedelta(seconds=300)
LONG_AGO = NOW - timedelta(seconds=301)
JUST_NOW = NOW - timedelta(seconds=2)
ALL = (1000, 1001, 1002, 1010)


def moving(name: str = "orders-0", **about: Any) -> PartitionSeen:
    """On its way from 1000 to 1010, which has half of 1000 bytes."""
    values: dict[str, Any] = {
        "replicas": (1010, 1001, 1002, 1000),
        "isr": (1001, 1002, 1000),
        "leader": 1000,
        "adding": (1010,),
        "removing": (1000,),
        "arrived_bytes": (500,),
        "leader_bytes": 1000,
    }
    return a_partition(name, **{**values, **about})


def pulse(partition: PartitionSeen, grew_at: Any = LONG_AGO, closer_at: Any = LONG_AGO) -> MovePulse:
    began = replace(felt(None, partition, LONG_AGO), grew_at=grew_at, closer_at=closer_at)
    return began


def hung(
    *partitions: PartitionSeen,
    pulses: Mapping[TopicPartition, MovePulse] | None = None,
    around: MoveContext | None = None,
    **about: Any,
) -> tuple[StuckMove, ...]:
    kafka = a_snapshot(*partitions, **{"brokers": ALL, **about})
    known = pulses or {p.name: pulse(p) for p in partitions}
    return hung_moves(kafka, known, around or MoveContext(), AFTER)


def test_a_pulse_beats_when_bytes_come_and_when_a_replica_is_in_sync() -> None:
    first = felt(None, moving(), LONG_AGO)
    more = felt(first, moving(arrived_bytes=(501,)), NOW)
    assert (more.grew_at, more.closer_at, more.left_bytes) == (NOW, NOW, 499)
    in_sync = felt(first, moving(isr=ALL), NOW)
    assert in_sync.grew_at == NOW


def test_a_copy_that_grows_no_faster_than_its_log_comes_no_closer() -> None:
    first = felt(None, moving(), LONG_AGO)
    chased = felt(first, moving(arrived_bytes=(600,), leader_bytes=1100), NOW)
    assert (chased.grew_at, chased.closer_at) == (NOW, LONG_AGO)


def test_a_target_that_does_not_tell_its_bytes_does_not_beat() -> None:
    first = felt(None, moving(), LONG_AGO)
    silent = felt(first, moving(arrived_bytes=()), NOW)
    assert (silent.grew_at, silent.arrived_bytes) == (LONG_AGO, 500)
    assert felt(silent, moving(arrived_bytes=(500,)), NOW).grew_at == LONG_AGO


def test_another_target_is_another_move() -> None:
    first = felt(None, moving(), LONG_AGO)
    assert felt(first, moving(replicas=(1011, 1001, 1002, 1000), adding=(1011,)), NOW).began == NOW


def test_a_move_that_comes_on_does_not_hang() -> None:
    partition = moving()
    assert not hung(partition, pulses={partition.name: pulse(partition, JUST_NOW, JUST_NOW)})


def test_a_move_whose_target_is_another_one_than_the_pulse_knows_does_not_hang() -> None:
    partition = moving()
    assert not hung(partition, pulses={partition.name: replace(pulse(partition), target=(1, 2, 3))})


def test_a_dead_target_is_told_with_its_id_and_the_seconds() -> None:
    (found,) = hung(moving(), brokers=(1000, 1001, 1002), fenced=(1010,))
    assert (found.diagnosis, found.broker) == (Diagnosis.TARGET_DEAD, 1010)
    assert found.sentence == "orders-0: nothing has come for 301 s, broker 1010, which is to have it, does not serve"


def test_a_replica_that_stays_and_is_dead_holds_the_move_up_too() -> None:
    partition = moving(isr=(1010, 1001, 1000))
    (found,) = hung(partition, brokers=(1000, 1001, 1010), fenced=(1002,))
    assert (found.diagnosis, found.broker) == (Diagnosis.TARGET_DEAD, 1002)


def test_a_partition_without_a_leader_has_no_source() -> None:
    (found,) = hung(moving(leader=-1, isr=(1000,)), brokers=(1001, 1002, 1010), fenced=(1000,))
    assert (found.diagnosis, found.may_take_back) == (Diagnosis.SOURCE_DEAD, False)


def test_a_controller_that_does_not_end_what_is_in_sync_is_named() -> None:
    (found,) = hung(moving(isr=ALL))
    assert (found.diagnosis, found.broker) == (Diagnosis.CONTROLLER, 100)
    assert "controller 100 does not end it" in found.sentence


def test_a_full_disk_of_the_target_is_told_in_its_own_words() -> None:
    (found,) = hung(moving(), around=MoveContext(disk_trouble={1010: "its disk is full"}))
    assert found.sentence.endswith("broker 1010: its disk is full")
    assert found.diagnosis is Diagnosis.TARGET_DISK


def test_a_move_behind_others_into_the_same_broker_waits_its_turn() -> None:
    first, second = moving("orders-0"), moving("orders-1")
    pulses = {first.name: pulse(first), second.name: pulse(second, JUST_NOW, JUST_NOW)}
    assert not hung(first, second, pulses=pulses)


def throttled(rate: int) -> ThrottlesSeen:
    return ThrottlesSeen({1000: rate}, {1010: rate}, frozenset({"orders"}))


def test_a_throttle_that_lets_nothing_through_is_the_cause() -> None:
    (found,) = hung(moving(), throttles=throttled(1))
    assert found.diagnosis is Diagnosis.THROTTLE


def test_a_throttle_of_another_topic_is_not() -> None:
    (found,) = hung(moving(), throttles=ThrottlesSeen({1000: 1}, {1010: 1}, frozenset({"payments"})))
    assert found.diagnosis is Diagnosis.UNKNOWN


def test_a_follower_under_the_write_rate_never_arrives_though_it_grows() -> None:
    partitions = [moving("orders-0"), moving("orders-1")]
    pulses = {p.name: pulse(p, grew_at=JUST_NOW) for p in partitions}
    around = MoveContext({p.name: 1.5 * MIB for p in partitions})
    found = hung(*partitions, pulses=pulses, around=around, throttles=throttled(3 * MIB))
    assert [h.diagnosis for h in found] == [Diagnosis.THROTTLE, Diagnosis.THROTTLE]
    assert found[0].sentence == (
        "orders-0: not one byte closer for 301 s, "
        "the throttle lets 2.7 MiB/s through and 3.0 MiB/s are written to what it holds"
    )


def test_a_follower_that_grows_under_no_known_write_rate_is_left_alone() -> None:
    partition = moving()
    assert not hung(
        partition, pulses={partition.name: pulse(partition, grew_at=JUST_NOW)}, throttles=throttled(3 * MIB)
    )


def stuck(diagnosis: Diagnosis, name: str = "orders-0", *, safe: bool = True) -> StuckMove:
    topic, _, number = name.rpartition("-")
    return StuckMove(TopicPartition(topic, int(number)), diagnosis, 1010, LONG_AGO, f"{name} hangs", safe)


def prescribed(
    *moves: StuckMove, past: tuple[PastMoveCure, ...] = (), kafka: KafkaSnapshot | None = None, **policy: Any
) -> tuple[MovePrescription | None, str]:
    snapshot = kafka or a_snapshot(moving("orders-0"), moving("orders-1"), brokers=ALL, throttles=throttled(MIB))
    return prescribe_moves(moves, snapshot, past, MovePolicy(AFTER, **policy))


@pytest.mark.parametrize(
    ("diagnosis", "cure"),
    [
        (Diagnosis.TARGET_DEAD, MoveCure.TAKE_BACK),
        (Diagnosis.TARGET_DISK, MoveCure.TAKE_BACK),
        (Diagnosis.UNKNOWN, MoveCure.TAKE_BACK),
        (Diagnosis.CONTROLLER, MoveCure.RESTART_CONTROLLER),
        (Diagnosis.THROTTLE, MoveCure.RAISE_THROTTLE),
    ],
)
def test_each_trouble_has_its_cure(diagnosis: Diagnosis, cure: MoveCure) -> None:
    prescription, _ = prescribed(stuck(diagnosis))
    assert prescription is not None
    assert prescription.cure is cure


def test_the_gentlest_cure_comes_first() -> None:
    prescription, _ = prescribed(stuck(Diagnosis.CONTROLLER), stuck(Diagnosis.THROTTLE, "orders-1"))
    assert prescription is not None
    assert prescription.cure is MoveCure.RAISE_THROTTLE


def test_a_throttle_is_doubled_on_both_sides() -> None:
    prescription, _ = prescribed(stuck(Diagnosis.THROTTLE))
    assert prescription is not None
    assert (prescription.follower_rates, prescription.leader_rates) == ({1010: 2 * MIB}, {1000: 2 * MIB})


def test_a_throttle_is_never_raised_over_the_ceiling() -> None:
    none, why = prescribed(stuck(Diagnosis.THROTTLE), ceiling={-1: MIB})
    assert none is None
    assert why == "the throttle is at its ceiling; raise rollout.throttleMibPerS to 2 or more"
    some, _ = prescribed(stuck(Diagnosis.THROTTLE), ceiling={-1: MIB + MIB // 2})
    assert some is not None
    assert some.follower_rates == {1010: MIB + MIB // 2}


def test_a_dead_source_is_waited_for() -> None:
    none, why = prescribed(stuck(Diagnosis.SOURCE_DEAD, safe=False))
    assert none is None
    assert "waited for" in why


def test_a_move_with_too_few_replicas_to_go_back_to_is_not_taken_back() -> None:
    none, why = prescribed(stuck(Diagnosis.TARGET_DEAD, safe=False))
    assert none is None
    assert "too few of its replicas before" in why


def test_a_cure_is_given_time_to_show() -> None:
    once = (PastMoveCure(MoveCure.TAKE_BACK, Diagnosis.TARGET_DEAD, NOW - timedelta(seconds=200)),)
    none, why = prescribed(stuck(Diagnosis.TARGET_DEAD), past=once)
    assert none is None
    assert "the last cure (take_back)" in why


def test_no_more_cures_a_day_than_allowed() -> None:
    past = tuple(PastMoveCure(MoveCure.TAKE_BACK, Diagnosis.UNKNOWN, NOW - timedelta(hours=h)) for h in (20, 12, 8, 6))
    none, why = prescribed(stuck(Diagnosis.UNKNOWN), past=past)
    assert none is None
    assert "4 cures of moves and elections in a day" in why


def test_the_controller_is_left_alone_where_the_spec_says_so() -> None:
    none, why = prescribed(stuck(Diagnosis.CONTROLLER), restart=False)
    assert none is None
    assert "allows no restart" in why
