"""Which agents have room, which requests of theirs have a turn, and who is sent away at once."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from controlplane.api.agent_admission import (
    LEFT_AFTER_S,
    LONGEST_AFTER_S,
    LONGEST_WAIT_S,
    RETRY_SOON_S,
    AgentSeats,
    AgentTurns,
    Returns,
    TooBusy,
)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_who_is_here_stays_and_the_newest_are_sent_away() -> None:
    seats = AgentSeats(2, Clock())
    assert [seats.admit(name) for name in ("a", "b", "a")] == [True, True, False]
    with pytest.raises(TooBusy) as sent_away:
        seats.admit("c")
    assert (sent_away.value.why, sent_away.value.status_code) == ("no-room", 503)
    assert int((sent_away.value.headers or {})["Retry-After"]) > 0
    assert seats.admit("b") is False


def test_a_seat_is_free_once_its_agent_was_not_heard_for_a_minute_or_was_nobody() -> None:
    clock = Clock()
    seats = AgentSeats(2, clock)
    seats.admit("a")
    clock.now_s += LEFT_AFTER_S / 2
    seats.admit("b")
    clock.now_s += LEFT_AFTER_S / 2 + 1
    seats.admit("c")
    assert len(seats) == 2, "a has left"
    seats.give_up("c")
    assert seats.admit("d")


def test_a_turn_is_had_at_once_while_there_are_some_and_in_order_after_that() -> None:
    async def story() -> None:
        turns, order = AgentTurns(at_once=1, clock_s=Clock()), list[int]()
        first = await turns.take()

        async def wait(number: int) -> None:
            turn = await turns.take()
            order.append(number)
            turn.give_back()

        waiting = [asyncio.create_task(wait(n)) for n in range(3)]
        await asyncio.sleep(0)
        assert (turns.taken, turns.waiting) == (1, 3)
        first.give_back()
        first.give_back()
        await asyncio.gather(*waiting)
        assert order == [0, 1, 2]
        assert (turns.taken, turns.waiting) == (0, 0)

    asyncio.run(story())


def test_who_would_wait_longer_than_it_has_patience_is_sent_away_at_once() -> None:
    async def story() -> None:
        clock = Clock()
        turns = AgentTurns(at_once=2, clock_s=clock)
        taken = [await turns.take(), await turns.take()]
        assert turns.expected_wait_s() < 0.1
        clock.now_s += 2 * LONGEST_WAIT_S + 1  # both turns hang
        with pytest.raises(TooBusy) as sent_away:
            await turns.take()
        assert (sent_away.value.why, "hung up" in sent_away.value.body.title) == ("queue", True)
        for turn in taken:
            turn.give_back()
        (await turns.take()).give_back()

    asyncio.run(story())


def test_an_idle_hour_before_a_burst_sends_nobody_away() -> None:
    async def story() -> None:
        clock = Clock()
        turns = AgentTurns(at_once=1, clock_s=clock)
        (await turns.take()).give_back()
        clock.now_s += 3600
        held = await turns.take()
        assert turns.expected_wait_s() < LONGEST_WAIT_S
        held.give_back()

    asyncio.run(story())


def test_who_has_waited_too_long_is_sent_away_and_its_turn_goes_to_the_next() -> None:
    async def story() -> None:
        turns = AgentTurns(at_once=1, longest_wait_s=0.02)
        held = await turns.take()
        with pytest.raises(TooBusy):
            await turns.take()
        assert turns.waiting == 0
        held.give_back()
        assert turns.taken == 0
        (await turns.take()).give_back()

    asyncio.run(story())


@pytest.mark.parametrize("is_given", [False, True])
def test_a_request_that_is_called_off_while_it_waits_keeps_no_turn(is_given: bool) -> None:
    async def story() -> None:
        turns = AgentTurns(at_once=1)
        held = await turns.take()
        waiting = asyncio.create_task(_awaited(turns.take))
        await asyncio.sleep(0)
        if is_given:
            held.give_back()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        held.give_back()
        assert (turns.taken, turns.waiting) == (0, 0)

    asyncio.run(story())


def test_a_turn_is_given_back_while_an_agent_waits_for_news_and_taken_again() -> None:
    async def story() -> None:
        turns = AgentTurns(at_once=1)
        turn = await turns.take()
        turn.give_back()
        assert turns.taken == 0
        await turn.take_again()
        assert turns.taken == 1
        turn.give_back()
        assert turns.taken == 0

    asyncio.run(story())


async def _awaited(take: Callable[[], Awaitable[object]]) -> None:
    await take()


def test_those_who_are_sent_away_are_called_back_one_after_the_other() -> None:
    clock = Clock()
    returns = Returns(clock)
    called = [returns.after_s(100.0) for _ in range(500)]
    assert (called[0], called[-1]) == (RETRY_SOON_S, RETRY_SOON_S + 5)
    assert called == sorted(called)
    assert max(called.count(second) for second in set(called)) <= 101
    clock.now_s += 60
    assert returns.after_s(100.0) == RETRY_SOON_S, "all of them have come"


def test_nobody_is_called_back_later_than_agents_stay_away_by_themselves() -> None:
    returns = Returns(Clock())
    assert max(returns.after_s(1.0) for _ in range(10_000)) == LONGEST_AFTER_S
