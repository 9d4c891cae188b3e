"""Heartbeats on a clock of our own and a way to Kafka in memory: what is sent where, and what is told of it."""

from collections.abc import Callable, Collection, Iterable, Mapping

from agent.heartbeats.beating import NO_PARTITION, NO_TOPIC, HeartbeatLoop, LineDown
from agent.heartbeats.latest import LatestPulses
from agent.heartbeats.pulse import quantile
from agent.wire import HeartbeatReport, Heartbeats, HeartbeatTarget

WANTED = Heartbeats(
    topic="beats",
    targets=tuple(HeartbeatTarget(broker=b, address=f"10.0.0.{b}", port=9092) for b in (1, 2)),
    interval_ms=1000,
)


class FakeLine:
    """Kafka answers after `slow_s`, by broker; a broker in `deaf` takes nothing."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.led: dict[int, int] = {0: 1, 1: 2, 2: 3}
        self.slow_s = {1: 0.01, 2: 0.02}
        self.deaf: set[int] = set()
        self.swallows: set[int] = set()
        self.down = False
        self.followed: list[list[int]] = []
        self.queries = 0
        self._coming: list[tuple[float, bytes]] = []

    def leaders(self) -> Mapping[int, int]:
        self.queries += 1
        if self.down:
            raise LineDown("no broker tells who leads: it is dark")
        return dict(self.led)

    def follow(self, partitions: Collection[int]) -> None:
        self.followed.append(list(partitions))

    def send(self, partition: int, payload: bytes, done: Callable[[float, str], None]) -> None:
        broker = self.led[partition]
        if broker in self.deaf:
            done(0.0, "not taken: it is deaf")
            return
        done(self.slow_s[broker] / 2, "")
        if broker not in self.swallows:
            self._coming.append((self.now_s + self.slow_s[broker], payload))

    def read(self, within_s: float) -> Iterable[bytes]:
        ends_s = self.now_s + within_s
        for at_s, payload in sorted(self._coming):
            if at_s <= ends_s:
                self._coming.remove((at_s, payload))
                self.now_s = at_s
                yield payload
        self.now_s = ends_s

    def put(self, payload: bytes) -> None:
        """A record of somebody else."""
        self._coming.append((self.now_s, payload))

    def close(self) -> None: ...


class House:
    def __init__(self) -> None:
        self.line, self.latest = FakeLine(), LatestPulses()
        self.beating = HeartbeatLoop(WANTED, self.line, lambda: self.line.now_s, self.latest)

    def run(self, seconds: float) -> dict[int, HeartbeatReport]:
        until_s = self.line.now_s + seconds
        while self.line.now_s < until_s:
            self.beating.tick()
        return {r.broker: r for r in self.latest.read(self.line.now_s)}


def test_each_broker_gets_a_beat_a_second_through_a_partition_it_leads_and_its_latencies_are_told() -> None:
    house = House()
    told = house.run(30)
    assert house.line.followed == [[0, 1]]
    assert {b: (r.beats, r.problem) for b, r in told.items()} == {1: (30, ""), 2: (30, "")}
    assert [round(told[b].end_to_end_p99_s or 0, 3) for b in (1, 2)] == [0.01, 0.02]
    assert [told[b].produce_p50_s for b in (1, 2)] == [0.005, 0.01]
    assert all(r.silent_s <= 1.5 for r in told.values())


def test_only_the_last_minute_counts() -> None:
    house = House()
    house.run(90)
    house.line.slow_s[1] = 0.2
    assert (house.run(10)[1].end_to_end_p50_s, house.run(70)[1].end_to_end_p50_s) == (0.01, 0.2)


def test_a_broker_that_takes_nothing_is_silent_and_the_others_are_not() -> None:
    house = House()
    house.run(10)
    house.line.deaf.add(2)
    told = house.run(40)
    assert told[2].problem == "not taken: it is deaf"
    assert 39 <= told[2].silent_s <= 42
    assert (told[1].problem, told[1].beats) == ("", 50)
    house.line.deaf.clear()
    assert house.run(5)[2].silent_s <= 1.5


def test_what_was_taken_and_never_comes_back_is_silence_too() -> None:
    house = House()
    house.run(10)
    house.line.swallows.add(1)
    told = house.run(30)
    assert told[1].problem == "taken, and not read back"
    assert told[1].silent_s >= 29


def test_a_partition_that_another_broker_has_taken_over_tells_nothing_of_the_first() -> None:
    house = House()
    house.run(10)
    house.line.led = {0: 2, 1: 2, 2: 3}
    house.line.deaf.add(1)
    told = house.run(30)
    assert (told[1].problem, told[2].problem) == (NO_PARTITION, "")
    assert told[1].silent_s >= 10, (
        "what still came through its old partition came by another broker, for a look at most"
    )
    house.line.led, house.line.deaf = {0: 1, 1: 2, 2: 3}, set()
    assert house.run(10)[1].problem == ""


def test_a_broker_is_silent_from_when_it_leads_a_partition() -> None:
    """A new one was called silent for the minute before it was given one, in the seconds before its first heartbeat."""
    house = House()
    house.line.led = {1: 2}
    assert house.run(60)[1].silent_s >= 58
    house.line.led, house.line.deaf = {0: 1, 1: 2}, {1}
    assert house.run(10)[1].silent_s <= 10
    assert house.run(40)[1].silent_s >= 40
    house.line.deaf.clear()
    assert house.run(10)[1].silent_s <= 1.5


def test_when_no_broker_answers_each_is_silent_with_the_words_of_the_client() -> None:
    house = House()
    house.line.down = True
    told = house.run(20)
    assert {r.problem for r in told.values()} == {"no broker tells who leads: it is dark"}
    house.line.down, house.line.led = False, {}
    assert {r.problem for r in house.run(5).values()} == {NO_TOPIC}
    house.line.led = {0: 1, 1: 2}
    assert {r.problem for r in house.run(10).values()} == {""}


def test_leaders_are_asked_for_seldom_while_all_is_well() -> None:
    house = House()
    house.run(60)
    assert house.line.queries <= 13


def test_records_of_others_are_passed_over() -> None:
    house = House()
    for payload in (b"", b"\xff/1/1", b"other/1/1", b"other/9/x"):
        house.line.put(payload)
    assert house.run(5)[1].beats == 5


def test_what_was_said_long_ago_is_not_told() -> None:
    latest = LatestPulses()
    assert latest.read(0.0) == ()
    latest.put((HeartbeatReport(broker=1, beats=1, silent_s=0),), 10.0)
    assert [r.broker for r in latest.read(25.0)] == [1]
    assert latest.read(31.0) == ()


def test_a_quantile_is_one_of_the_values() -> None:
    assert quantile([], 0.5) is None
    assert [quantile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.99)] == [1.0, 2.0, 3.0]
    assert quantile([float(n) for n in range(1, 101)], 0.99) == 99.0
