"""A clock that a test turns."""

from dataclasses import dataclass, field


@dataclass
class Clock:
    """Time in seconds, that passes only when somebody sleeps, or a test says so."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """No time but its own: remembered in `slept`."""
        self.slept.append(seconds)
        self.now += seconds
