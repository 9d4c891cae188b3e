"""What goes wrong before every cloud's fake: refusals, answers that are lost or never come, listings that lag.

A fake asks `Faults` about each call by the name it counts it under, and refuses in its cloud's own words.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Told = TypeVar("Told")


@dataclass(slots=True)
class Fault:
    """What the next `times` calls of an action get instead of an answer; `skip` of them pass first.

    `action` is a call as the fake counts it, `*` is any. `code`, `status`, `message` and `headers` are the refusal's:
    429 with `Retry-After` is a throttle. With `done` the call is carried out all the same, and only its answer is this.
    `dropped`: no answer, the connection ends; after `held_s`, so that a caller meets its own time-out first.
    """

    action: str
    code: str = "fault"
    status: int = 500
    times: int = 1
    skip: int = 0
    done: bool = False
    dropped: bool = False
    held_s: float = 0.0
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """The refusal's words."""
        return self.message or f"{self.code} (fault of a test)"


class Dropped(Exception):  # what the caller meets, no error of the fake
    """A call without an answer: its connection ends after `held_s`."""

    def __init__(self, held_s: float) -> None:
        super().__init__()
        self.held_s = held_s


class Faults(list[Fault]):
    """The faults in front of one fake. `lag` listings of VMs say what the one before said."""

    def __init__(self) -> None:
        super().__init__()
        self.lag = 0
        self._last: dict[str, Any] = {}

    def meets(self, action: str, act: Callable[[], object]) -> Fault | None:
        """The fault a call meets, after `act` where it is `done`. Raises `Dropped` where there is no answer at all."""
        fault = next((f for f in self if f.action in (action, "*") and f.times > 0), None)
        if fault is None:
            return None
        if fault.skip > 0:
            fault.skip -= 1
            return None
        fault.times -= 1
        if fault.done:
            act()
        if fault.dropped:
            raise Dropped(fault.held_s)
        return fault

    def late(self, say: Callable[[], Told], asked: str = "") -> Told:
        """A listing of VMs, or while listings lag the last one that was `asked` so."""
        if self.lag > 0 and asked in self._last:
            self.lag -= 1
        else:
            self._last[asked] = say()
        told: Told = self._last[asked]
        return told
