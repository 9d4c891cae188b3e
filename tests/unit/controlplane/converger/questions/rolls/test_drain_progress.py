"""How far a drain is: bytes that arrived, what is left of logs that grow, and how long that takes."""

from dataclasses import replace
from datetime import timedelta

from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.rolls.drain_progress import (
    Progress,
    gone_for_good,
    held_up,
    kept_waiting,
    progress_of,
)
from planner.drain.residual import residual
from planner.observed import KafkaSnapshot, LogDirsSeen, PartitionSeen, TopicPartition
from tests.builders import NOW, a_move, a_partition, a_plan, a_situation, a_snapshot, a_view, an_instance

MB = 10**6
MOVES = [replace(a_move(f"orders-{n}"), bytes=100 * MB) for n in range(3)]
PLAN = a_plan(MOVES)


def _moving(name: str, *, size: int, arrived: tuple[int, ...]) -> PartitionSeen:
    return a_partition(
        name,
        (1010, 1000, 1001, 1002),
        isr=(1000, 1001, 1002),
        adding=(1010,),
        removing=(1000,),
        size_bytes=size,
        arrived_bytes=arrived,
    )


def _cluster(*, size: int = 100 * MB, arrived: tuple[int, ...] = (40 * MB,)) -> KafkaSnapshot:
    """One has moved, one is on its way, one waits."""
    return a_snapshot(
        a_partition("orders-0", (1010, 1001, 1002), size_bytes=size),
        _moving("orders-1", size=size, arrived=arrived),
        a_partition("orders-2", size_bytes=size),
        brokers=(1000, 1001, 1002, 1010),
    )


def _progress(kafka: KafkaSnapshot, *, moving_s: float = 10.0, written: float = 0.0) -> Progress:
    rates = {TopicPartition("orders", n): written for n in range(3)}
    left = residual(PLAN, kafka, (1000,))
    return progress_of(PLAN, left, kafka, moving_s=moving_s, traffic=Traffic(rates, at=NOW))


def test_what_has_arrived_counts_and_the_rest_is_left() -> None:
    progress = _progress(_cluster())
    assert (progress.done_bytes, progress.left_bytes, progress.left_s) == (140 * MB, 160 * MB, 160 / 14)


def test_a_log_that_grew_takes_nothing_off_what_has_arrived() -> None:
    progress = _progress(_cluster(size=130 * MB))
    assert (progress.done_bytes, progress.left_bytes) == (140 * MB, 220 * MB)
    assert progress.rate_bytes_per_s == 14 * MB


def test_what_is_written_meanwhile_takes_its_time_too() -> None:
    progress = _progress(_cluster(), written=2 * MB)
    # 60 MB at 14 - 2 MB/s; then 100 MB and what was written to them in these 5 s
    assert progress.left_s == 5 + 110 / 12
    assert str(progress) == "152.6 MiB left at 13.4 MiB/s and growing by 3.8 MiB/s, about 14 s"


def test_copies_that_writes_outrun_have_no_end_and_it_is_said() -> None:
    assert str(_progress(_cluster(), written=15 * MB)).endswith("and growing by 28.6 MiB/s, no end at this rate")


def test_a_target_that_has_not_told_has_nothing_yet() -> None:
    progress = _progress(_cluster(arrived=()))
    assert (progress.done_bytes, progress.left_bytes) == (100 * MB, 200 * MB)


def test_the_plans_rate_is_told_until_something_can_be_measured() -> None:
    assert _progress(_cluster(), moving_s=4.9).rate_bytes_per_s == 300 * MB / 10


def test_when_all_has_arrived_nothing_is_left_to_wait_for() -> None:
    done = a_snapshot(*(a_partition(f"orders-{n}", (1010, 1001, 1002)) for n in range(3)), brokers=(1001, 1002, 1010))
    assert _progress(done, written=90 * MB).left_s == 0


def _held_up(kafka: KafkaSnapshot) -> str:
    return held_up(residual(PLAN, kafka, (1000,)).running, kafka)


def test_a_target_that_takes_nothing_is_named_with_the_reason() -> None:
    going = _cluster()
    assert _held_up(going) == ""
    full = replace(going, log_dirs={**going.log_dirs, 1010: LogDirsSeen(1, 900 * MB, 1000 * MB, 4096)})
    assert _held_up(full) == "nothing arrives at broker 1010, whose disk is full: it goes on once there is room"
    down = replace(going, brokers={b: seen for b, seen in going.brokers.items() if b != 1010})
    assert _held_up(down) == "nothing arrives at broker 1010, which does not serve: it is waited for"


def test_a_disk_of_which_nothing_is_told_and_a_full_one_that_gets_nothing_hold_nothing_up() -> None:
    going = _cluster()
    others = replace(going, log_dirs={1001: LogDirsSeen(1, 1000 * MB, 1000 * MB, 0)})
    assert _held_up(others) == ""


def test_a_move_that_no_byte_is_missing_of_says_whom_it_waits_for() -> None:
    """Kafka ends it once all of its target are in sync: it said "0 B left, about 0 s" until the VM's grace was over."""
    going = _cluster(arrived=(100 * MB,))
    running = residual(PLAN, going, (1000,)).running
    assert kept_waiting(running, going) == ""
    down = replace(going, brokers={b: seen for b, seen in going.brokers.items() if b not in (1001, 1002)})
    assert _held_up(down) == "", "it has arrived at its target"
    gone = gone_for_good(a_situation(a_view(_lost(1001, seconds=40)), loss_grace_s=300.0))
    assert kept_waiting(running, down, gone) == (
        "1 of them cannot end before broker 1001 is in sync, whose VM is gone: it is replaced in 260 s; "
        "1 of them cannot end before broker 1002 is in sync, which does not serve: it is waited for"
    )


def test_of_a_lost_broker_whose_grace_is_over_it_is_said_that_it_is_next() -> None:
    gone = gone_for_good(a_situation(a_view(_lost(1010, seconds=301)), loss_grace_s=300.0))
    down = replace(_cluster(), brokers={b: seen for b, seen in _cluster().brokers.items() if b != 1010})
    running = residual(PLAN, down, (1000,)).running
    assert held_up(running, down, gone) == "nothing arrives at broker 1010, whose VM is gone: it is replaced next"


def _lost(broker: int, *, seconds: float) -> InstanceView:
    """A broker whose VM was found gone so long ago, among those that are there."""
    node = an_instance("brokers-b-0", lost_at=NOW - timedelta(seconds=seconds))
    return replace(node, planned=replace(node.planned, service_id=broker))
