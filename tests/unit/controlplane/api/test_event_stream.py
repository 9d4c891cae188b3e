"""The log for programs: a stream of events that resumes by position, filtered by rights, and an answer that waits."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Rights, rights_of, whole_rights
from controlplane.api.access.roles import Role
from controlplane.api.event_log import EventQuery
from controlplane.api.event_stream import AT_ONCE, Watch, event_messages, grown
from controlplane.api.presenters.loop import log_out
from controlplane.api.read_models.event_tail import MOST_OF_ONE, Tailer
from controlplane.api.routes.loop import log_of
from controlplane.api.schemas.loop import LogOut
from controlplane.api.scoped.services import scoped
from events import facts
from events.errors import StoreUnavailable
from tests.unit.controlplane.api.listening import THEIRS, house_of_ours, until
from tests.unit.controlplane.api.portal_house import House

EVERYTHING = whole_rights("x")
VIEWER = rights_of("user:ada", [Binding("user:ada", Role.VIEWER, "team:payments")])
STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
def house() -> House:
    return house_of_ours()


def tailer_of(house: House) -> Tailer:
    return Tailer(house.store, house.converger, look_every_s=0.001, recheck_every_s=0.02)


def watching(rights: Rights, recheck: Callable[[], Awaitable[Rights | None]] | None = None) -> Watch:
    async def same() -> Rights | None:
        return rights

    return Watch(rights, recheck or same, 0.02)


def reading(house: House, rights: Rights, **asked: Any) -> Callable[[int], LogOut]:
    services = scoped(house.services, rights)
    return lambda after: log_out(*log_of(services, rights, EventQuery(after=after, limit=AT_ONCE, **asked)))


def stream_of(
    house: House, tailer: Tailer, after: int | None, rights: Rights = EVERYTHING, **asked: Any
) -> AsyncIterator[str]:
    return event_messages(tailer, watching(rights), reading(house, rights, **asked), after)


async def recorded(stream: AsyncIterator[str]) -> tuple[int, dict[str, Any]]:
    """The next event: its id, and what it says."""
    async with asyncio.timeout(5):
        async for message in stream:
            if "event: recorded" in message:
                first, _, data = message.strip().split("\n")
                return int(first.removeprefix("id: ")), json.loads(data.removeprefix("data: "))
    raise AssertionError("the stream ended")


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def pause(house: House) -> int:
    """Something happens to `orders`; returns its position."""
    word = "resume" if house.view().requests.paused else "pause"
    assert house.client.post(f"/v1/clusters/orders/{word}", json={"reason": "x"}).status_code == 200
    return house.store.head()


def test_whoever_listens_is_told_what_is_recorded_from_then_on(house: House) -> None:
    async def scene() -> None:
        tailer = tailer_of(house)
        stream = stream_of(house, tailer, None)
        head = house.store.head()
        assert await anext(stream) == "retry: 1000\n\n"
        assert await anext(stream) == f"id: {head}\n\n"
        position = pause(house)
        told, event = await recorded(stream)
        assert (told, event["position"], event["cluster"], event["type"]) == (
            head + 1,
            head + 1,
            "orders",
            "cluster.paused",
        )
        assert position == head + 1
        tailer.close()

    run(scene())


def test_a_program_that_comes_back_misses_nothing_and_gets_nothing_twice(house: House) -> None:
    async def scene() -> list[int]:
        tailer = tailer_of(house)
        got: list[int] = []
        for _ in range(3):  # each life of the program reads two events, then is cut off
            stream = stream_of(house, tailer, got[-1] if got else 0)
            for _ in range(2):
                got.append((await recorded(stream))[0])
        tailer.close()
        return got

    while house.store.head() < 6:
        pause(house)
    assert run(scene()) == [1, 2, 3, 4, 5, 6]


def test_more_than_one_page_that_was_missed_is_told_whole(house: House) -> None:
    house.record(*[facts.ClusterResumed("x")] * AT_ONCE)
    pause(house)
    assert house.store.head() > AT_ONCE

    async def scene() -> list[int]:
        tailer = tailer_of(house)
        stream = stream_of(house, tailer, 0)
        got = [(await recorded(stream))[0] for _ in range(house.store.head())]
        tailer.close()
        return got

    assert run(scene()) == list(range(1, house.store.head() + 1))


def test_events_of_clusters_of_others_are_not_told_also_not_to_who_resumes(house: House) -> None:
    house.apply(THEIRS)
    pause(house)

    async def scene() -> list[str]:
        tailer = tailer_of(house)
        stream = stream_of(house, tailer, 0, VIEWER)
        clusters = [(await recorded(stream))[1]["cluster"] for _ in range(2)]
        house.client.post("/v1/clusters/ledger/pause", json={"reason": "x"})
        pause(house)
        clusters.append((await recorded(stream))[1]["cluster"])
        tailer.close()
        return clusters

    assert run(scene()) == ["orders"] * 3


def test_a_filter_counts_for_the_stream_as_for_a_page(house: House) -> None:
    pause(house)

    async def scene() -> str:
        tailer = tailer_of(house)
        _, event = await recorded(stream_of(house, tailer, 0, type="cluster.pau"))
        tailer.close()
        return str(event["type"])

    assert run(scene()) == "cluster.paused"


MAKER, TOKEN = Binding("user:ada", Role.OWNER, "*"), Binding("token:0123456789ab", Role.OPERATOR, "team:payments")
LIMIT = Binding("user:ada", Role.VIEWER, "cluster:orders")
BY_TOKEN = rights_of("user:ada", [MAKER, TOKEN], limit=LIMIT, via=TOKEN.subject)


@pytest.mark.parametrize(
    ("had", "now_has"),
    [
        (EVERYTHING, None),
        (EVERYTHING, VIEWER),
        (BY_TOKEN, rights_of("user:ada", [MAKER], limit=LIMIT, via=TOKEN.subject)),
        (BY_TOKEN, rights_of("user:ada", [MAKER, TOKEN], limit=TOKEN, via=TOKEN.subject)),
    ],
    ids=["over", "other role", "role of the token taken", "other limit"],
)
def test_a_stream_ends_when_the_token_is_over_or_its_rights_change(
    house: House, had: Rights, now_has: Rights | None
) -> None:
    async def gone() -> Rights | None:
        return now_has

    async def scene() -> list[str]:
        tailer = tailer_of(house)
        stream = event_messages(tailer, watching(had, gone), reading(house, had), None)
        async with asyncio.timeout(5):
            told = [message async for message in stream]
        assert tailer.listeners == 0
        return told

    assert run(scene())[-1] == "event: over\ndata: {}\n\n"


def test_a_database_that_is_away_for_a_moment_costs_no_event(house: House) -> None:
    failures = iter([True, True])
    read = reading(house, EVERYTHING)

    def shaky(after: int) -> LogOut:
        if next(failures, False):
            raise StoreUnavailable("away")
        return read(after)

    async def scene() -> int:
        tailer = tailer_of(house)
        position, _ = await recorded(event_messages(tailer, watching(EVERYTHING), shaky, 0))
        tailer.close()
        return position

    assert run(scene()) == 1


def test_waiting_ends_when_the_log_grows_when_time_is_up_and_at_a_stop(house: House) -> None:
    async def scene() -> None:
        tailer, head = tailer_of(house), house.store.head()
        waiting = asyncio.ensure_future(grown(tailer, watching(EVERYTHING), head, 5.0))
        await until(lambda: tailer.listeners)
        assert not waiting.done()
        pause(house)
        assert await waiting is True
        assert await grown(tailer, watching(EVERYTHING), house.store.head(), 0.03) is False
        tailer.close()
        assert await grown(tailer, watching(EVERYTHING), house.store.head(), 60.0) is False

    run(scene())


def test_the_route_answers_programs_with_a_stream_and_others_with_a_page(house: House) -> None:
    house.app.state.tailer.close()  # a stream ends at once
    stream = house.client.get("/v1/events", headers=STREAM)
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert (stream.status_code, stream.text) == (200, "retry: 1000\n\n")
    page = house.client.get("/v1/events", params={"after": house.store.head(), "wait_s": 20})
    assert (page.status_code, page.json()["events"], page.json()["is_all"]) == (200, [], True)
    missed = house.client.get("/v1/events", params={"after": 0, "wait_s": 20})
    assert missed.json()["events"][0]["position"] == 1


def test_what_makes_no_sense_is_refused_before_the_stream_begins(house: House) -> None:
    house.app.state.tailer.close()
    unknown = house.client.get("/v1/events", params={"cluster": "nothing"}, headers=STREAM)
    assert (unknown.status_code, unknown.headers["content-type"]) == (404, "application/problem+json")
    assert house.client.get("/v1/events", params={"after": "x"}, headers=STREAM).status_code == 422
    assert house.client.get("/v1/events", headers={**STREAM, "Last-Event-ID": "no position"}).status_code == 200
    assert house.client_with({}).get("/v1/events", headers=STREAM).status_code == 401


def test_streams_and_waiting_calls_of_one_person_are_counted(house: House) -> None:
    tailer: Tailer = house.app.state.tailer
    tailer._listening["installation"] = MOST_OF_ONE
    refused = house.client.get("/v1/events", headers=STREAM)
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-streams")
    assert house.client.get("/v1/events", params={"after": 0, "wait_s": 1}).status_code == 429
    assert house.client.get("/v1/events").status_code == 200


def test_the_document_says_that_the_answer_may_be_a_stream(house: House) -> None:
    from controlplane.api.api_document import api_document

    told = api_document(house.app)["paths"]["/v1/events"]["get"]
    content = told["responses"]["200"]["content"]
    assert set(content) == {"application/json", "text/event-stream"}
    assert content["application/json"]["schema"]["$ref"].endswith("/LogOut")
    assert "Last-Event-ID".lower() in {p["name"].lower() for p in told["parameters"]}
