"""Terraform runs side by side: so many in all, as each is a process with a provider of a few hundred MiB, and so many
of one account, as clouds answer an account only so often. Who waits for an account keeps nobody else's run waiting."""

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from controlplane.runtime.free_memory import MEMINFO, free_gib

RUN_GIB = 1.0
"""Memory of a run, resident: Terraform 0.60 and the largest provider, that of AWS, 0.41 (measured, Terraform 1.11)."""
FEWEST, MOST = 4, 32


class RunPool:
    """Begins what it is given in its order, accounts in turns. `runs` at a time, `of_account` of one account."""

    def __init__(self, *, runs: int, of_account: int) -> None:
        self._limit, self._of_account = runs, of_account
        self._threads = ThreadPoolExecutor(runs, thread_name_prefix="terraform")
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        """By account, the one whose turn is next first."""
        self._running: Counter[str] = Counter()
        self._lock, self._over = Lock(), False

    def submit(self, account: str, work: Callable[[], None]) -> str:
        """What it waits for, in words; "" where it begins at once. Raises RuntimeError after `shutdown`."""
        with self._lock:
            if self._over:
                raise RuntimeError("no run begins any more: the server ends")
            self._waiting.setdefault(account, deque()).append(work)
            self._begin()
            return self._why(account) if account in self._waiting else ""

    def shutdown(self) -> None:
        """Nothing that waits begins any more; waits for what runs."""
        with self._lock:
            self._over = True
            self._waiting.clear()
        self._threads.shutdown(wait=True)

    def _begin(self) -> None:
        """Under the lock."""
        while self._running.total() < self._limit:
            account = next((a for a in self._waiting if self._running[a] < self._of_account), None)
            if account is None:
                return
            waiting = self._waiting.pop(account)
            work = waiting.popleft()
            if waiting:
                self._waiting[account] = waiting  # behind the others now
            self._running[account] += 1
            self._threads.submit(self._carry, account, work)

    def _carry(self, account: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._running[account] -= 1
                self._begin()

    def _why(self, account: str) -> str:
        if self._running[account] >= self._of_account:
            limit = f"{self._of_account} of account {account} are in hand, as many as `terraform.runs_per_account`"
        else:
            limit = f"{self._limit} are in hand, as many as `terraform.runs`"
        return f"waits for another run: {limit}"


def runs_by_memory(told: Path = MEMINFO) -> int:
    """As many as the memory carries that programs can have now; the fewest where the kernel does not tell."""
    return max(FEWEST, min(MOST, int((free_gib(told) or 0) / RUN_GIB)))
