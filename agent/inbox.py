"""Where the threads that talk to the server and the converger meet: the latest of each kind, nothing queued."""

import threading
from dataclasses import dataclass, replace

from agent.client import NewDocument
from agent.wire import Report


@dataclass(frozen=True, slots=True)
class News:
    """What came in since the converger last looked. `problem` is the talk's present trouble, "" when there is none."""

    document: NewDocument | None = None
    retired: bool = False
    problem: str = ""


class Inbox:
    """Written by the talking threads, read by the converger; `wake` is set when there is something to look at."""

    def __init__(self) -> None:
        self.wake = threading.Event()
        self._lock = threading.Lock()
        self._news = News()

    def put_document(self, document: NewDocument) -> None:
        with self._lock:
            self._news = replace(self._news, document=document)
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


class ReportOutbox:
    """The latest report. An unsent one is replaced by a newer one: reports are states, only the last matters."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._report: Report | None = None

    def put(self, report: Report) -> None:
        with self._condition:
            self._report = report
            self._condition.notify_all()

    def wait(self, timeout_s: float) -> Report | None:
        """The latest unsent report, waiting up to `timeout_s` for one. It counts as sent from now on."""
        with self._condition:
            self._condition.wait_for(lambda: self._report is not None, timeout_s)
            report, self._report = self._report, None
            return report
