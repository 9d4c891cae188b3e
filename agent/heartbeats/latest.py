"""Where the thread of the heartbeats leaves what it knows, for the reports."""

from agent.wire import HeartbeatReport

_FORGET_S = 20.0


class LatestPulses:
    """Written by one thread, read by another; a pair is put in its place in one go."""

    def __init__(self) -> None:
        self._said: tuple[tuple[HeartbeatReport, ...], float] = ((), float("-inf"))

    def put(self, reports: tuple[HeartbeatReport, ...], now_s: float) -> None:
        self._said = reports, now_s

    def read(self, now_s: float) -> tuple[HeartbeatReport, ...]:
        """Empty where nothing was said for a while: nobody beats now, and a silence of that kind is no broker's."""
        reports, at_s = self._said
        return reports if now_s - at_s <= _FORGET_S else ()
