"""The loop of `wait` and `apply --wait`: look, judge, show, sleep. It outlives a server that is restarted meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.cli import exits
from controlplane.cli.errors import UnknownCluster, Unreachable
from controlplane.cli.waiting import Done, Failed, Goal, Pending, judge

POLL_S = 1.0
STALE_S = 5.0
"""A condition may stem from before the `resume` or `apply` somebody just typed: it counts once a tick has run since."""


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster and what it is to become."""

    name: str
    goal: Goal


@dataclass(frozen=True, slots=True)
class Result:
    """How waiting for one target ended. `outcome` is Pending when the time was up."""

    target: Target
    outcome: Done | Failed | Pending
    elapsed_s: float

    @property
    def exit_code(self) -> int:
        match self.outcome:
            case Done():
                return exits.OK
            case Failed():
                return exits.BLOCKED
            case Pending():
                return exits.TIMED_OUT


class Watcher(Protocol):
    """Who is shown what the loop sees."""

    def show(self, detail: ClusterDetailOut) -> None:
        """A fresh look at one cluster."""

    def say(self, text: str) -> None:
        """Something else worth knowing."""


class Waiter:
    """Waits for several targets at once. Ends at the first failure, when all are reached, or when time is up."""

    def __init__(
        self,
        look: Callable[[str], ClusterDetailOut],
        watcher: Watcher,
        *,
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._look = look
        self._watcher = watcher
        self._monotonic = monotonic
        self._sleep = sleep
        self._first_ticks: dict[str, datetime | None] = {}
        self._silent = False

    def wait(self, targets: Sequence[Target], *, timeout_s: float) -> list[Result]:
        """One result a target. `timeout_s` 0 = for ever. Raises CliError when the very first look fails."""
        began = self._monotonic()
        results: dict[Target, Result] = {}
        while True:
            elapsed_s = self._monotonic() - began
            for target in targets:
                if target not in results or isinstance(results[target].outcome, Pending):
                    results[target] = Result(target, self._outcome(target, elapsed_s), elapsed_s)
            outcomes = [result.outcome for result in results.values()]
            time_is_up = timeout_s > 0 and elapsed_s >= timeout_s
            if time_is_up or any(isinstance(o, Failed) for o in outcomes) or all(isinstance(o, Done) for o in outcomes):
                return list(results.values())
            self._sleep(min(POLL_S, timeout_s - elapsed_s) if timeout_s > 0 else POLL_S)

    def _outcome(self, target: Target, elapsed_s: float) -> Done | Failed | Pending:
        try:
            detail = self._look(target.name)
        except UnknownCluster:
            return judge(target.goal, target.name, None)
        except Unreachable as error:
            if not self._first_ticks:
                raise
            return self._no_answer(error)
        self._silent = False
        self._watcher.show(detail)
        first_tick = self._first_ticks.setdefault(target.name, detail.sentence_at)
        outcome = judge(target.goal, target.name, detail)
        may_be_stale = detail.sentence_at == first_tick and elapsed_s < STALE_S
        if isinstance(outcome, Failed) and may_be_stale:
            return Pending(detail.sentence)
        return outcome

    def _no_answer(self, error: Unreachable) -> Pending:
        if not self._silent:
            self._watcher.say(f"{error.what} ({error.why}); waiting for it to come back")
        self._silent = True
        return Pending(error.what)
