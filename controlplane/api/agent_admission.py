"""Which agents are served while not all can be: those who are here already stay, the newest are sent away.

Two limits. `AgentSeats` is how many agents fit at all: each holds two connections. `AgentTurns` is how many of their
requests are worked on at once, and how long one waits for that: an agent hangs up after 10 s, so an answer that would
come later is work for nobody, and those who wait behind it come too late as well (that is how a server that answers in
order collapses). A request that would wait too long is sent away at once. Who is sent away is told when to come back;
the agent adds jitter (`agent/backoff.py`).

For one event loop; not thread-safe.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil

from controlplane.api.problems import ApiError

LEFT_AFTER_S = 60.0
"""An agent not heard for so long has left its seat: it reports each few seconds, and asks each 20."""
TURNS = 4
"""Requests of agents worked on at once: each needs the database, and SQLite has one writer. More of them answer no
more requests in a second; they only take the processor from people's."""
LONGEST_WAIT_S = 4.0
"""Of a request of an agent for its turn. Its own patience is 10 s, in which it also has to connect and be read."""
RETRY_AFTER_S = 30
"""For whom there is no seat: each knock costs a connection, and 2,000 agents knock twice in that time."""
RETRY_SOON_S = 3
"""For who has a seat and would have had to wait for too long."""
LONGEST_AFTER_S = 45
"""The agent adds up to half of it: who is sent away with a whole fleet is heard within some 60 s."""
FEWEST_BACK, MOST_BACK = 50.0, 800.0
"""Requests in a second that are called back."""
_SMOOTHING = 0.1


class TooBusy(ApiError):
    """The request of an agent is not worked on; `why` in a word. What now: come again after `Retry-After`."""

    def __init__(self, why: str, sentence: str, retry_after_s: int) -> None:
        then = "Keep running what runs, and ask again after `Retry-After`."
        super().__init__(503, "busy", sentence, next_step=then, retry_after_s=retry_after_s)
        self.why = why


class AgentSeats:
    """By the instance an agent names itself; who turns out to be nobody gives the seat up again."""

    def __init__(self, most: int, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock_s = clock_s
        self._heard_s: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        """Agents heard within the last minute."""
        self._forget_those_who_left()
        return len(self._heard_s)

    def admit(self, instance: str) -> bool:
        """Whether it is new here. Raises TooBusy for one that is while all seats are taken."""
        now_s = self._clock_s()
        is_new = instance not in self._heard_s
        if is_new and len(self._heard_s) >= self.most:
            self._forget_those_who_left()
            if len(self._heard_s) >= self.most:
                sentence = f"this server has room for {self.most} agents, and all of it is taken"
                raise TooBusy("no-room", sentence, RETRY_AFTER_S)
        self._heard_s[instance] = now_s
        self._heard_s.move_to_end(instance)
        return is_new

    def give_up(self, instance: str) -> None:
        """It was no agent of ours."""
        self._heard_s.pop(instance, None)

    def _forget_those_who_left(self) -> None:
        oldest_s = self._clock_s() - LEFT_AFTER_S
        while self._heard_s and next(iter(self._heard_s.values())) < oldest_s:
            self._heard_s.popitem(last=False)


class Returns:
    """When those who are sent away are to come back: one after the other, as fast as they can be served.

    All called back after the same few seconds would come in a wave that is sent away again, and each wave costs what
    people's pages are to be made of.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._last_s = 0.0
        """When the last one comes back."""

    def after_s(self, a_second: float) -> int:
        """`Retry-After` of the next one, where so many requests are served in a second."""
        now_s, rate = self._clock_s(), min(max(a_second, FEWEST_BACK), MOST_BACK)
        self._last_s = max(self._last_s + 1 / rate, now_s + RETRY_SOON_S)
        if self._last_s > now_s + LONGEST_AFTER_S:  # more than that, all over again from the front
            self._last_s = now_s + RETRY_SOON_S
        return ceil(self._last_s - now_s)


class AgentTurns:
    """`take` before work, `give_back` after it. Who waits is served in order."""

    def __init__(
        self,
        at_once: int = TURNS,
        longest_wait_s: float = LONGEST_WAIT_S,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.at_once = at_once
        self.taken = 0
        self._longest_wait_s = longest_wait_s
        self._clock_s = clock_s
        self._returns = Returns(clock_s)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._takes_s = 0.005
        """How long a turn lasted lately."""
        self._moved_s = clock_s()
        """When a turn was last taken or given back."""

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return len(self._waiting)

    def expected_wait_s(self) -> float:
        """For one that came now. Turns that all hang are at least as long as they have been hanging."""
        if self.taken < self.at_once:
            return 0.0
        takes_s = max(self._takes_s, self._clock_s() - self._moved_s)
        return (len(self._waiting) + 1) * takes_s / self.at_once

    async def take(self) -> "RequestTurn":
        """Raises TooBusy at once where the wait would be too long, and after the longest wait where it was."""
        if self.expected_wait_s() > self._longest_wait_s:
            raise self._too_long()
        if self.taken >= self.at_once:
            await self._wait()
        else:
            self.taken += 1
            self._moved_s = self._clock_s()
        return RequestTurn(self, self._clock_s())

    def not_taken(self) -> "RequestTurn":
        """One that nobody needs yet: `take_again` takes it."""
        return RequestTurn(self, None)

    def give_back(self, began_s: float) -> None:
        """The turn goes to who waits longest."""
        self._moved_s = self._clock_s()
        self._takes_s += _SMOOTHING * (self._moved_s - began_s - self._takes_s)
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():
                first.set_result(None)  # the turn changes hands: as many are taken as before
                return
        self.taken -= 1

    async def _wait(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(self._longest_wait_s):
                await turn
        except TimeoutError:
            if not self._was_given(turn):
                raise self._too_long() from None
        except asyncio.CancelledError:
            if self._was_given(turn):
                self.give_back(self._clock_s())
            raise

    def _too_long(self) -> TooBusy:
        sentence = "this server is busy: the answer would come after the agent has hung up"
        return TooBusy("queue", sentence, self._returns.after_s(self.at_once / self._takes_s / 2))

    def _was_given(self, turn: "asyncio.Future[None]") -> bool:
        """Whether it was given in the very moment in which it was waited for no more. Else it is out of the line."""
        if turn.done() and not turn.cancelled():
            return True
        if turn in self._waiting:
            self._waiting.remove(turn)
        return False


class RequestTurn:
    """One request's: given back while it waits for news, and at its end."""

    def __init__(self, turns: AgentTurns, began_s: float | None) -> None:
        self._turns = turns
        self._began_s = began_s

    def give_back(self) -> None:
        """Twice is once."""
        began_s, self._began_s = self._began_s, None
        if began_s is not None:
            self._turns.give_back(began_s)

    async def take_again(self) -> None:
        """After `give_back`; twice is once. Raises TooBusy."""
        if self._began_s is not None:
            return
        again = await self._turns.take()
        self._began_s, again._began_s = again._began_s, None
