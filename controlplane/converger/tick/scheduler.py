"""When ticks happen: at an interval, and at once when something rings. Only the leader acts; others read along."""

import logging
import threading
from collections.abc import Callable, Collection
from typing import Protocol

from apscheduler.schedulers.background import BackgroundScheduler

from controlplane.converger.tick.beats import Beating, LoopWatch
from controlplane.runtime.process_errors import TROUBLES
from controlplane.storage.lease import LostLeadership
from controlplane.storage.lease_holder import Candidate
from events.errors import EventsError
from events.ids import Epoch

_log = logging.getLogger(__name__)

EVERYBODY = ""
"""Rung instead of a uid when it is not known who changed."""

FEW = 100
"""Up to so many clusters that rang are ticked alone; above, a tick of all costs little more."""

MIN_SPACING_S = 0.2
"""Between the end of one tick and the next that was rung for, unless that cannot wait."""


class Bell:
    """A hint that something changed. Ringing often is ringing once: ticks look at the world, not at hints."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rung: set[str] = set()
        self._is_urgent = False

    def ring(self, uid: str = EVERYBODY, *, at_once: bool = False) -> None:
        """Asks for a tick soon, of that cluster or of all. `at_once` is for what is rare and is waited for."""
        with self._changed:
            self._rung.add(uid)
            self._is_urgent |= at_once
            self._changed.notify_all()

    def rest(self, timeout_s: float) -> None:
        """Lets rings gather, until one cannot wait."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_urgent, timeout_s)

    def wait(self, timeout_s: float) -> frozenset[str]:
        """Waits for a ring and takes all there are: the uids that rang, empty when nobody did in time."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._rung), timeout_s)
            rung, self._rung, self._is_urgent = frozenset(self._rung), set(), False
            return rung


class Ticks(Protocol):
    """What is to be done at each beat."""

    def tick(self, *, only: Collection[str] | None = None) -> object:
        """One tick of the fleet, or of the clusters named. Raises LostLeadership, EventsError."""

    def catch_up(self) -> None:
        """Reads what others recorded. Raises EventsError."""


class Scheduler:
    """Beats on threads between `start` and `stop`. `on_lead` is called with each new epoch before its first tick."""

    def __init__(
        self,
        ticks: Ticks,
        candidate: Candidate,
        bell: Bell,
        *,
        interval_s: float,
        on_lead: Callable[[Epoch], object],
        watch: LoopWatch | None = None,
    ) -> None:
        """`watch` remembers the last beats."""
        self._ticks = ticks
        self._candidate = candidate
        self._bell = bell
        self._interval_s = interval_s
        self._on_lead = on_lead
        self._watch = watch or LoopWatch()
        self._epoch: Epoch | None = None
        self._beating = threading.Lock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._clock = BackgroundScheduler(timezone="UTC")

    def start(self) -> None:
        """Asks for the lease, then beats."""
        self._candidate.step()
        self._threads = [
            threading.Thread(target=self._candidate.run, args=(self._stop,), name="lease", daemon=True),
            threading.Thread(target=self._answer_bell, name="bell", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        self._clock.add_job(
            self.beat, "interval", seconds=self._interval_s, max_instances=1, coalesce=True, misfire_grace_time=None
        )
        self._clock.start()
        self._bell.ring()

    def stop(self) -> None:
        """No beat begins after this returns, and none is under way. The lease is still held."""
        self._stop.set()
        self._bell.ring()
        if self._clock.running:
            self._clock.shutdown(wait=True)
        for thread in self._threads:
            thread.join(timeout=10)

    def beat(self, *, waiting: bool = False, only: Collection[str] | None = None) -> None:
        """One beat, of all clusters or `only` some. While another is under way: nothing, or with `waiting` after it."""
        if not self._beating.acquire(blocking=waiting):
            return
        try:
            # What nobody foresaw must not end the thread that answers the bell: no ring would be heard any more.
            with TROUBLES.turn("loop"):
                self._try_beat(only)
        finally:
            self._beating.release()

    def _try_beat(self, only: Collection[str] | None) -> None:
        try:
            if not self._stop.is_set():
                with self._watch.beat(only) as beating:
                    self._beat(only, beating)
        except LostLeadership as lost:
            _log.info("not acting: %s", lost)
        except EventsError as error:
            _log.warning("no tick: %s", error)

    def _beat(self, only: Collection[str] | None, beating: Beating) -> None:
        if not self._candidate.may_act:
            self._ticks.catch_up()
            return
        epoch = self._candidate.epoch()
        if epoch != self._epoch:
            self._on_lead(epoch)
            self._epoch = epoch
            only = None
        beating.ticked(self._ticks.tick(only=only))

    def _answer_bell(self) -> None:
        while not self._stop.is_set():
            if rung := self._bell.wait(1.0):
                # What rang may have changed after the beat under way had looked: wait for it and look again.
                few = EVERYBODY not in rung and len(rung) <= FEW
                self.beat(waiting=True, only=rung if few else None)
                self._bell.rest(MIN_SPACING_S)
