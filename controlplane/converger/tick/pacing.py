"""When a cluster is due: at rest once in its round, where ticks fail less and less often, and never twice at a time."""

from collections.abc import Callable
from datetime import datetime, timedelta

from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.tick.failing_ticks import FailingTicks
from controlplane.converger.tick.rounds import round_of
from controlplane.converger.tick.turns import Turns
from events.clock import Clock
from events.ids import ClusterUid


class Pacing:
    """Remembers, by cluster, who waits for its turn, whose ticks fail, and whose tick runs."""

    def __init__(self, clock: Clock, rest: timedelta) -> None:
        """`rest`: how long a cluster without work is left alone."""
        self._clock, self._rest = clock, rest
        self.failing = FailingTicks()
        self.turns = Turns()
        self._waiting: dict[ClusterUid, int] = {}
        """Version of the stream at which its last tick waited for a window, or for earlier stages."""

    def is_due(
        self, view: ClusterView, said_at: datetime | None, *, asked: bool, hears_of: Callable[[ClusterView], bool]
    ) -> bool:
        """Whether it is ticked now. `said_at`: when its last tick ended; `asked`: somebody rang for it; `hears_of`:
        whether agents found something wrong in it."""
        # Who waits for its turn waits for hours: nothing of it is in a hurry until something is recorded.
        busy = has_work(view) and self._waiting.get(view.uid) != view.version
        if self.turns.is_running(view.uid, asked=asked):
            return False
        rests = said_at is not None and not busy and self._rests(view.uid, said_at)
        # Of a VM that is taken back in half a minute the next round would hear late.
        if rests and not (asked and hears_of(view)):
            return False
        return not self.failing.rests(view.uid, self._clock())

    def waits_its_turn(self, view: ClusterView, *, waits: bool) -> None:
        """Whether the tick of it that ends waits for a window, or for earlier stages."""
        self._waiting[view.uid] = view.version if waits else -1

    def let_go_on(self) -> None:
        """Freezes have changed: who waited may go on."""
        self._waiting.clear()

    def _rests(self, uid: ClusterUid, since: datetime) -> bool:
        if not self._rest:
            return False
        return round_of(uid, self._clock(), self._rest) == round_of(uid, since, self._rest)
