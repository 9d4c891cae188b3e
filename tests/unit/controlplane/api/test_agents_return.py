"""10,000 agents that come back after an outage: how they are spread, by their own back-off and the server's answers."""

import heapq
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from agent.backoff import Backoff
from agent.settings import AgentTimes
from controlplane.api.agent_admission import LONGEST_WAIT_S, RETRY_SOON_S, Returns

AGENTS, OUTAGE_S, GIVEN_UP_S = 10_000, 300.0, 300.0
TIMES = AgentTimes()


@dataclass
class Knocks:
    """What a server met with in each second since it is back."""

    all: Counter[int] = field(default_factory=Counter)
    sent_away: Counter[int] = field(default_factory=Counter)
    heard_s: list[float] = field(default_factory=list)


class Server:
    """It answers `a_second` requests; to send one away costs a fifth of that. Its line is as long as it may be."""

    def __init__(self, a_second: float, called_back: Callable[["Server"], float] | None = None) -> None:
        self.now_s, self._cost_s = 0.0, 1 / a_second
        self._busy_until_s, self._a_second = 0.0, a_second
        self._returns, self._called_back = Returns(lambda: self.now_s), called_back

    def asked(self, now_s: float) -> float:
        """Seconds of `Retry-After`, 0 where it was served."""
        self.now_s = now_s
        begins_s = max(self._busy_until_s, now_s)
        if begins_s - now_s <= LONGEST_WAIT_S:
            self._busy_until_s = begins_s + self._cost_s
            return 0.0
        self._busy_until_s = begins_s + self._cost_s / 5
        return self._called_back(self) if self._called_back is not None else self._returns.after_s(self._a_second / 2)


def comes_back(server: Server, seed: int = 1) -> Knocks:
    """Each agent holds two conversations; all found nobody for `OUTAGE_S`."""
    chance, knocks, line = random.Random(seed), Knocks(), list[tuple[float, int, Backoff]]()
    for talk in range(2 * AGENTS):
        backoff = Backoff(TIMES.retry_s, TIMES.retry_cap_s, jitter=chance.random)
        at_s = -OUTAGE_S + chance.uniform(0, 3)
        while at_s < 0:
            at_s += backoff.next_s()
        line.append((at_s, talk, backoff))
    heapq.heapify(line)
    while line:
        at_s, talk, backoff = heapq.heappop(line)
        if at_s > GIVEN_UP_S:
            break
        knocks.all[int(at_s)] += 1
        after_s = server.asked(at_s)
        if after_s:
            knocks.sent_away[int(at_s)] += 1
            heapq.heappush(line, (at_s + backoff.next_s(after_s=after_s), talk, backoff))
        else:
            knocks.heard_s.append(at_s)
    return knocks


@pytest.mark.parametrize(("a_second", "within_s"), [(400.0, 80.0), (800.0, 40.0), (1600.0, 25.0)])
def test_all_are_heard_soon_after_a_servers_return(a_second: float, within_s: float) -> None:
    """The fewest seconds there can be are 50, 25 and 12."""
    knocks = comes_back(Server(a_second))
    assert len(knocks.heard_s) == 2 * AGENTS
    assert max(knocks.heard_s) <= within_s


def test_nobody_is_called_back_in_waves() -> None:
    """After the first knocks, which come within the cap of the back-off, no second has more than the server serves."""
    knocks = comes_back(Server(800.0))
    later = [count for second, count in knocks.all.items() if second > TIMES.retry_cap_s]
    assert max(later, default=0) <= 800


def test_the_same_seconds_for_everybody_would_cost_more_than_the_answers() -> None:
    spread = comes_back(Server(400.0))
    fixed = comes_back(Server(400.0, lambda _: RETRY_SOON_S))
    assert 3 * spread.sent_away.total() < fixed.sent_away.total()
    assert fixed.sent_away.total() > 3 * 2 * AGENTS


def test_knocks_of_an_outage_are_spread_over_all_of_the_longest_pause() -> None:
    """A server that is started finds no second with more than twice its share."""
    knocks = comes_back(Server(1e6))
    by_second = [knocks.all[n] for n in range(int(TIMES.retry_cap_s))]
    assert max(by_second) < 2 * 2 * AGENTS / TIMES.retry_cap_s
    assert sum(by_second) == 2 * AGENTS


def test_the_same_seed_is_the_same_story() -> None:
    assert comes_back(Server(800.0)).all == comes_back(Server(800.0)).all
