"""The ledger against a read, and the observer of min ISR."""

from controlplane.kafka.audit import Ledger, Place, RecordName, name_of, record
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.min_isr import MinIsrObserver
from planner.observed import PartitionSeen, TopicPartition


def booked(*, acknowledged: int, sent: int) -> Ledger:
    ledger = Ledger()
    producer = ledger.new_producer()
    for _ in range(sent):
        sequence = ledger.next_sequence(producer)
        if sequence < acknowledged:
            ledger.acknowledge((producer, sequence))
        else:
            ledger.fail()
    return ledger


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
        name = TopicPartition("orders", 0)
        return (PartitionSeen(name, 1, (1, 2, 3), tuple(range(1, in_sync + 1)), min_isr=2),)


def test_time_counts_when_either_end_of_it_was_below() -> None:
    report = Script((0.0, 3), (0.5, 1), (1.0, 1), (1.5, 2), (2.0, 3)).observer.report()
    assert report.under_min_isr_s == 1.5
    assert report.by_partition == {TopicPartition("orders", 0): 1.5}
    assert report.samples == 5


def test_a_healthy_run_has_no_second_below() -> None:
    report = Script((0.0, 3), (0.5, 2), (1.0, 3)).observer.report()
    assert (report.under_min_isr_s, report.by_partition) == (0.0, {})


def test_time_nobody_could_look_at_is_told_apart() -> None:
    report = Script((0.0, 3), (0.5, None), (2.0, None), (2.5, 3)).observer.report()
    assert (report.under_min_isr_s, report.unobserved_s, report.samples) == (0.0, 2.0, 2)


def test_of_what_is_lost_it_is_told_where_it_was_acknowledged_and_what_is_there_instead() -> None:
    ledger = Ledger()
    producer = ledger.new_producer()
    for offset in range(3):
        ledger.acknowledge((producer, ledger.next_sequence(producer)), ("orders", 4, offset))
    taken = ledger.audit({("orders", 4, 0): (0, 0), ("orders", 4, 1): (0, 9), ("orders", 4, 2): (0, 2)})
    assert taken.lost_places == ("orders-4 offset 1: (0, 9) is there, the last one read has 2",)
    cut_off = ledger.audit({("orders", 4, 0): (0, 0)})
    assert cut_off.lost_places[-1] == "orders-4 offset 2: nothing is there, the last one read has 0"
