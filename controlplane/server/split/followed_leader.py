"""The server that leads, as a process sees it that answers agents beside it: by the lease, the log and what it told.

An agent hears a document under the epoch of whoever leads. One that is made here is of the same log, and of all of it
that was recorded before the agent asked (`DocumentOffers`), so it is never older than what another process told.
"""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from controlplane.cluster.observed.agent_telemetry import AgentTelemetry, leaders_telemetry
from controlplane.runtime.process_errors import TROUBLES, Troubles
from controlplane.storage.latest_values import LatestStore
from controlplane.storage.lease import Lease, LeaseStore
from controlplane.storage.lease_holder import CONVERGE
from events.ids import Epoch

FOLLOWED_FOR_S = 10.0
"""A lease that was not read for so long says nothing any more: no document is told, and agents go on with theirs."""
LOOK_EVERY_S = 1.0
"""Also where no word of the database comes through."""
_TASK = "following the leader"


class FollowedLeader:
    """`HeldLeadership` of who follows: never leads. Thread-safe; only `look` asks the database."""

    may_act = False

    def __init__(
        self, leases: LeaseStore, latest: LatestStore, *, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._leases, self._latest, self._monotonic_s = leases, latest, monotonic_s
        self._read: tuple[Lease | None, float] | None = None
        self._telemetry: AgentTelemetry | None = None

    def look(self) -> None:
        """Reads who leads. Raises StoreUnavailable."""
        asked_at_s = self._monotonic_s()
        lease = self._leases.held(CONVERGE)
        self._telemetry = leaders_telemetry(self._latest) or self._telemetry
        self._read = lease, asked_at_s

    def held_epoch(self) -> Epoch | None:
        """That of who leads, as far as it was seen within the last seconds, once that has told what agents send."""
        lease = self._seen()
        return lease.epoch if lease is not None and self._telemetry is not None else None

    def telemetry(self) -> AgentTelemetry:
        """What agents are to send."""
        return self._telemetry or AgentTelemetry()

    def why_not(self) -> str:
        """Why no document is told now, "" while they are."""
        if self._read is None or self._monotonic_s() - self._read[1] > FOLLOWED_FOR_S:
            return f"the database was not read for {FOLLOWED_FOR_S:.0f} s"
        if self._seen() is None:
            return "no server leads"
        return "" if self._telemetry is not None else "the server that leads has not told what agents send"

    def _seen(self) -> Lease | None:
        read = self._read
        return read[0] if read is not None and self._monotonic_s() - read[1] <= FOLLOWED_FOR_S else None


class ReadsAlong(Protocol):
    """All clusters, folded here: `Converger` is one."""

    def catch_up(self) -> None: ...


class LogFollower:
    """Reads the log and the lease on a thread of its own: when it is rung for, and each second."""

    def __init__(
        self,
        fleet: ReadsAlong,
        leader: FollowedLeader,
        *,
        every_s: float = LOOK_EVERY_S,
        troubles: Troubles = TROUBLES,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleet, self._leader, self._every_s, self._troubles = fleet, leader, every_s, troubles
        self._monotonic_s = monotonic_s
        self._looked_s = float("-inf")
        self._rung, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def ring(self, _message: str = "") -> None:
        """Something was recorded. For any thread."""
        self._rung.set()

    def follow(self) -> None:
        """One look at the log, and at the lease where that is due. Raises EventsError."""
        self._fleet.catch_up()
        now_s = self._monotonic_s()
        if now_s - self._looked_s >= self._every_s:
            self._leader.look()
            self._looked_s = now_s

    def start(self) -> None:
        """Begins to follow."""
        self._thread.start()

    def stop(self) -> None:
        """No look is under way after this."""
        self._stop.set()
        self._rung.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._rung.wait(self._every_s)
            self._rung.clear()
            if not self._stop.is_set():
                with self._troubles.turn(_TASK):
                    self.follow()
