"""Terraform runs side by side: so many in all, so many of an account, and none waits for another account's."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.converger.tick.run_pool import FEWEST, MOST, RunPool, runs_by_memory

WAIT_S = 10.0


class Runs:
    """Runs that last until the test ends them, by name in the order in which they began."""

    def __init__(self, *, runs: int, of_account: int) -> None:
        self.pool = RunPool(runs=runs, of_account=of_account)
        self.began: list[str] = []
        self._changed = threading.Condition()
        self._ends: dict[str, threading.Event] = {}

    def ask(self, account: str, name: str) -> str:
        self._ends[name] = threading.Event()

        def work() -> None:
            with self._changed:
                self.began.append(name)
                self._changed.notify_all()
            assert self._ends[name].wait(WAIT_S)

        return self.pool.submit(account, work)

    def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()

    def end_all(self) -> None:
        self.end(*self._ends)

    def are(self, *names: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.began) >= len(names), WAIT_S), self.began
            assert tuple(self.began) == names


@pytest.fixture
def four() -> Iterator[Runs]:
    """Four at a time, two of an account."""
    made = Runs(runs=4, of_account=2)
    yield made
    made.end_all()
    made.pool.shutdown()


def test_an_account_that_is_full_keeps_no_other_waiting(four: Runs) -> None:
    assert [four.ask("aws/a", name) for name in ("a1", "a2")] == ["", ""]
    assert "2 of account aws/a are in hand, as many as `terraform.runs_per_account`" in four.ask("aws/a", "a3")
    assert four.ask("hetzner/b", "b1") == ""
    four.are("a1", "a2", "b1")
    four.end("b1")
    assert four.ask("hetzner/b", "b2") == "", "room of its own account"
    four.end("a2")
    four.are("a1", "a2", "b1", "b2", "a3")


def test_accounts_take_turns_where_all_are_full(four: Runs) -> None:
    for name in ("a1", "a2"):
        four.ask("a", name)
    for name in ("b1", "b2"):
        four.ask("b", name)
    assert "4 are in hand, as many as `terraform.runs`" in four.ask("c", "c1")
    four.ask("a", "a3")
    four.ask("a", "a4")
    four.ask("d", "d1")
    four.are("a1", "a2", "b1", "b2")
    four.end("b1")
    four.are("a1", "a2", "b1", "b2", "c1")
    four.end("a1")
    four.are("a1", "a2", "b1", "b2", "c1", "a3")
    four.end("b2")
    four.are("a1", "a2", "b1", "b2", "c1", "a3", "d1")
    four.end("a2")
    four.are("a1", "a2", "b1", "b2", "c1", "a3", "d1", "a4")


def test_a_run_that_breaks_leaves_its_place_to_the_next() -> None:
    pool, done = RunPool(runs=1, of_account=1), threading.Event()

    def breaks() -> None:
        raise RuntimeError("broken")

    pool.submit("a", breaks)
    pool.submit("a", done.set)
    assert done.wait(WAIT_S)
    pool.shutdown()


def test_after_the_end_what_waits_does_not_begin_and_nothing_is_taken() -> None:
    runs = Runs(runs=1, of_account=1)
    runs.ask("a", "a1")
    runs.ask("a", "a2")
    runs.are("a1")
    ending = threading.Thread(target=runs.pool.shutdown)
    ending.start()
    runs.end_all()
    ending.join(WAIT_S)
    assert (runs.began, ending.is_alive()) == (["a1"], False)
    with pytest.raises(RuntimeError, match="the server ends"):
        runs.ask("a", "a3")


@pytest.mark.parametrize(
    ("told", "runs"),
    [
        ("MemTotal: 1 kB\nMemAvailable:    7340032 kB\n", 7),
        ("MemAvailable: 1048576 kB\n", FEWEST),
        ("MemAvailable: 999999999 kB\n", MOST),
        ("MemTotal: 1 kB\n", FEWEST),
        (None, FEWEST),
    ],
)
def test_as_many_as_memory_carries(tmp_path: Path, told: str | None, runs: int) -> None:
    if told is not None:
        (tmp_path / "meminfo").write_text(told)
    assert runs_by_memory(tmp_path / "meminfo") == runs
