"""Many cases one after the other: each that fails is told at once, by what it takes to run it again."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")

TELL_EVERY = 50


def sweep(what: str, cases: Iterable[Case], run: Callable[[Case], object]) -> None:
    """Runs every case, whatever the others do. Prints the figures; fails in the end with all that failed."""
    began, count, failed = time.monotonic(), 0, []
    for case in cases:
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
