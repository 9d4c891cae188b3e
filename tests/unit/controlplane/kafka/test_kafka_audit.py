"""The ledger against a read, where logs end while their leaders change, and the observer of min ISR."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from controlplane.kafka.audit import AcknowledgedRecords, Place, RecordName, log_ends, name_of, record
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.min_isr import MinIsrObserver
from planner import observed
from planner.observed import PartitionSeen


def booked(*, acknowledged: int, sent: int) -> AcknowledgedRecords:
    records = AcknowledgedRecords()
    producer = records.new_producer()
    for _ in range(sent):
        sequence = records.next_sequence(producer)
        if sequence < acknowledged:
            records.acknowledge((producer, sequence))
        else:
            records.fail()
    return records


def found(*names: RecordName) -> dict[Place, RecordName]:
    return {("orders", 0, offset): name for offset, name in enumerate(names)}


def test_a_record_carries_its_name_and_is_as_large_as_asked() -> None:
    value = record((3, 1 << 40), 500)
    assert len(value) == 500
    assert name_of(value) == (3, 1 << 40)
    assert name_of(record((0, 0), 1)) == (0, 0)


def test_records_of_others_have_no_name() -> None:
    assert [name_of(v) for v in (None, b"", b"x" * 200)] == [None, None, None]


def test_everything_read_once_is_clean() -> None:
    audit = booked(acknowledged=3, sent=3).audit(found((0, 0), (0, 1), (0, 2)))
    assert audit.is_clean
    assert (audit.acknowledged, audit.read) == (3, 3)


def test_an_acknowledged_record_that_is_not_read_is_lost_and_named() -> None:
    audit = booked(acknowledged=3, sent=3).audit(found((0, 0), (0, 2)))
    assert not audit.is_clean
    assert (audit.lost, audit.lost_examples) == (1, ((0, 1),))


def test_copies_beyond_the_first_are_duplicates_and_named_with_their_places() -> None:
    audit = booked(acknowledged=2, sent=2).audit(found((0, 0), (0, 1), (0, 1), (0, 1)))
    assert (audit.duplicated, audit.read, audit.lost) == (2, 2, 0)
    assert audit.duplicated_examples == (((0, 1), (("orders", 0, 1), ("orders", 0, 2), ("orders", 0, 3))),)


def test_a_record_whose_acknowledgement_was_lost_is_not_an_error() -> None:
    audit = booked(acknowledged=1, sent=2).audit(found((0, 0), (0, 1)))
    assert audit.is_clean
    assert (audit.unacknowledged, audit.failed) == (1, 1)


class Script:
    """Plays samples at given times; None is a cluster that does not answer."""

    def __init__(self, *samples: tuple[float, int | None]) -> None:
        self._samples = list(samples)
        self.now = 0.0
        self.observer = MinIsrObserver(self._read, clock=lambda: self.now)
        for _ in samples:
            self.observer.sample()

    def _read(self) -> tuple[PartitionSeen, ...]:
        self.now, in_sync = self._samples.pop(0)
        if in_sync is None:
            raise KafkaUnavailable(what="reading", where="c", why="nobody answers")
        name = observed.TopicPartition("orders", 0)
        return (PartitionSeen(name, 1, (1, 2, 3), tuple(range(1, in_sync + 1)), min_isr=2),)


def test_time_counts_when_either_end_of_it_was_below() -> None:
    report = Script((0.0, 3), (0.5, 1), (1.0, 1), (1.5, 2), (2.0, 3)).observer.report()
    assert report.under_min_isr_s == 1.5
    assert report.by_partition == {observed.TopicPartition("orders", 0): 1.5}
    assert report.samples == 5


def test_a_healthy_run_has_no_second_below() -> None:
    report = Script((0.0, 3), (0.5, 2), (1.0, 3)).observer.report()
    assert (report.under_min_isr_s, report.by_partition) == (0.0, {})


def test_time_nobody_could_look_at_is_told_apart() -> None:
    report = Script((0.0, 3), (0.5, None), (2.0, None), (2.5, 3)).observer.report()
    assert (report.under_min_isr_s, report.unobserved_s, report.samples) == (0.0, 2.0, 2)


def test_of_what_is_lost_it_is_told_where_it_was_acknowledged_and_what_is_there_instead() -> None:
    records = AcknowledgedRecords()
    producer = records.new_producer()
    for offset in range(3):
        records.acknowledge((producer, records.next_sequence(producer)), ("orders", 4, offset))
    taken = records.audit({("orders", 4, 0): (0, 0), ("orders", 4, 1): (0, 9), ("orders", 4, 2): (0, 2)})
    assert taken.lost_places == ("orders-4 offset 1: (0, 9) is there, the last one read has 2",)
    cut_off = records.audit({("orders", 4, 0): (0, 0)})
    assert cut_off.lost_places[-1] == "orders-4 offset 2: nothing is there, the last one read has 0"


class Reader:
    """Partitions of `orders` and their bounds. What is to be answered before the truth is popped, one by one."""

    def __init__(self, *bounds: tuple[int, int]) -> None:
        self.now = 0.0
        self.before: list[int | None] = []
        """Error codes of leaders; None: no answer in time."""
        self.topic_before: list[int] = []
        self.asked: list[int] = []
        self._bounds = bounds

    def list_topics(self, topic: str, timeout: float) -> Any:
        assert timeout > 0
        error = KafkaError(self.topic_before.pop(0)) if self.topic_before else None
        partitions = {} if error else dict.fromkeys(range(len(self._bounds)))
        return SimpleNamespace(topics={topic: SimpleNamespace(error=error, partitions=partitions)})

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int] | None:
        assert timeout > 0
        self.asked.append(partition.partition)
        if not self.before:
            return self._bounds[partition.partition]
        if (code := self.before.pop(0)) is None:
            return None
        raise KafkaException(KafkaError(code))

    def ends(self, within_s: float = 60.0) -> dict[tuple[str, int], int]:
        deadline = Deadline.after(within_s, lambda: self.now)
        return log_ends(self, ["orders"], deadline, where="c", wait=self._pass)

    def _pass(self, seconds: float) -> None:
        self.now += seconds


def test_logs_that_hold_nothing_have_no_end_to_read_to() -> None:
    assert Reader((0, 7), (3, 3), (2, 9)).ends() == {("orders", 0): 7, ("orders", 2): 9}


def test_a_broker_that_no_longer_leads_a_partition_does_not_end_the_audit() -> None:
    """It gave up at the first NOT_LEADER: a leader that changed as the traffic ended cost a test its verdict."""
    reader = Reader((0, 7), (0, 8))
    reader.before = [KafkaError.NOT_LEADER_FOR_PARTITION, None, KafkaError._TRANSPORT]
    assert reader.ends() == {("orders", 0): 7, ("orders", 1): 8}
    assert reader.asked == [0, 0, 0, 0, 1]


def test_a_topic_whose_metadata_is_not_there_yet_is_asked_for_again_and_not_taken_for_an_empty_one() -> None:
    reader = Reader((0, 7))
    reader.topic_before = [KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART]
    assert reader.ends() == {("orders", 0): 7}


def test_a_partition_that_never_has_a_leader_ends_the_audit_with_its_time() -> None:
    reader = Reader((0, 7))
    reader.before = [KafkaError.NOT_LEADER_FOR_PARTITION] * 1000
    with pytest.raises(KafkaUnavailable, match=r"asking where logs end.*NOT_LEADER"):
        reader.ends(within_s=5.0)
    assert len(reader.asked) == 21, "four times a second, and once as it began"


def test_what_asking_again_does_not_mend_is_told_at_once() -> None:
    reader = Reader((0, 7))
    reader.before = [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(KafkaException):
        reader.ends()
    assert reader.asked == [0]
