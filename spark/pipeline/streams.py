"""The streams of the metric pipeline inside its process: one query a topic, all in one Spark session.

A query a topic and not one query over all: brokers that cannot be reached fail the query that reads them, and the other
clusters are read on. What a query was at is in its checkpoint and in the lake, so one that failed is started again.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, Protocol

from spark.pipeline.sources import MetricSource, Sources
from spark.pipeline.status import StreamStatus

FIRST_RETRY_S, LONGEST_RETRY_S = 5.0, 300.0
_LONGEST_ERROR = 400
_NAMED = re.compile(r"(Caused by: )?[\w.$]+(Exception|Error): ")
_SHELLS = ("py4j.", "Python Proxy", "Traceback", "StreamingQueryException", "java.util.concurrent.")
"""What Spark and Py4J put around the words of whoever failed."""


class Query(Protocol):
    """A started query; pyspark's `StreamingQuery` is one."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 pyspark's name

    @property
    def lastProgress(self) -> Mapping[str, Any] | None: ...  # noqa: N802 pyspark's name

    def exception(self) -> Exception | None: ...

    def stop(self) -> None: ...


@dataclass(slots=True)
class _Stream:
    source: MetricSource
    query: Query | None = None
    """None while it waits for its next try."""
    began: tuple[str, ...] = ()
    """The brokers its query was started with."""
    failures: int = 0
    error: str = ""
    error_at: datetime | None = None
    retry_at: datetime | None = None
    batches: int = 0
    records: int = 0
    last_batch: int = -1
    progress: dict[str, Any] = field(default_factory=dict)


class Streams:
    """Thread-safe. `begin` starts the query of a source and raises what pyspark raises."""

    def __init__(self, begin: Callable[[MetricSource], Query], clock: Callable[[], datetime]) -> None:
        self._begin, self._clock = begin, clock
        self._lock = threading.Lock()
        self._streams: dict[str, _Stream] = {}

    def want(self, sources: Sources) -> None:
        """From now on these are read, and no others: what is new begins, what is gone ends after its batch.

        A stream whose brokers have all been replaced begins again with those of now; one that still knows some of them
        has the others from Kafka. One with another certificate begins again with that: Kafka's client reads it once.
        """
        wanted = {source.name: source for source in sources}
        with self._lock:
            for name in [name for name in self._streams if name not in wanted]:
                _end(self._streams.pop(name))
            for name, source in wanted.items():
                stream = self._streams.setdefault(name, _Stream(source))
                before = stream.source
                is_other = (before.topic, before.only, before.tls) != (source.topic, source.only, source.tls)
                stream.source = source
                if stream.query is not None and (is_other or not set(stream.began) & set(source.bootstrap)):
                    _end(stream)
        self.step()

    def step(self) -> None:
        """Starts what is due, and sees which have failed. Call it every few seconds."""
        with self._lock:
            for stream in self._streams.values():
                self._look_at(stream)
                if stream.query is None and (stream.retry_at is None or stream.retry_at <= self._clock()):
                    self._start(stream)

    def status(self) -> tuple[StreamStatus, ...]:
        """Of each, by name."""
        with self._lock:
            return tuple(_status(self._streams[name]) for name in sorted(self._streams))

    def stop(self) -> None:
        """Ends all of them, each after the batch it is at."""
        with self._lock:
            for stream in self._streams.values():
                _end(stream)
            self._streams.clear()

    def _start(self, stream: _Stream) -> None:
        try:
            stream.query = self._begin(stream.source)
        except Exception as error:  # noqa: BLE001 one topic's must not end the others; the status tells
            self._failed(stream, error)
        else:
            stream.began, stream.retry_at, stream.last_batch = stream.source.bootstrap, None, -1

    def _look_at(self, stream: _Stream) -> None:
        query = stream.query
        if query is None:
            return
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != stream.last_batch:
            fresh = stream.last_batch < 0 or progress["batchId"] > stream.last_batch
            stream.last_batch = progress["batchId"]
            stream.progress = dict(progress)
            stream.batches += fresh
            stream.records += int(progress.get("numInputRows") or 0)
            stream.failures, stream.retry_at = 0, None
        elif progress is not None:
            stream.progress = dict(progress)
        if not query.isActive:
            self._failed(stream, query.exception())

    def _failed(self, stream: _Stream, error: Exception | None) -> None:
        now = self._clock()
        stream.query, stream.error, stream.error_at = None, _words(error), now
        pause_s = min(LONGEST_RETRY_S, FIRST_RETRY_S * 2.0 ** min(stream.failures, 16))
        stream.failures += 1
        stream.retry_at = now + timedelta(seconds=pause_s)


def checkpoint_of(root: str, source: MetricSource) -> str:
    """Where a stream keeps its place: below `root`, a path or URL, by the name of its source. Raises ValueError."""
    if not source.name.replace("-", "").isalnum() or len(PurePosixPath(source.name).parts) != 1:
        raise ValueError(f"{source.name!r} is no name for a checkpoint: expected letters, digits and dashes")
    return f"{root.rstrip('/')}/{source.name}"


def _end(stream: _Stream) -> None:
    query, stream.query, stream.retry_at = stream.query, None, None
    if query is not None:
        query.stop()


def _status(stream: _Stream) -> StreamStatus:
    progress = stream.progress
    has_batch = bool(progress)
    waits = stream.query is None
    return StreamStatus(
        name=stream.source.name,
        topic=stream.source.topic,
        state="failed" if waits and stream.error else "reading" if has_batch and not waits else "starting",
        batches=stream.batches,
        records=stream.records,
        behind=_behind(progress) if has_batch else None,
        batch_s=_took_s(progress) if has_batch else None,
        batch_at=_moment(progress.get("timestamp")),
        failures=stream.failures,
        error=stream.error,
        error_at=stream.error_at,
        retry_at=stream.retry_at,
    )


def _behind(progress: Mapping[str, Any]) -> int | None:
    """By Kafka's source itself: records that were there and not in the batch, of the partition farthest back."""
    told = [(source.get("metrics") or {}).get("maxOffsetsBehindLatest") for source in progress.get("sources") or ()]
    return max((int(float(text)) for text in told if text is not None), default=None)


def _took_s(progress: Mapping[str, Any]) -> float | None:
    took_ms = (progress.get("durationMs") or {}).get("triggerExecution")
    return None if took_ms is None else took_ms / 1000


def _moment(text: str | None) -> datetime | None:
    return None if not text else datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def _words(error: Exception | None) -> str:
    """What is behind it: Spark wraps a broker's words into its own, and a Java trace follows."""
    if error is None:
        return "the stream ended without a word"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if _NAMED.match(line) and not any(shell in line for shell in _SHELLS)]
    told = named[-1].removeprefix("Caused by: ") if named else lines[0] if lines else repr(error)
    return told[:_LONGEST_ERROR]
