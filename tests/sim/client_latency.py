"""What clients of simulated brokers wait for: longer, the more copies a broker reads and writes.

Their p99 is told as Kafka's reservoir tells it: it rises at once and forgets over minutes. The mean is of now.
"""

import math
from dataclasses import dataclass, field
from datetime import datetime

from tests.fakes.kafka import FakeKafka
from tests.fakes.kafka_parts import transfers

FORGETS_S = 60.0
"""In so long a p99 that has passed falls to a third."""


@dataclass(slots=True)
class ClientLatency:
    """Of a cluster. At `knee_bytes_per_s` of copies through a broker its clients wait twice as long as without any."""

    knee_bytes_per_s: float = math.inf
    idle_p99_ms: float = 10.0
    silent: set[int] = field(default_factory=set)
    """Brokers whose agents tell nothing of it."""
    told: dict[int, tuple[datetime, float]] = field(default_factory=dict)
    highest: dict[int, float] = field(default_factory=dict)
    """The longest that clients really waited, by broker (p99, ms)."""

    def figures(self, kafka: FakeKafka, broker: int, at: datetime) -> dict[str, float]:
        """As the agent of this broker tells them."""
        if broker in self.silent:
            return {}
        strained = self.strain(kafka, broker)
        now = self.idle_p99_ms * strained
        before, p99 = self.told.get(broker, (at, now))
        p99 = max(now, p99 * math.exp(-(at - before).total_seconds() / FORGETS_S))
        self.told[broker] = at, p99
        self.highest[broker] = max(now, self.highest.get(broker, 0.0))
        return {
            "produce_p99_ms": p99,
            "produce_mean_ms": self.idle_p99_ms / 5 * strained,
            "request_queue": 0.0,
            "request_handler_idle": max(0.0, 1 - 0.2 * strained),
        }

    def strain(self, kafka: FakeKafka, broker: int) -> float:
        """How many times as long as without copies."""
        copies = transfers(kafka._partitions.values(), kafka._brokers, kafka.throttles.plan, kafka.link_bytes_per_s)
        through = sum(t.bytes_per_s for t in copies if broker in (t.source, t.destination))
        return 1 + (through / self.knee_bytes_per_s) ** 2
