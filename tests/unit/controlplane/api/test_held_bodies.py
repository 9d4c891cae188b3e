"""Bodies of requests count while they come, and no more once their request is over."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from controlplane.api.agent_admission import TooBusy
from controlplane.api.bodies import BodyMemory, HeldBody
from controlplane.api.gate import MAX_BODY_BYTES


def piece(count: int, *, more: bool) -> Message:
    return {"type": "http.request", "body": b" " * count, "more_body": more}


class Coming:
    """What somebody sends; what is held after each piece was taken in is in `held`."""

    def __init__(self, memory: BodyMemory, *messages: Message) -> None:
        self._memory = memory
        self._messages = list(messages)
        self.held: list[int] = []

    async def __call__(self) -> Message:
        self.held.append(self._memory.held_bytes)
        return self._messages.pop(0)


def read(body: HeldBody, coming: Coming) -> bytes:
    return asyncio.run(body.read(coming, 10))


def test_a_body_counts_from_its_first_piece_to_the_end_of_its_request() -> None:
    memory = BodyMemory()
    coming = Coming(memory, piece(10, more=True), piece(5, more=False))
    with HeldBody(memory, 100) as body:
        assert len(read(body, coming)) == 15
        assert coming.held == [0, 10]
        assert memory.held_bytes == 15
    assert memory.held_bytes == 0


def test_bodies_that_are_still_coming_keep_out_one_that_would_be_too_much() -> None:
    memory = BodyMemory()
    with HeldBody(memory, 100) as other, HeldBody(memory, 100) as body:
        with pytest.raises(ClientDisconnect):
            read(other, Coming(memory, piece(60, more=True), {"type": "http.disconnect"}))
        with pytest.raises(TooBusy) as busy:
            read(body, Coming(memory, piece(30, more=True), piece(30, more=False)))
        assert busy.value.why == "memory"
    assert memory.held_bytes == 0


def test_what_agents_hold_leaves_room_for_people() -> None:
    memory = BodyMemory()
    with HeldBody(memory, 75) as agents, HeldBody(memory, 75) as another, HeldBody(memory, 100) as persons:
        read(agents, Coming(memory, piece(70, more=False)))
        with pytest.raises(TooBusy):
            read(another, Coming(memory, piece(10, more=False)))
        assert len(read(persons, Coming(memory, piece(20, more=False)))) == 20


def test_one_that_is_too_large_is_cut_off_one_byte_behind_the_limit() -> None:
    memory = BodyMemory()
    with HeldBody(memory, 4 * MAX_BODY_BYTES) as body:
        found = read(body, Coming(memory, piece(MAX_BODY_BYTES, more=True), piece(MAX_BODY_BYTES, more=True)))
    assert len(found) == MAX_BODY_BYTES + 1
