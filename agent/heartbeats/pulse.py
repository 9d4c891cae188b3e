"""What is known of the heartbeats of one broker: how long they take, and since when none has come back. Pure."""

from collections import deque
from collections.abc import Iterable

from agent.wire import HeartbeatReport

WINDOW_S = 60.0
"""Latencies are told over the last minute."""


class BrokerPulse:
    """One broker's. Times are monotonic seconds. `came` alone ends a silence: a record that was taken and cannot be
    read is of no use to anybody."""

    def __init__(self, broker: int, *, now_s: float) -> None:
        self._broker = broker
        self._came_s = now_s
        self._problem = ""
        self._open: dict[int, float] = {}
        self._produce: deque[tuple[float, float]] = deque()
        self._end_to_end: deque[tuple[float, float]] = deque()

    def sent(self, number: int, now_s: float) -> None:
        self._open[number] = now_s

    def led(self, now_s: float) -> None:
        """It leads a partition from now on: it was nobody's silence that nothing went through it before."""
        self._came_s = now_s

    def taken(self, now_s: float, latency_s: float) -> None:
        """The leader has acknowledged one after that time."""
        self._produce.append((now_s, latency_s))

    def failed(self, problem: str) -> None:
        """What keeps heartbeats from this broker now; it is told until one has come back."""
        self._problem = problem

    def came(self, number: int, now_s: float) -> None:
        """One was read. A repeat, or one that was given up, is nothing new."""
        sent_s = self._open.pop(number, None)
        if sent_s is not None:
            self._came_s, self._problem = now_s, ""
            self._end_to_end.append((now_s, now_s - sent_s))

    def report(self, now_s: float) -> HeartbeatReport:
        for series in (self._produce, self._end_to_end):
            while series and now_s - series[0][0] > WINDOW_S:
                series.popleft()
        self._open = {n: at for n, at in self._open.items() if now_s - at <= WINDOW_S}
        produce, whole = ([s for _, s in series] for series in (self._produce, self._end_to_end))
        late = bool(self._open) and now_s - min(self._open.values()) > WINDOW_S / 6
        return HeartbeatReport(
            broker=self._broker,
            beats=len(whole),
            silent_s=round(now_s - self._came_s, 1),
            problem=self._problem or ("taken, and not read back" if late and produce else ""),
            produce_p50_s=quantile(produce, 0.5),
            produce_p99_s=quantile(produce, 0.99),
            end_to_end_p50_s=quantile(whole, 0.5),
            end_to_end_p99_s=quantile(whole, 0.99),
        )


def quantile(values: Iterable[float], share: float) -> float | None:
    """The smallest value that at least that share of all does not exceed (nearest rank); None of none."""
    ordered = sorted(values)
    if not ordered:
        return None
    rank = -int(-share * len(ordered) // 1)  # rounded up
    return round(ordered[max(rank, 1) - 1], 6)
