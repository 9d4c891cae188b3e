"""Gates: what must hold before a broker or controller is stopped, unregistered or promoted."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controlplane.kafka.gates import (
    broker_is_empty,
    falling_without_all,
    hosts_nothing,
    may_move,
    may_stop_broker,
    may_stop_controller,
)
from planner.observed import (
    BrokerSeen,
    KafkaSnapshot,
    LogDirsSeen,
    PartitionSeen,
    QuorumSeen,
    ThrottlesSeen,
    TopicPartition,
    VoterSeen,
)


def partition(
    isr: Sequence[int], *, replicas: Sequence[int] = (1, 2, 3), min_isr: int = 2, topic: str = "orders", n: int = 0,
    adding: Sequence[int] = (), removing: Sequence[int] = (), configured: int = 0,
) -> PartitionSeen:  # fmt: skip
    return PartitionSeen(
        name=TopicPartition(topic, n),
        leader=isr[0] if isr else -1,
        replicas=tuple(replicas),
        isr=tuple(isr),
        min_isr=min_isr,
        adding=tuple(adding),
        removing=tuple(removing),
        configured_min_isr=configured,
    )


def snapshot(
    *partitions: PartitionSeen,
    fenced: Sequence[int] = (),
    disks: dict[int, LogDirsSeen] | None = None,
    members: Sequence[VoterSeen] = (),
) -> KafkaSnapshot:
    brokers = {b: BrokerSeen(b, f"az-{b}", b in fenced, f"h{b}", 9092) for b in (1, 2, 3, 4)}
    empty = LogDirsSeen(0, 0, 100, 100)
    return KafkaSnapshot(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        cluster_id="c",
        brokers=brokers,
        partitions=partitions,
        quorum=QuorumSeen(leader=100, epoch=1, members=tuple(members)),
        features={},
        log_dirs=disks if disks is not None else dict.fromkeys(brokers, empty),
        throttles=ThrottlesSeen(),
    )


def voter(controller: int, *, lag: int = 0, silent_s: float = 0.3, is_voter: bool = True) -> VoterSeen:
    return VoterSeen(controller, f"dir-{controller}", lag, is_voter, silent_s)


class TestMayStopBroker:
    def test_open_when_every_partition_keeps_its_min_isr(self) -> None:
        gate = may_stop_broker(snapshot(partition((1, 2, 3))), 1)
        assert gate.open
        assert gate.reason == "all 1 partitions on broker 1 keep their min ISR without it"

    def test_closed_when_a_partition_would_fall_below(self) -> None:
        gate = may_stop_broker(snapshot(partition((1, 2)), partition((1, 2, 3), n=1)), 1)
        assert not gate.open
        assert gate.reason == ("1 partition would fall below min ISR without broker 1: orders-0 (ISR [1, 2], min 2)")

    def test_closed_when_a_partition_it_hosts_is_below_already(self) -> None:
        gate = may_stop_broker(snapshot(partition((2,))), 1)
        assert not gate.open
        assert "below min ISR already" in gate.reason

    def test_a_replica_out_of_the_isr_can_be_stopped(self) -> None:
        assert may_stop_broker(snapshot(partition((2, 3))), 1).open

    def test_replicas_about_to_be_removed_do_not_count_as_survivors(self) -> None:
        moving = partition((1, 2, 3), replicas=(4, 1, 2, 3), adding=(4,), removing=(3,))
        assert not may_stop_broker(snapshot(moving), 1).open
        assert may_stop_broker(snapshot(replace(moving, removing=(), adding=())), 1).open

    def test_a_broker_that_is_being_filled_is_not_in_the_way(self) -> None:
        moving = partition((1, 2, 3), replicas=(4, 1, 2, 3), adding=(4,), removing=(1,))
        assert may_stop_broker(snapshot(moving), 4).open

    def test_a_single_replica_closes_it_unless_that_topic_may_be_unavailable(self) -> None:
        seen = snapshot(partition((1,), replicas=(1,), min_isr=1, topic="scratch"))
        assert not may_stop_broker(seen, 1).open
        assert may_stop_broker(seen, 1, allow_unavailable=frozenset({"scratch"})).open

    def test_a_fenced_broker_serves_nobody(self) -> None:
        assert may_stop_broker(snapshot(partition((2,)), fenced=[1]), 1).open

    def test_an_unknown_broker_is_not_judged_on_a_guess(self) -> None:
        assert not may_stop_broker(snapshot(), 9).open

    def test_a_reason_names_three_partitions_and_counts_the_rest(self) -> None:
        gate = may_stop_broker(snapshot(*(partition((1, 2), n=n) for n in range(5))), 1)
        assert gate.reason.startswith("5 partitions would fall")
        assert gate.reason.endswith("orders-2 (ISR [1, 2], min 2) and 2 more")

    def test_a_reason_counts_no_rest_where_all_are_named(self) -> None:
        gate = may_stop_broker(snapshot(*(partition((1, 2), n=n) for n in range(3))), 1)
        assert gate.reason.endswith("orders-2 (ISR [1, 2], min 2)")
        one_more = may_stop_broker(snapshot(*(partition((1, 2), n=n) for n in range(4))), 1)
        assert one_more.reason.endswith("orders-2 (ISR [1, 2], min 2) and 1 more")


class TestStoppingSeveral:
    """`falling_without_all`: what several brokers hold together counts, not what each holds alone."""

    def test_partitions_that_keep_enough_in_sync_without_all_of_them_are_none(self) -> None:
        keeps = partition((1, 2, 3, 4), replicas=(1, 2, 3, 4))
        assert falling_without_all([keeps], [1, 2]) == ()
        assert falling_without_all([keeps], [1, 2, 3]) == (keeps,)

    def test_one_replica_each_of_the_same_partition_is_one_too_many(self) -> None:
        seen = partition((1, 2, 3))
        assert falling_without_all([seen], [1]) == ()
        assert falling_without_all([seen], [1, 2]) == (seen,)

    def test_what_none_of_them_has_in_sync_does_not_fall_by_their_stop(self) -> None:
        below_already = partition((3,))
        assert falling_without_all([below_already], [1, 2]) == ()
        assert falling_without_all([below_already], [2, 3]) == (below_already,)

    def test_replicas_about_to_be_removed_are_no_survivors(self) -> None:
        moving = partition((1, 2, 3), replicas=(1, 2, 3, 4), adding=(4,), removing=(3,))
        assert falling_without_all([moving], [1]) == (moving,)

    def test_an_excused_topic_may_lose_one_replica_and_no_second(self) -> None:
        lonely = partition((1,), replicas=(1,), min_isr=1, topic="scratch")
        assert falling_without_all([lonely], [1]) == (lonely,)
        assert falling_without_all([lonely], [1, 2], excused=["scratch"]) == ()
        pair = partition((1, 2), replicas=(1, 2), topic="scratch")
        assert falling_without_all([pair], [1, 3], excused=["scratch"]) == ()
        assert falling_without_all([pair], [1, 2], excused=["scratch"]) == (pair,)
        assert falling_without_all([pair], [1, 3], excused=["others"]) == (pair,)

    def test_of_an_excused_topic_a_second_replica_counts_also_while_it_is_out_of_sync(self) -> None:
        pair = partition((1,), replicas=(1, 2), topic="scratch")
        assert falling_without_all([pair], [1, 2], excused=["scratch"]) == (pair,)


class TestMayMove:
    def test_open_for_a_partition_with_replicas_enough(self) -> None:
        assert may_move(partition((1, 2, 3), configured=2), (4, 2, 3)).open

    def test_closed_when_more_is_configured_than_is_in_sync(self) -> None:
        gate = may_move(partition((1,), replicas=(1,), min_isr=1, configured=2), (4,))
        assert not gate.open
        assert "2 replicas are assigned then, so min ISR 2 of the configured 2 applies, and 1 is in sync" in gate.reason

    def test_open_where_just_as_many_are_in_sync_as_it_takes_while_it_moves(self) -> None:
        assert may_move(partition((1, 2), replicas=(1, 2), min_isr=1, configured=2), (1, 4)).open

    def test_open_for_such_a_topic_when_the_spec_allows_it(self) -> None:
        lonely = partition((1,), replicas=(1,), min_isr=1, configured=2, topic="scratch")
        assert may_move(lonely, (4,), allow_unavailable=frozenset({"scratch"})).open

    def test_a_partition_below_its_min_isr_may_be_healed_by_a_move(self) -> None:
        assert may_move(partition((1,), min_isr=2, configured=2), (1, 2, 4)).open


class TestEmpty:
    def test_closed_while_a_replica_list_names_it(self) -> None:
        gate = broker_is_empty(snapshot(partition((1, 2, 3))), 1)
        assert gate.reason == "1 partition on broker 1 (0 of them moving), e.g. orders-0"

    def test_closed_while_a_move_names_it_as_leaving(self) -> None:
        moving = partition((4, 2, 3), replicas=(4, 2, 3), removing=(1,))
        assert not broker_is_empty(snapshot(moving), 1).open

    def test_closed_while_its_disks_say_otherwise(self) -> None:
        gate = broker_is_empty(snapshot(disks={1: LogDirsSeen(2, 512, 100, 50)}), 1)
        assert gate.reason == "broker 1 still has 2 replicas with 512 bytes on its disks"

    @pytest.mark.parametrize("disks", [LogDirsSeen(1, 0, 100, 100), LogDirsSeen(0, 512, 100, 50)])
    def test_replicas_without_bytes_and_bytes_without_replicas_close_it_too(self, disks: LogDirsSeen) -> None:
        assert not broker_is_empty(snapshot(disks={1: disks}), 1).open

    def test_unknown_disks_are_not_empty_disks(self) -> None:
        assert not broker_is_empty(snapshot(disks={}), 1).open
        assert hosts_nothing(snapshot(disks={}), 1).open

    def test_open_when_nothing_is_left(self) -> None:
        assert broker_is_empty(snapshot(partition((4, 2, 3), replicas=(4, 2, 3))), 1).open


class TestQuorum:
    def test_a_controller_may_stop_when_the_others_are_a_caught_up_majority(self) -> None:
        assert may_stop_controller(snapshot(members=[voter(100), voter(101), voter(102)]), 100).open

    def test_a_controller_stays_while_another_lags(self) -> None:
        seen = snapshot(members=[voter(100), voter(101, lag=21), voter(102)])
        assert not may_stop_controller(seen, 100).open
        assert not may_stop_controller(seen, 100, allow_outage=True).open

    @pytest.mark.parametrize("silent_s", [2.5, 6.0])
    def test_a_dead_voter_that_looks_caught_up_is_told_by_its_silence(self, silent_s: float) -> None:
        seen = snapshot(members=[voter(100), voter(101, lag=8, silent_s=silent_s), voter(102)])
        gate = may_stop_controller(seen, 100)
        assert not gate.open
        assert f"101 is 8 records behind, silent for {silent_s} s" in gate.reason

    def test_others_that_were_heard_of_just_too_long_ago_keep_a_controller(self) -> None:
        steady = [voter(100), voter(101, silent_s=1.9), voter(102)]
        assert may_stop_controller(snapshot(members=steady), 100).open
        assert not may_stop_controller(snapshot(members=[*steady[:2], voter(102, silent_s=2.0)]), 100).open

    def test_a_controller_stays_while_the_vm_of_another_is_gone_and_the_first_of_them_is_named(self) -> None:
        seen = snapshot(members=[voter(100), voter(101), voter(102), voter(103), voter(104)])
        gate = may_stop_controller(seen, 100, gone=[104, 102], allow_outage=True)
        assert not gate.open
        assert gate.reason == "controller 100 is needed, the VM of controller 102 is gone"
        assert may_stop_controller(seen, 100, gone=[100]).open, "its own VM"

    @pytest.mark.parametrize("others", [(), (101,)])
    def test_one_or_two_voters_have_no_majority_to_spare(self, others: tuple[int, ...]) -> None:
        seen = snapshot(members=[voter(100), *map(voter, others)])
        assert not may_stop_controller(seen, 100).open
        assert may_stop_controller(seen, 100, allow_outage=True).open

    def test_an_observer_may_always_stop(self) -> None:
        seen = snapshot(members=[voter(100), voter(103, is_voter=False)])
        assert may_stop_controller(seen, 103).open
