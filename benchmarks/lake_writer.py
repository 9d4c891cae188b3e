"""The metric lake of a living cluster without a Spark session beside its brokers: the messages are those of real
agents, their windows are closed by the stream's own kernel and written to a real Delta table.

Rows of a quarter of an hour have no half an hour of warm-up and past to wait for: their brokers' first healthy minute
stands for both. The whole chain, with a real past, is `tests/e2e/test_anomalies.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from deltalake import write_deltalake

from spark.metrics.columns import to_table
from spark.metrics.kernel import MINUTE_MS, WindowFigures, windows_of_broker
from spark.metrics.topic import TOPIC
from spark.metrics.wire import MetricsMessage, decode

DAY_MS = 86_400_000
PAST = 20


class LakeWriter:
    """Closes the minutes of every broker into a Delta table as they come."""

    def __init__(self, lake: Path, bootstrap: Sequence[str]) -> None:
        self._table = str(lake / "windows")
        self._consumer = Consumer(
            {
                "bootstrap.servers": ",".join(bootstrap),
                "group.id": "lake",
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        self._consumer.subscribe([TOPIC])
        self.minutes: dict[int, list[WindowFigures]] = {}

    def read(self) -> None:
        """Takes in what has come; a first message of a broker has no latencies and is left out."""
        while (record := self._consumer.poll(0.2)) is not None:
            if record.error() is not None:
                continue
            message = decode(record.value() or b"")
            if message.figures["produce_local_p99_ms"] >= 0:
                window = self._minute(message)
                self.minutes.setdefault(message.broker, []).append(window)
                write_deltalake(self._table, to_table([window]), mode="append", partition_by=["width_s", "day"])

    def remember(self) -> None:
        """The healthy minutes so far as each broker's past."""
        for windows in self.minutes.values():
            for back in range(1, PAST + 1):
                old = [self._earlier(windows[-1], back)]
                write_deltalake(self._table, to_table(old), mode="append", partition_by=["width_s", "day"])

    def close(self) -> None:
        self._consumer.close()

    def _minute(self, message: MetricsMessage) -> WindowFigures:
        window = windows_of_broker([message], width_ms=5 * MINUTE_MS)[0]
        return _changed(window, broker_started_ms=message.interval_start_ms - DAY_MS)

    def _earlier(self, window: WindowFigures, back: int) -> WindowFigures:
        return _changed(window, start_ms=window.start_ms - (10 + back) * MINUTE_MS)


def _changed(window: WindowFigures, **changes: int) -> WindowFigures:
    names = ("cluster", "broker", "node", "start_ms", "width_ms", "broker_started_ms", "expected", "received")
    values: dict[str, Any] = {name: getattr(window, name) for name in (*names, "partitions", "figures")}
    return WindowFigures(**{**values, **changes})
