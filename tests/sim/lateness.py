"""Readings that arrive after the world has moved on: of Kafka and of the cloud, honestly dated, and the outcomes of
runs and plans that were over a while ago."""

from collections import deque
from datetime import datetime, timedelta
from typing import TypeVar

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import InventorySeen
from planner.observed import KafkaSnapshot
from tests.fakes.kafka import FakeKafka
from tests.sim.machines import Machines
from tests.sim.sessions import OLDEST_S
from tests.sim.world import World

Seen = TypeVar("Seen", KafkaSnapshot, InventorySeen)


class LateKafka(FakeKafka):
    """Answers as it was `late_s` ago, at most `OLDEST_S`: so long a reading lasts."""

    def __init__(self, **about: object) -> None:
        super().__init__(**about)  # type: ignore[arg-type]
        self.late_s = 0.0
        self._past: deque[KafkaSnapshot] = deque()

    def snapshot(self) -> KafkaSnapshot:
        now = super().snapshot()
        return _as_of(self._past, now, now.at - timedelta(seconds=self.late_s)) if self.late_s else now

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        if not self.outage and self._leader != -1 and self._serving():
            _keep(self._past, super().snapshot())


class LateMachines(Machines):
    """Listed as they were `late_s` ago."""

    def __init__(self, *about: object) -> None:
        super().__init__(*about)  # type: ignore[arg-type]
        self.late_s = 0.0
        self._past: deque[InventorySeen] = deque()

    def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
        now = super().seen(view, newer_than=newer_than)
        _keep(self._past, now)
        return _as_of(self._past, now, now.at - timedelta(seconds=self.late_s)) if self.late_s else now


class LateWorld(World):
    """A world whose servers may read late."""

    kafka_type = LateKafka
    kafka: LateKafka
    machines: LateMachines

    def make_machines(self) -> Machines:
        return LateMachines(self.kafka, self.latest, self.clock)


def _keep(past: deque[Seen], seen: Seen) -> None:
    past.append(seen)
    while past[0].at < seen.at - timedelta(seconds=OLDEST_S + 1):
        past.popleft()


def _as_of(past: deque[Seen], now: Seen, then: datetime) -> Seen:
    return next((seen for seen in reversed(past) if seen.at <= then), now)
