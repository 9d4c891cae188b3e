"""Brokers of the fake that serve, and are slow to catch up: they leave their ISRs and stay out of them for a while, as
after a crash, or behind a slow disk. Part of `FakeKafka`."""

from collections.abc import Callable

from planner.observed import TopicPartition
from tests.fakes.kafka_parts import FakeBroker, FakePartition


class LaggardCalls:
    """What a test or the simulator does."""

    _brokers: dict[int, FakeBroker]
    _partitions: dict[TopicPartition, FakePartition]
    _seconds: float
    _settle: Callable[[], None]
    _note_falls: Callable[[str], None]

    def fall_behind(self, broker: int) -> None:
        """Out of each ISR that it is not alone in, until it may `catch_up`."""
        self._brokers[broker].lags = True
        for p in self._partitions.values():
            if p.isr != [broker]:
                p.leave_isr(broker)
        self._note_falls(f"broker {broker} fell behind")
        self._settle()

    def lose_session(self, broker: int) -> None:
        """ZooKeeper ends the session of a broker that runs: to the others it is dead, until it registers anew."""
        self._brokers[broker].fence_at = self._seconds
        self._settle()

    def catch_up(self) -> None:
        """Nobody lags any more."""
        for broker in self._brokers.values():
            broker.lags = False
        self._settle()

    def lagging(self) -> frozenset[int]:
        """Brokers that serve and are kept out of their ISRs."""
        return frozenset(b.id for b in self._brokers.values() if b.lags)
