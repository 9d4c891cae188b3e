"""The clocks of the machine."""

import time
from datetime import UTC, datetime


class SystemClock:
    """Wall clock and monotonic clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def epoch_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()
