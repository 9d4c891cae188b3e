"""Where the threads that talk to the server and the converger meet: the latest of each kind, nothing queued."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent import pace
from agent.client import NewDocument
from agent.wire import Report


@dataclass(frozen=True, slots=True)
class News:
    """What came in since the converger last looked. `problem` is the talk's present trouble, "" when there is none;
    `confirmed` the etag of the document that the server last said counts, "" before it was heard."""

    document: NewDocument | None = None
    confirmed: str = ""
    retired: bool = False
    problem: str = ""


class Inbox:
    """Written by the talking threads, read by the converger; `wake` is set when there is something to look at."""

    def __init__(self) -> None:
        self.wake = threading.Event()
        self._lock = threading.Lock()
        self._news = News()

    def put_document(self, document: NewDocument, *, confirmed: str = "") -> None:
        """In one step with whether the server was heard to say so: what is taken between two is half the news."""
        with self._lock:
            self._news = replace(self._news, document=document, confirmed=confirmed or self._news.confirmed)
        self.wake.set()

    def put_confirmed(self, etag: str) -> None:
        """The server was heard: this is the document that counts, as before."""
        with self._lock:
            is_news = self._news.confirmed != etag
            self._news = replace(self._news, confirmed=etag)
        if is_news:
            self.wake.set()

    def put_retired(self) -> None:
        with self._lock:
            self._news = replace(self._news, retired=True)
        self.wake.set()

    def put_problem(self, problem: str) -> None:
        with self._lock:
            self._news = replace(self._news, problem=problem)

    def take(self) -> News:
        """The news; its document is handed out once."""
        with self._lock:
            news, self._news = self._news, replace(self._news, document=None)
        return news


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A report that is due. `is_measured`: its measurements are wanted, too."""

    report: Report
    is_measured: bool


class ReportOutbox:
    """The latest report, and when it is due: at once where it tells a change, else at the pace that was asked for.

    An unsent one is replaced by a newer one: reports are states, only the last matters. `every_s`: how often reports
    are made, and sent to a server that asks for no other pace. `clock`: monotonic seconds.
    """

    def __init__(self, *, every_s: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._condition = threading.Condition()
        self._every_s, self._clock = every_s, clock
        self._asked_s, self._named_s = every_s, float("inf")
        self._latest: Report | None = None
        self._sent_digest = ""
        self._sent_s = self._measured_s = float("-inf")

    @property
    def asked_s(self) -> float:
        """Seconds between two reports, as they were asked for last."""
        return self._asked_s

    def named_s(self) -> float:
        """The pace that a question to be held names from now on. A slower one counts with the next question alone: the
        server answers at once only who named more seconds than it wants by then."""
        with self._condition:
            self._named_s = self._asked_s
            return self._named_s

    def ask(self, next_s: float | None) -> None:
        """The next one is wanted in so many seconds; None is the agent's own pace."""
        with self._condition:
            self._asked_s = pace.asked_within(next_s, self._every_s)
            self._condition.notify_all()

    def put(self, report: Report) -> None:
        with self._condition:
            self._latest = report
            self._condition.notify_all()

    def again(self) -> None:
        """What was sent last is not there: the next one is due at once, whole."""
        with self._condition:
            self._sent_digest, self._sent_s, self._measured_s = "", float("-inf"), float("-inf")

    def wait(self, timeout_s: float) -> Outgoing | None:
        """The latest unsent report once it is due, waiting up to `timeout_s` for that. It counts as sent from now on.

        Nothing comes due by time alone: an agent makes another report every few seconds.
        """
        with self._condition:
            self._condition.wait_for(self._is_due, timeout_s)
            if not self._is_due() or self._latest is None:
                return None
            report, self._latest, now_s = self._latest, None, self._clock()
            is_paced = self._pace_s() > self._every_s
            is_measured = (
                not is_paced or report.digest != self._sent_digest or now_s - self._measured_s >= pace.WHOLE_WITHIN_S
            )
            self._sent_digest, self._sent_s = report.digest, now_s
            self._measured_s = now_s if is_measured else self._measured_s
            return Outgoing(report, is_measured)

    def _is_due(self) -> bool:
        if self._latest is None:
            return False
        if self._pace_s() <= self._every_s or self._latest.digest != self._sent_digest:
            return True
        # Those that are made half a turn later would come late.
        return self._clock() - self._sent_s >= self._pace_s() - self._every_s / 2

    def _pace_s(self) -> float:
        return min(self._asked_s, self._named_s)
