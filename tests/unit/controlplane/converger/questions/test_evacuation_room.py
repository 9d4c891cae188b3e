"""Is there room for what a broker holds? Refused with numbers only where no plan could ever find some."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.converger.questions.evacuation_room import room_onto, room_without
from planner.observed import BrokerSeen, KafkaSnapshot, LogDirsSeen
from tests.builders import a_partition, a_snapshot

RACKS = {1000: "a", 1001: "b", 1002: "c", 1003: "a", 1004: "b"}
GIB = 1024**3


def _kafka(*partitions: Any, used: int = 0, untold: int = 0) -> KafkaSnapshot:
    """Five brokers in three racks, 10 GiB of disk each."""
    brokers = {b: BrokerSeen(b, rack, False, "host", 9092) for b, rack in RACKS.items()}
    disks = {b: LogDirsSeen(0, used, 10 * GIB, 10 * GIB - used) for b in RACKS if b != untold}
    return replace(a_snapshot(*partitions, brokers=tuple(RACKS)), brokers=brokers, log_dirs=disks)


LARGE = a_partition(size_bytes=5 * GIB)


def test_a_broker_of_a_rack_with_another_one_may_go_and_the_numbers_are_told() -> None:
    room = room_without(_kafka(LARGE), {1000}, [1001, 1002, 1003, 1004])
    assert room.open
    assert "1 partition, 5.0 GiB; 4 other brokers can receive 36.0 GiB more up to 90% of their disks" in room.reason


def test_the_only_broker_of_a_rack_may_not() -> None:
    room = room_without(_kafka(LARGE), {1002}, [1000, 1001, 1003, 1004])
    assert not room.open
    assert "orders-0 is spread over 3 racks, and 2 would be left to hold it (a, b)" in room.reason


def test_replicas_need_a_broker_each() -> None:
    room = room_without(_kafka(LARGE), {1000, 1003, 1004}, [1001, 1002])
    assert not room.open
    assert "orders-0 has 3 replicas, and 2 brokers would be left" in room.reason


@pytest.mark.parametrize(("used", "fits"), [(7 * GIB, True), (8 * GIB, False)])
def test_bytes_need_a_disk(used: int, fits: bool) -> None:
    room = room_without(_kafka(LARGE, used=used), {1000}, [1001, 1002, 1003, 1004])
    assert room.open == fits
    assert ("8.0 GiB" if fits else "4.0 GiB") in room.reason


def test_a_disk_nobody_knows_refuses_nobody() -> None:
    room = room_without(_kafka(LARGE, used=9 * GIB, untold=1003), {1000}, [1001, 1002, 1003, 1004])
    assert room.open
    assert "not every other broker has told" in room.reason


def test_a_broker_that_answers_and_does_not_say_how_large_its_disk_is_has_not_no_room() -> None:
    """Its 0 was taken for a figure, and the evacuation refused for want of room."""
    kafka = _kafka(LARGE, used=9 * GIB)
    silent = {**kafka.log_dirs, 1003: LogDirsSeen(0, 9 * GIB, 0, 0)}
    room = room_without(replace(kafka, log_dirs=silent), {1000}, [1001, 1002, 1003, 1004])
    assert room.open
    assert "not every other broker has told" in room.reason


def test_a_broker_that_holds_nothing_may_always_go() -> None:
    assert room_without(_kafka(a_partition("x-0", (1001, 1002))), {1000}, []).open


def test_a_rack_may_be_given_up_where_the_spec_takes_it_away_and_not_where_somebody_keeps_its_brokers_empty() -> None:
    """Else the drain would be begun and never find a place: no plan spreads a partition over fewer racks than stay."""
    spread = _kafka(a_partition("x-0", (1000, 1001, 1002)))
    racks = {b: seen.rack for b, seen in spread.brokers.items()}
    others = [b for b in racks if racks[b] != racks[1000]]
    assert room_without(spread, {1000}, others, racks_stay=False).open
    emptied = [b for b in racks if racks[b] == racks[1000] and b != 1000]
    closed = room_without(spread, {1000}, others, racks_stay=False, kept_empty=emptied)
    assert not closed.open
    assert f"rack {racks[1000]} has only brokers that are kept empty" in closed.reason


def test_chosen_brokers_have_to_be_enough_for_what_leaves_and_what_stays_counts_as_spread() -> None:
    kafka = _kafka(LARGE)
    room = room_onto(kafka, {1000}, [1003])
    assert room.open, room.reason
    assert "1 other broker can receive 9.0 GiB more" in room.reason
    holder = room_onto(kafka, {1000}, [1001])
    assert not holder.open
    assert "orders-0 needs 1 of the chosen brokers, and 0 do not hold it yet" in holder.reason
    other_rack = room_onto(kafka, {1000}, [1004])
    assert not other_rack.open
    assert "spread over 3 racks; the chosen ones are in b" in other_rack.reason


def test_a_full_disk_of_a_chosen_broker_refuses_though_others_have_room() -> None:
    room = room_onto(_kafka(LARGE, used=5 * GIB), {1000}, [1003])
    assert not room.open
    assert "1 other broker can receive 4.0 GiB more" in room.reason
