"""The streams in the pipeline's process: one a topic, failing alone, tried again, begun anew where its brokers went."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark.metrics.broker_tls import ReaderTls, read_options
from spark.pipeline.sources import MetricSource, from_document, to_document
from spark.pipeline.streams import LONGEST_RETRY_S, Streams, checkpoint_of

ONE = MetricSource("c1", ("b1:9092", "b2:9092"), "m", only="c1")
TWO = MetricSource("c2", ("b9:9092",), "m", only="c2")


@dataclass
class FakeQuery:
    source: MetricSource
    error: Exception | None = None
    isActive: bool = True  # noqa: N815 pyspark's name
    lastProgress: dict[str, Any] | None = None  # noqa: N815 pyspark's name
    stopped: bool = False

    def exception(self) -> Exception | None:
        return self.error

    def stop(self) -> None:
        self.stopped, self.isActive = True, False

    def fails(self, words: str) -> None:
        self.error, self.isActive = RuntimeError(words), False

    def batch(self, number: int, *, rows: int = 0, done: int = 0, latest: int = 0) -> None:
        behind = [{"metrics": {"maxOffsetsBehindLatest": str(latest - done)}}]
        self.lastProgress = {
            "batchId": number,
            "numInputRows": rows,
            "timestamp": "2026-11-29T12:00:00.000Z",
            "durationMs": {"triggerExecution": 1500},
            "sources": behind,
        }


@dataclass
class Place:
    now: datetime = datetime(2026, 11, 29, 12, tzinfo=UTC)
    begun: list[FakeQuery] = field(default_factory=list)
    refused: str = ""

    def __post_init__(self) -> None:
        self.streams = Streams(self._begin, lambda: self.now)

    def _begin(self, source: MetricSource) -> FakeQuery:
        if self.refused:
            raise RuntimeError(self.refused)
        self.begun.append(FakeQuery(source))
        return self.begun[-1]

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.streams.step()

    def names(self) -> list[str]:
        return [query.source.name for query in self.begun]


def test_each_topic_has_a_query_of_its_own_and_one_that_is_wanted_no_more_ends() -> None:
    place = Place()
    place.streams.want((ONE, TWO))
    assert place.names() == ["c1", "c2"]
    place.streams.want((TWO,))
    assert [query.stopped for query in place.begun] == [True, False]
    assert [s.name for s in place.streams.status()] == ["c2"]


def test_one_that_fails_is_tried_again_later_and_later_and_the_others_go_on() -> None:
    place = Place()
    place.streams.want((ONE, TWO))
    other = place.begun[1]
    for n, pause_s in enumerate((5, 10, 20)):
        place.begun[-1 if n else 0].fails(
            "Call timed out\n\tat org.apache.kafka\nCaused by: java.net.ConnectException: refused"
        )
        place.streams.step()
        failed = place.streams.status()[0]
        assert (failed.state, failed.failures) == ("failed", n + 1)
        assert failed.error == "java.net.ConnectException: refused"
        assert failed.retry_at == place.now + timedelta(seconds=pause_s)
        place.passes(pause_s - 0.1)
        assert len(place.begun) == 2 + n
        place.passes(0.2)
        assert len(place.begun) == 3 + n
    assert not other.stopped


def test_the_pause_has_a_bound_and_a_batch_ends_the_row_of_failures_but_keeps_the_error() -> None:
    place = Place(refused="no such topic")
    place.streams.want((ONE,))
    for _ in range(20):
        place.passes(LONGEST_RETRY_S)
    assert place.streams.status()[0].retry_at == place.now + timedelta(seconds=LONGEST_RETRY_S)
    place.refused = ""
    place.passes(LONGEST_RETRY_S)
    assert place.streams.status()[0].state == "starting"
    place.begun[-1].batch(7, rows=10, done=10, latest=12)
    place.streams.step()
    told = place.streams.status()[0]
    assert (told.state, told.failures, told.error) == ("reading", 0, "no such topic")
    assert (told.batches, told.records, told.behind, told.batch_s) == (1, 10, 2, 1.5)


def test_a_batch_is_counted_once_however_often_it_is_looked_at() -> None:
    place = Place()
    place.streams.want((ONE,))
    for number, rows in ((0, 4), (0, 4), (1, 6)):
        place.begun[0].batch(number, rows=rows)
        place.streams.step()
    told = place.streams.status()[0]
    assert (told.batches, told.records, told.behind) == (2, 10, 0)


@pytest.mark.parametrize(
    ("now_at", "is_begun_anew"),
    [
        pytest.param(("b2:9092", "b3:9092"), False, id="one of its brokers is left"),
        pytest.param(("b3:9092", "b4:9092"), True, id="none is left"),
    ],
)
def test_a_query_begins_anew_only_where_all_its_brokers_were_replaced(
    now_at: tuple[str, ...], is_begun_anew: bool
) -> None:
    place = Place()
    place.streams.want((ONE,))
    place.streams.want((MetricSource("c1", now_at, "m", only="c1"),))
    assert place.begun[0].stopped is is_begun_anew
    assert len(place.begun) == 1 + is_begun_anew
    place.begun[-1].fails("gone")
    place.streams.step()
    place.passes(5)
    assert place.begun[-1].source.bootstrap == now_at, "the next try has the brokers of now"


def test_sources_come_back_from_the_link_as_they_were() -> None:
    sources = (ONE, TWO, replace(TWO, name="c3", tls=ReaderTls("a CA", "a certificate", "a key")))
    assert from_document(to_document(sources)) == sources


def test_another_certificate_begins_a_query_anew_and_the_same_one_does_not() -> None:
    place, first, second = Place(), ReaderTls("ca", "one", "key 1"), ReaderTls("ca", "two", "key 2")
    place.streams.want((replace(ONE, tls=first),))
    place.streams.want((replace(ONE, tls=ReaderTls("ca", "one", "key 1")),))
    assert len(place.begun) == 1
    place.streams.want((replace(ONE, tls=second),))
    assert place.begun[0].stopped
    assert [query.source.tls for query in place.begun] == [first, second]


def test_a_key_is_in_the_options_of_a_read_and_in_nothing_that_is_printed() -> None:
    source = replace(ONE, tls=ReaderTls("the CA", "the certificate", "the key"))
    assert read_options(None) == {}
    assert read_options(source.tls)["kafka.ssl.keystore.key"] == "the key"
    assert not {"kafka.ssl.keystore.location", "kafka.ssl.truststore.location"} & read_options(source.tls).keys()
    assert "the key" not in repr(source)


def test_a_checkpoint_lies_below_its_root_whatever_a_name_says() -> None:
    assert checkpoint_of("/home/ck/", ONE) == "/home/ck/c1"
    for name in ("../x", "a/b", "", "a b"):
        with pytest.raises(ValueError, match="no name for a checkpoint"):
            checkpoint_of("/home/ck", MetricSource(name, (), "m"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("no such topic", "no such topic"),
        (
            "[FOREACH_BATCH] An error\nCaused by: py4j.Py4JException: An exception was raised by the Python Proxy. "
            "Return Message: Traceback (most recent call last):\n  File lake.py\n"
            "delta.exceptions.captured.ConcurrentAppendException: [DELTA_CONCURRENT_APPEND] Please retry\n\tat a.b.C",
            "delta.exceptions.captured.ConcurrentAppendException: [DELTA_CONCURRENT_APPEND] Please retry",
        ),
        (
            "Query failed\nCaused by: java.util.concurrent.ExecutionException: wrapped\n"
            "Caused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host it.",
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host it.",
        ),
    ],
)
def test_an_error_is_told_in_the_words_of_whoever_failed(said: str, told: str) -> None:
    place = Place()
    place.streams.want((ONE,))
    place.begun[0].fails(said)
    place.streams.step()
    assert place.streams.status()[0].error == told
