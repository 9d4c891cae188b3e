"""Takes the vitals of one service at its own pace and remembers enough of them to judge."""

from collections.abc import Callable

from agent.health.judge import judge
from agent.health.vitals import Finding, Vitals

HISTORY_S = 3600.0
FORGET_S = 120.0
"""A service that has not answered for so long is not judged by what it said before: unknown is not ill, nor well."""


class Checkup:
    """The history of one process and what is wrong with it. Another pid begins a new history."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._history: list[Vitals] = []
        self._asked_s = float("-inf")
        self.findings: tuple[Finding, ...] = ()

    def look(self, now_s: float, pid: int, take: Callable[[], Vitals | None]) -> None:
        """Asks for a sample if the last is old enough. `take` gives None when the service does not tell."""
        if self._history and self._history[-1].pid != pid:
            self.forget()
        if now_s - self._asked_s < self._every_s:
            return
        self._asked_s = now_s
        vitals = take()
        if vitals is not None:
            self._history = [v for v in (*self._history, vitals) if now_s - v.at_s <= HISTORY_S]
            self.findings = judge(self._history, self.findings)
        elif self._history and now_s - self._history[-1].at_s > FORGET_S:
            self.forget()

    def forget(self) -> None:
        """Nothing is known of this service any more."""
        self._history.clear()
        self._asked_s = float("-inf")
        self.findings = ()
