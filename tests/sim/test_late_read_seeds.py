"""Seeded lives of clusters whose server dies while what it reads is late: the next one, which knows what is recorded
and nothing else, begins with readings of a moment ago, or with outcomes of runs that it never began."""

from collections.abc import Callable
from typing import Any

import pytest

from providers.handover import Handover
from tests.builders import a_document
from tests.sim.faults import Trouble
from tests.sim.lateness import LateWorld
from tests.sim.sessions import OLDEST_S
from tests.sim.sweep import sweep


class Late(Trouble):
    """All the usual trouble; and readings are late, most of all when a server has just died."""

    def __init__(self, world: LateWorld, *, chance: float, **spec: Any) -> None:
        super().__init__(world, chance=chance, settings=True, asking=True, rivals=True, **spec)
        self._late_world = world
        self.deaths = 0
        faults: tuple[tuple[str, Callable[[], bool]], ...] = (
            ("Kafka is read late, and the server dies", lambda: self._kafka_late() and self._and_dies()),
            ("the cloud is read late, and the server dies", lambda: self._cloud_late() and self._and_dies()),
            ("outcomes are told late, and the server dies", lambda: self._outcomes_late() and self._and_dies()),
            ("all is read late, and the server dies", self._all_late),
        )
        self._faults = (*self._faults, *(fault for fault in faults for _ in range(6)))

    def stop(self) -> None:
        self._timely()
        super().stop()

    def _restarting(self) -> bool:
        """While Kafka is read late no broker dies: whoever looks is told of it too late, which is nobody's fault."""
        return self._late_world.kafka.late_s > 0 or super()._restarting()

    def _kafka_late(self) -> bool:
        if self._restarting() or self._world.kafka.under_min_isr():
            return False
        self._late_world.kafka.late_s = self._random.uniform(2.0, OLDEST_S)
        self._later(self._random.choice((5.0, 20.0, 60.0)), self._timely)
        return True

    def _cloud_late(self) -> bool:
        self._late_world.machines.late_s = self._random.uniform(2.0, OLDEST_S)
        self._later(self._random.choice((5.0, 20.0, 60.0)), self._timely)
        return True

    def _outcomes_late(self) -> bool:
        self._world.told_late_s = self._random.uniform(2.0, 30.0)
        self._later(self._random.choice((20.0, 60.0)), self._timely)
        return True

    def _all_late(self) -> bool:
        return self._cloud_late() and self._outcomes_late() and self._kafka_late() and self._and_dies()

    def _and_dies(self) -> bool:
        """At once, or in the middle of what it does next; now and then two more in a row."""
        self._server_dies()
        for seconds in (3.0, 6.0)[: self._random.choice((0, 0, 1, 2))]:
            self._later(seconds, self._dies_again)
        self.deaths += 1
        return True

    def _dies_again(self) -> None:
        self._server_dies()

    def _timely(self) -> None:
        self._late_world.kafka.late_s = self._late_world.machines.late_s = self._world.told_late_s = 0.0


def late_roll(seed: int, *, steps: int = 250) -> LateWorld:
    """A roll whose servers die while they read late. Every other seed hands disks over, every third has six brokers,
    and in every fourth an old VM goes before its address and disk pass."""
    spec: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
    spec |= {"brokers": 6 if seed % 3 == 0 else 3}
    world = LateWorld(seed=seed)
    world.machines.handover = Handover.DELETE_FIRST if seed % 4 == 0 else Handover.REBIND
    world.declare(a_document(**spec))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_document(**{**spec, "version": "4.2.0"}))
    trouble = Late(world, chance=0.15, **spec)
    trouble.lasts(steps)
    world.converge(ticks=1500)
    assert trouble.deaths
    return world


@pytest.mark.parametrize("seed", range(40001, 40003))
def test_it_converges_though_servers_die_while_they_read_late(seed: int) -> None:
    late_roll(seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_it_converges_though_many_more_servers_die_while_they_read_late() -> None:
    sweep("late_roll", range(40003, 40200), late_roll)
