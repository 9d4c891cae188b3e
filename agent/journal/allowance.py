"""How many lines of one log may go out: so many of each minute of the log's own time, urgent ones counted apart. Pure.

By the log's time and not by the clock: what is caught up after a split is not left out for having waited.
"""

from datetime import datetime


class LineAllowance:
    """Of one log. A line without a time is let through: such logs are read in blocks, few a minute."""

    def __init__(self, lines_per_min: int) -> None:
        self._most = lines_per_min
        self._minute: datetime | None = None
        self._used = {True: 0, False: 0}

    def admits(self, at: datetime | None, *, urgent: bool) -> bool:
        """Whether the next line may go; it counts when it does. A flood of one kind leaves room for the other."""
        if at is None:
            return True
        minute = at.replace(second=0, microsecond=0)
        if minute != self._minute:
            self._minute, self._used = minute, {True: 0, False: 0}
        if self._used[urgent] >= self._most:
            return False
        self._used[urgent] += 1
        return True
