"""Many cases one after the other: each that fails is told at once, by what it takes to run it again.

A sweep that is longer than a slice of soak is cut: the same test runs in several slices, each time with the cases of
some parts of it (`tests/soak/slices.py`). In `make soak` every sweep takes turns by the commit
(`tests/soak/sweeps.py`).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

Case = TypeVar("Case")


@dataclass
class Cut:
    """Of `of` parts, those that run. `swept` says how many sweeps were cut so."""

    parts: frozenset[int]
    of: int
    swept: int = field(default=0, compare=False)


_CUTS: list[Cut] = []


@contextmanager
def cut_to(cut: Cut) -> Iterator[Cut]:
    """Sweeps in this block run the cases of these parts only: every `of`th one, so that parts take the same time."""
    _CUTS.append(cut)
    try:
        yield cut
    finally:
        _CUTS.pop()


TELL_EVERY = 50


def sweep(what: str, cases: Iterable[Case], run: Callable[[Case], object]) -> int:
    """Runs every case, whatever the others do. Prints the figures; fails in the end with all that failed.

    Returns how many cases that were.
    """
    began, count, failed = time.monotonic(), 0, []
    for case in chosen(cases):
        count += 1
        try:
            run(case)
        except Exception as error:  # noqa: BLE001 - a case that breaks in a new way is still one case
            words = (str(error).splitlines() or ["it says nothing more"])[0]
            failed.append(f"{what} {case}: {type(error).__name__}: {words}")
            print(f"\nFAILED {failed[-1]}", flush=True)
        if count % TELL_EVERY == 0:
            print(f"\n{what}: {count} so far, {len(failed)} failed, {time.monotonic() - began:.0f} s", flush=True)
    seconds = time.monotonic() - began
    print(f"\n{what}: {count} cases, {len(failed)} failed, {seconds:.0f} s", flush=True)
    assert not failed, f"{len(failed)} of {count} failed:\n" + "\n".join(failed)
    return count


def chosen(cases: Iterable[Case]) -> list[Case]:
    """The cases that this run has: all, or of a cut sweep those of its parts, never none."""
    everything = list(cases)
    if not _CUTS:
        return everything
    cut = _CUTS[-1]
    cut.swept += 1
    there = [case for at, case in enumerate(everything) if at % cut.of in cut.parts]
    # Of a sweep with fewer cases than parts each run has one: every kind of sweep is in every run.
    return there or [everything[min(cut.parts) % len(everything)]] if everything else []
