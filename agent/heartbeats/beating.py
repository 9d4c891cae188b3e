"""Sends heartbeats through the brokers a document names, and reads them back: one thread, one beat an interval.

A heartbeat of a broker goes to a partition it leads *now*, by Kafka's own word, so that a partition somebody else has
taken over in the meantime tells nothing about it. It is sent with acks=1 (the leader alone answers), and can be read
once the replicas in sync have it: two figures, one of the broker and one of the way through the cluster.
"""

import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Protocol

from agent.heartbeats.latest import LatestPulses
from agent.heartbeats.pulse import BrokerPulse
from agent.wire import Heartbeats

LOOK_EVERY_S, LOOK_AGAIN_S = 5.0, 2.0
"""How often it is asked who leads what: at rest, and while a broker is silent."""

SILENT_S = 3.0
NO_PARTITION = "it leads no partition of the heartbeats"
NO_TOPIC = "there are no partitions of heartbeats yet"


class LineDown(Exception):
    """Kafka does not answer; says nothing about one broker. Try again."""


class Line(Protocol):
    """The way to Kafka. Used by one thread."""

    def leaders(self) -> Mapping[int, int]:
        """Partition -> broker that leads it, -1 for none; empty while there is no topic. Raises `LineDown`."""

    def follow(self, partitions: Collection[int]) -> None:
        """Read these from now on, from their ends."""

    def send(self, partition: int, payload: bytes, done: Callable[[float, str], None]) -> None:
        """`done` is called from `read`: seconds until the leader had it, and why it has not, "" for success."""

    def read(self, within_s: float) -> Iterable[bytes]:
        """What has come; waits up to that long for the first."""

    def close(self) -> None: ...


class HeartbeatLoop:
    """`tick` does what is due and comes back within half a second or so. Call it from one thread."""

    def __init__(self, wanted: Heartbeats, line: Line, now_s: Callable[[], float], latest: LatestPulses) -> None:
        self._line, self._now_s, self._latest = line, now_s, latest
        self._interval_s = wanted.interval_ms / 1000
        self._run = uuid.uuid4().hex[:12]
        self._pulses = {t.broker: BrokerPulse(t.broker, now_s=now_s()) for t in wanted.targets}
        self._routes: dict[int, int] = {}
        self._trouble = ""
        self._number = 0
        self._beats_s = now_s()
        self._look_at_s = now_s()

    def tick(self) -> None:
        now_s = self._now_s()
        if now_s >= self._beats_s:
            if now_s >= self._look_at_s:
                self._look(now_s)
            self._beat()
            self._beats_s = max(self._beats_s + self._interval_s, self._now_s())
        for payload in self._line.read(min(0.5, max(0.0, self._beats_s - self._now_s()))):
            self._take_in(payload)
        self._tell()

    def _look(self, now_s: float) -> None:
        try:
            leaders = self._line.leaders()
        except LineDown as error:
            self._trouble = str(error)
            self._look_at_s = self._now_s() + LOOK_AGAIN_S
            return
        self._trouble = "" if leaders else NO_TOPIC
        routes = {b: p for p, b in sorted(leaders.items(), reverse=True) if b in self._pulses}
        if routes != self._routes:
            for broker in routes.keys() - self._routes.keys():
                self._pulses[broker].led(now_s)
            self._routes = routes
            self._line.follow(sorted(routes.values()))
        well = routes.keys() == self._pulses.keys() and not self._silent(now_s)
        self._look_at_s = now_s + (LOOK_EVERY_S if well else LOOK_AGAIN_S)

    def _beat(self) -> None:
        self._number += 1
        for broker, pulse in self._pulses.items():
            partition = self._routes.get(broker)
            if partition is None:
                pulse.failed(self._trouble or NO_PARTITION)
                continue
            payload = f"{self._run}/{broker}/{self._number}".encode()
            pulse.sent(self._number, self._now_s())
            self._line.send(partition, payload, partial(self._sent, pulse))

    def _sent(self, pulse: BrokerPulse, latency_s: float, problem: str) -> None:
        if problem:
            pulse.failed(problem)
            self._look_at_s = min(self._look_at_s, self._now_s() + LOOK_AGAIN_S)
        else:
            pulse.taken(self._now_s(), latency_s)

    def _take_in(self, payload: bytes) -> None:
        """Records of others, and of this agent's last life, are passed over."""
        run, _, rest = payload.decode(errors="replace").partition("/")
        broker, _, number = rest.partition("/")
        if run == self._run and broker.isdecimal() and number.isdecimal() and int(broker) in self._pulses:
            self._pulses[int(broker)].came(int(number), self._now_s())

    def _silent(self, now_s: float) -> bool:
        return any(pulse.report(now_s).silent_s > SILENT_S + self._interval_s for pulse in self._pulses.values())

    def _tell(self) -> None:
        now_s = self._now_s()
        self._latest.put(tuple(self._pulses[b].report(now_s) for b in sorted(self._pulses)), now_s)


def beat(beating: HeartbeatLoop, line: Line, *, leaving: threading.Event) -> None:
    """Until `leaving` is set."""
    while not leaving.is_set():
        beating.tick()
    line.close()
