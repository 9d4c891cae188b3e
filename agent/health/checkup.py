"""Takes the vitals of one service at its own pace and remembers enough of them to judge."""

from collections.abc import Callable

from agent.health.judge import judge
from agent.health.progress import MEASURED_OVER_S, HealthProgress, measure
from agent.health.vitals import Vitals, VitalsFinding

HISTORY_S = 3600.0
FORGET_S = 120.0
"""A service that has not answered for so long is not judged by what it said before: unknown is not unhealthy, nor
healthy."""

PROGRESS_FORGET_S = 30.0
"""How far it came before says nothing of now. What is wrong with it is kept for longer, and not acted on then."""


class Checkup:
    """The history of one process, what is wrong with it, and how far it comes. Another pid begins a new history.

    Of a process that starts nothing is found wrong; how far it comes is all that is measured.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._history: list[Vitals] = []
        self._recent: list[Vitals] = []
        """Enough to tell how far it came, from its start on."""
        self._asked_s = float("-inf")
        self._serves = False
        self.findings: tuple[VitalsFinding, ...] = ()
        self.progress: tuple[HealthProgress, ...] = ()

    def look(self, now_s: float, pid: int, take: Callable[[], Vitals | None], *, serves: bool = True) -> None:
        """Asks for a sample if the last is old enough. `take` gives None when the service does not tell."""
        if self._recent and self._recent[-1].pid != pid:
            self.forget()
        if serves != self._serves:
            self._serves, self._history, self.findings = serves, [], ()
            self._asked_s = float("-inf")
        if now_s - self._asked_s < self._every_s:
            return
        self._asked_s = now_s
        vitals = take()
        if vitals is not None:
            self._recent = [v for v in (*self._recent, vitals) if now_s - v.at_s <= 2 * MEASURED_OVER_S]
            self.progress = measure(self._recent)
            if serves:
                self._history = [v for v in (*self._history, vitals) if now_s - v.at_s <= HISTORY_S]
                self.findings = judge(self._history, self.findings)
            return
        silent_s = now_s - self._recent[-1].at_s if self._recent else 0.0
        if silent_s > PROGRESS_FORGET_S:
            self.progress = ()
        if silent_s > FORGET_S:
            self.forget()

    def forget(self) -> None:
        """Nothing is known of this service any more."""
        self._history.clear()
        self._recent.clear()
        self._asked_s = float("-inf")
        self.findings, self.progress = (), ()
