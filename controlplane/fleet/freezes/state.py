"""Keeps the freezes folded, and answers which are in force: a comparison of two times while none begins or ends."""

import threading
from dataclasses import dataclass
from datetime import UTC, datetime

from controlplane.fleet.freezes.fold import FreezeFold, evolve
from controlplane.storage.streams import FREEZES
from events.envelope import Recorded
from planner.rollout.windows import Freeze

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _CurrentFreezes:
    """What is not over, and until when that is so."""

    freezes: tuple[Freeze, ...]
    until: datetime


class FreezeCache:
    """Thread-safe. `of_settings` are the freezes of the server's settings: nobody thaws those."""

    def __init__(self, of_settings: tuple[Freeze, ...] = ()) -> None:
        self.of_settings = of_settings
        self._lock = threading.Lock()
        self._fold = FreezeFold()
        self._known = self._look(None)

    def fold(self) -> FreezeFold:
        """As of what was taken in."""
        return self._fold

    def left(self, now: datetime) -> tuple[Freeze, ...]:
        """All freezes that are not over: those in force, and those of the settings that are still to come."""
        if now >= self._known.until:
            with self._lock:
                self._known = self._look(now)
        return self._known.freezes

    def silencing(self, at: datetime) -> tuple[Freeze, ...]:
        """Freezes that kept notices back at that time, those that are over by now among them."""
        of_settings = (f for f in self.of_settings if f.begins <= at < f.ends)
        declared = (d.freeze for d in self._fold.by_id.values() if d.held(at))
        return tuple(f for f in (*of_settings, *declared) if f.silence)

    def take_in(self, recorded: Recorded) -> bool:
        """Folds an event of the stream; whether it was one, and new."""
        if recorded.stream != FREEZES:
            return False
        with self._lock:
            if recorded.version <= self._fold.version:
                return False
            self._fold = evolve(self._fold, recorded)
            self._known = self._look(None)
        return True

    def _look(self, now: datetime | None) -> _CurrentFreezes:
        """Without a time nothing is over yet: the next who asks has one."""
        declared = (d.freeze for d in self._fold.by_id.values() if d.thaw is None)
        left = tuple(f for f in (*self.of_settings, *declared) if now is None or now < f.ends)
        return _CurrentFreezes(left, min((f.ends for f in left), default=_NEVER))
