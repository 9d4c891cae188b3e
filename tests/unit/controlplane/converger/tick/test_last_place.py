"""The fleet's last place: clusters on threads that all want it at the same moment, and one that gets it."""

import threading
from collections import Counter
from typing import Any

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.situation import Allowance
from controlplane.converger.tick.fleet_brake import FleetBrake
from tests.unit.controlplane.converger.tick.test_converger_fleet import MANY, WAIT_S, Fleet, surges


class Door:
    """A lock that knows how many wait for it."""

    def __init__(self) -> None:
        self.waiting, self.changed = 0, threading.Condition()
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._count(1)
        self._lock.acquire()
        self._count(-1)

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _count(self, more: int) -> None:
        with self.changed:
            self.waiting += more
            self.changed.notify_all()


class LastPlace(FleetBrake):
    """One place. Every cluster counts it free before one takes it, and who takes it goes on once all others stand at
    the door, or one is beside it.
    """

    def __init__(self) -> None:
        self.door: Any = Door()
        self.all_have_counted = threading.Barrier(len(MANY))
        self.counts: Counter[str] = Counter()
        self.inside = 0
        super().__init__(max_rolling=1, taking=self.door)

    def allowance(self, view: ClusterView) -> Allowance:
        allowed = super().allowance(view)
        self.counts[view.uid] += 1
        if self.counts[view.uid] == 1:
            self.all_have_counted.wait(WAIT_S)
        elif self.counts[view.uid] == 2:
            with self.door.changed:
                self.inside += 1
                self.door.changed.notify_all()
                self.door.changed.wait_for(self._may_go_on, WAIT_S)
        return allowed

    def _may_go_on(self) -> bool:
        return self.inside > 1 or self.door.waiting == len(MANY) - 1


def test_on_many_threads_no_two_clusters_take_the_last_place() -> None:
    brake = LastPlace()
    fleet = Fleet(*MANY, workers=len(MANY), brake=brake)
    fleet.converger.catch_up()
    for uid in MANY:
        fleet.declare(uid)
    fleet.tick()
    fleet.converger.settle(WAIT_S)
    assert brake.inside == len(MANY), "each came to the door after it had counted the place free"
    assert len(surges(fleet)) == 1
    fleet.converger.close()
