"""Watches whether partitions keep enough in-sync replicas while a cluster is changed."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controlplane.kafka.errors import KafkaFault
from planner.observed import PartitionSeen, TopicPartition


@dataclass(frozen=True, slots=True)
class MinIsrReport:
    """`under_min_isr_s` is an upper bound: time between two samples counts when either of them saw a
    partition below.

    `unobserved_s` is time in which no sample could be taken.
    """

    samples: int
    under_min_isr_s: float
    unobserved_s: float
    by_partition: Mapping[TopicPartition, float]


class MinIsrObserver:
    """Samples every `every_s` seconds from `start()` to `stop()`. `read` is usually
    `AdminGateway.partitions`."""

    def __init__(
        self,
        read: Callable[[], tuple[PartitionSeen, ...]],
        *,
        every_s: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._every_s, self._clock = read, every_s, clock
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_at: float | None = None
        self._last_below: frozenset[TopicPartition] = frozenset()
        self._samples = 0
        self._under_s = self._unobserved_s = 0.0
        self._by_partition: dict[TopicPartition, float] = {}

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="min-isr-observer", daemon=True)
        self._thread.start()

    def stop(self) -> MinIsrReport:
        """End the thread and report."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(15)
        return self.report()

    def report(self) -> MinIsrReport:
        """What was seen so far."""
        return MinIsrReport(self._samples, self._under_s, self._unobserved_s, dict(self._by_partition))

    def sample(self) -> None:
        """Look once and book the time since the last look."""
        try:
            below = frozenset(p.name for p in self._read() if len(p.isr) < p.min_isr)
        except KafkaFault:
            self._unobserved_s += self._elapsed()
            return
        elapsed = self._elapsed()
        self._samples += 1
        either = below | self._last_below
        if either:
            self._under_s += elapsed
        for name in either:
            self._by_partition[name] = self._by_partition.get(name, 0.0) + elapsed
        self._last_below = below

    def _run(self) -> None:
        while not self._stop.is_set():
            self.sample()
            self._stop.wait(self._every_s)

    def _elapsed(self) -> float:
        now = self._clock()
        elapsed = 0.0 if self._last_at is None else now - self._last_at
        self._last_at = now
        return elapsed
