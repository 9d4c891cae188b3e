"""Streams of changes: one tailer for all, positions as ids, nothing of what a listener may not read."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Rights, rights_of, whole_rights
from controlplane.api.access.roles import Role
from controlplane.api.feed import RECHECK_EVERY_S
from controlplane.api.read_models.event_tail import (
    LOOK_EVERY_S,
    MOST_OF_ONE,
    READS_COUNT_EVERY_S,
    Tailer,
    _Listener,
    _pulse,
    _stream,
)
from controlplane.fleet.failovers.state import PairsView
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts
from events.codec import encode
from events.envelope import Origin
from events.errors import StoreUnavailable
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.listening import THEIRS, house_of_ours, until
from tests.unit.controlplane.api.portal_house import START, House

WELL = a_partition("payments-0")


@pytest.fixture
def house() -> House:
    return house_of_ours()


def tailer_of(house: House) -> Tailer:
    return Tailer(house.store, house.converger, look_every_s=0.001)


def listener(house: House, rights: Rights) -> _Listener:
    async def recheck() -> Rights | None:
        return rights

    return _Listener(house.services, rights, recheck, None)


def viewer() -> Rights:
    return rights_of("user:ada", [Binding("user:ada", Role.VIEWER, "team:payments")])


async def told(stream: AsyncIterator[str]) -> str:
    """The next message that says something."""
    async with asyncio.timeout(5):
        async for message in stream:
            if "event:" in message:
                return message
    return ""


def listening(house: House, rights: Rights, seen: int | None = None) -> tuple[Tailer, AsyncIterator[str]]:
    tailer = tailer_of(house)
    return tailer, _stream(tailer, listener(house, rights), seen)


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def test_an_event_is_told_with_its_position_as_id(house: House) -> None:
    async def scene() -> None:
        tailer, stream = listening(house, whole_rights("x"))
        assert (
            await told(stream)
            == f'id: {house.store.head()}\nevent: here\ndata: {{"position": {house.store.head()}}}\n\n'
        )
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
        changed = await told(stream)
        assert changed.startswith(f"id: {house.store.head()}\nevent: changed\n")
        tailer.close()

    run(scene())


def test_a_browser_that_comes_back_is_told_at_once_what_it_missed(house: House) -> None:
    async def scene() -> None:
        before = house.store.head()
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
        _, missed = listening(house, whole_rights("x"), seen=before)
        assert "event: changed" in await told(missed)
        _, empty = listening(house, whole_rights("x"), seen=0)
        assert "event: changed" in await told(empty), "the page was drawn while there was nothing"
        _, nothing = listening(house, whole_rights("x"), seen=house.store.head())
        assert "event: here" in await told(nothing)

    run(scene())


def test_what_is_recorded_of_a_pair_is_told_of_its_clusters(house: House) -> None:
    async def scene() -> None:
        tailer = Tailer(house.store, house.converger, pairs=house.pairs.pairs, look_every_s=0.001)
        stream = _stream(tailer, listener(house, whole_rights("x")), None)
        await told(stream)
        uid = house.view().uid
        registered = failover_facts.PairRegistered("p1", "both", (uid, "another"))
        declared = failover_facts.FailoverDeclared("both", uid, "another", "cold")
        for name, fact in ((FAILOVERS, registered), (pair_stream("p1"), declared)):
            house.store.append(name, [encode(fact, name)], expected_version=0, origin=Origin("person:ada"))
        assert f'"clusters": ["{uid}"]' in await told(stream)
        tailer.close()

    run(scene())


def test_a_new_sentence_is_told_though_it_is_no_event(house: House) -> None:
    from controlplane.converger.tick.report import Said

    async def scene() -> None:
        tailer, stream = listening(house, whole_rights("x"))
        await told(stream)
        house.converger._said[house.view().uid] = Said(house.now, "12 moves left")
        assert "event: changed" in await told(stream)
        tailer.close()

    run(scene())


def news(message: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(message.partition("data: ")[2])
    return data


def test_new_metadata_is_told_to_pages_of_that_cluster_though_it_is_no_event(house: House) -> None:
    async def scene() -> None:
        tailer, stream = listening(house, whole_rights("x"))
        uid = house.view().uid
        house.snapshots[uid] = replace(a_snapshot(WELL), at=START)
        await told(stream)
        house.snapshots[uid] = replace(a_snapshot(WELL), at=START + timedelta(seconds=60))
        assert news(await told(stream)) == {"position": house.store.head(), "clusters": [], "read": [uid]}
        tailer.close()

    run(scene())


def test_what_ails_is_told_to_every_page_at_once(house: House) -> None:
    async def scene() -> None:
        tailer, stream = listening(house, whole_rights("x"))
        uid = house.view().uid
        house.snapshots[uid] = replace(a_snapshot(WELL), at=START)
        await told(stream)
        behind = replace(WELL, isr=(1000, 1001))
        house.snapshots[uid] = replace(a_snapshot(behind), at=START + timedelta(seconds=1))
        assert news(await told(stream)) == {"position": house.store.head(), "clusters": [uid], "read": []}
        tailer.close()

    run(scene())


def test_reads_a_second_apart_are_told_a_few_times_a_minute(house: House) -> None:
    """With work in hand Kafka is read each tick: pages are not to be drawn anew for each."""
    uid = house.view().uid
    pulses = set()
    for second in range(60):
        house.snapshots[uid] = replace(a_snapshot(WELL), at=START + timedelta(seconds=second))
        pulses.add(_pulse(house.converger, house.view(), PairsView()))
    assert len(pulses) == 60 / READS_COUNT_EVERY_S


def test_new_metadata_of_others_is_not_told(house: House) -> None:
    async def scene() -> None:
        house.apply(THEIRS)
        tailer, stream = listening(house, viewer())
        theirs = next(v for v in house.converger.views() if v.name != "orders")
        await told(stream)
        house.snapshots[theirs.uid] = replace(a_snapshot(WELL), at=START)
        await until(lambda: tailer._last is not None and tailer._last.pulses[theirs.uid].read > 0)
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
        assert theirs.uid not in await told(stream)
        tailer.close()

    run(scene())


def test_what_happens_to_a_cluster_of_others_is_not_told(house: House) -> None:
    async def scene() -> None:
        tailer, stream = listening(house, viewer())
        others = _stream(tailer, listener(house, whole_rights("x")), None)
        await told(stream)
        await told(others)
        house.apply(THEIRS)
        waiting = asyncio.ensure_future(told(stream))
        assert "event: changed" in await told(others)
        assert not waiting.done()
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
        assert f"id: {house.store.head()}\nevent: changed" in await waiting
        tailer.close()

    run(scene())


def test_one_look_serves_everybody_who_listens(house: House) -> None:
    polls = 0
    real = house.store.head

    def head() -> int:
        nonlocal polls
        polls += 1
        return real()

    async def scene() -> None:
        nonlocal polls
        tailer = Tailer(SimpleNamespace(head=head), house.converger, look_every_s=10)  # type: ignore[arg-type]
        streams = [_stream(tailer, listener(house, whole_rights(f"p{n}")), None) for n in range(8)]
        for stream in streams:
            await told(stream)
        assert polls == 1
        assert tailer.listeners == 8
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]

    run(scene())


def test_one_person_holds_so_many_streams_and_no_more(house: House) -> None:
    async def scene() -> None:
        tailer = tailer_of(house)
        streams = [_stream(tailer, listener(house, whole_rights("ada")), None) for _ in range(MOST_OF_ONE)]
        for stream in streams:
            await told(stream)
        assert tailer.is_too_much("ada")
        assert not tailer.is_too_much("bob")
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]
        assert not tailer.is_too_much("ada")

    run(scene())


def test_a_stop_sends_everybody_away(house: House) -> None:
    async def scene() -> None:
        tailer, stream = listening(house, whole_rights("x"))
        await told(stream)
        tailer.close()
        assert await told(stream) == ""
        assert tailer.listeners == 0

    run(scene())


def test_a_database_that_is_away_ends_no_stream(house: House) -> None:
    real, away, refused = house.store.head, False, 0

    def head() -> int:
        nonlocal refused
        if away:
            refused += 1
            raise StoreUnavailable("away")
        return real()

    async def scene() -> None:
        nonlocal away
        store = SimpleNamespace(head=head)
        tailer = Tailer(store, house.converger, look_every_s=0.001)  # type: ignore[arg-type]
        stream = _stream(tailer, listener(house, whole_rights("x")), None)
        await told(stream)
        away = True
        await until(lambda: refused > 1)
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
        away = False
        assert "event: changed" in await told(stream)
        tailer.close()

    run(scene())


async def ends_when(house: House, leave: Callable[[Rights], object]) -> str:
    """What a stream of ada's browser says once they have left."""
    browser = house.browser("ada", Binding("", Role.VIEWER, "*"))
    cookie = next(iter(browser.cookies.values()))
    rights = house.services.access.people.recognise(cookie, house.now)
    assert rights is not None

    async def recheck() -> Rights | None:
        return house.services.access.people.recognise(cookie, house.now)

    tailer = Tailer(house.store, house.converger, look_every_s=0.001, recheck_every_s=0.01)
    stream = _stream(tailer, _Listener(house.services, rights, recheck, None), None)
    await told(stream)
    leave(rights)
    return await told(stream)


def test_a_stream_ends_with_its_user(house: House) -> None:
    assert "event: over" in run(ends_when(house, lambda rights: house.services.access.people.remove("ada")))


def test_a_stream_ends_with_its_session(house: House) -> None:
    def sign_out(rights: Rights) -> None:
        assert rights.session is not None
        house.services.access.people.sessions.end(rights.session.key)

    assert "event: over" in run(ends_when(house, sign_out))


def test_a_stream_ends_when_its_user_is_disabled(house: House) -> None:
    assert "event: over" in run(
        ends_when(house, lambda rights: house.services.access.people.disable("ada", disabled=True))
    )


def test_a_stream_tells_nothing_more_once_the_role_is_taken(house: House) -> None:
    async def scene() -> None:
        binding, house_users = Binding("user:ada", Role.VIEWER, "*"), house.services.access.people.users
        house_users.bind(binding)

        async def recheck() -> Rights | None:
            return rights_of("user:ada", house_users.bindings())

        tailer = Tailer(house.store, house.converger, look_every_s=0.001, recheck_every_s=0.01)
        before = rights_of("user:ada", [binding])
        stream = _stream(tailer, _Listener(house.services, before, recheck, None), None)
        await told(stream)
        house_users.unbind(binding)
        assert "event: changed" in await told(stream), "the page is asked to draw itself anew, and has nothing left"
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
        tailer.close()
        assert await told(stream) == ""

    run(scene())


def test_a_change_names_its_clusters_and_what_was_missed_names_none(house: House) -> None:
    async def scene() -> None:
        tailer, stream = listening(house, whole_rights("x"), seen=0)
        assert "clusters" not in await told(stream)
        house.client.post("/v1/clusters/orders/pause", json={"reason": "x"})
        assert f'"clusters": ["{house.view().uid}"]' in await told(stream)
        tailer.close()

    run(scene())


def test_a_stream_ends_when_a_role_changes_and_goes_on_with_the_new_one(house: House) -> None:
    async def scene() -> None:
        binding, users = Binding("user:ada", Role.VIEWER, "*"), house.services.access.people.users
        users.bind(binding)

        async def recheck() -> Rights | None:
            return rights_of("user:ada", users.bindings())

        tailer = Tailer(house.store, house.converger, look_every_s=0.001, recheck_every_s=0.01)
        stream = _stream(tailer, _Listener(house.services, rights_of("user:ada", [binding]), recheck, None), None)
        await told(stream)
        users.bind(Binding("user:ada", Role.OPERATOR, "*"))
        assert "event: changed" in await told(stream)
        assert await told(stream) == "", "the browser comes back by itself"
        assert tailer.listeners == 0

    run(scene())


def test_a_stream_ends_when_a_role_is_taken_from_the_token_it_came_by(house: House) -> None:
    async def scene() -> None:
        maker, given = Binding("user:ada", Role.OWNER, "*"), Binding("token:0123456789ab", Role.OPERATOR, "*")
        held = [maker, given]

        def rights() -> Rights:
            limit = Binding("user:ada", Role.VIEWER, "cluster:orders")
            return rights_of("user:ada", held, limit=limit, via=given.subject)

        async def recheck() -> Rights | None:
            return rights()

        tailer = Tailer(house.store, house.converger, look_every_s=0.001, recheck_every_s=0.01)
        stream = _stream(tailer, _Listener(house.services, rights(), recheck, None), None)
        await told(stream)
        held.remove(given)
        assert "event: changed" in await told(stream)
        assert await told(stream) == ""

    run(scene())


def test_news_do_not_put_off_the_look_at_rights() -> None:
    async def scene() -> None:
        heads = iter(range(1, 10_000))
        fleet = SimpleNamespace(catch_up=lambda: None, views=list, said=lambda uid: None)
        tailer = Tailer(
            SimpleNamespace(head=lambda: next(heads)),  # type: ignore[arg-type]
            fleet,  # type: ignore[arg-type]
            look_every_s=0.09,
            recheck_every_s=0.1,
        )
        began, given = asyncio.get_running_loop().time(), []
        async with asyncio.timeout(5):
            async for look in tailer.polls("ada"):
                given.append(look)
                if look is None:
                    break
        assert asyncio.get_running_loop().time() - began < 0.5, given
        tailer.close()

    run(scene())


def test_who_holds_a_stream_is_looked_at_again_within_five_seconds() -> None:
    assert 1.5 * RECHECK_EVERY_S + LOOK_EVERY_S < 5.0, "a look put off by news comes half an interval later"


@pytest.mark.parametrize("said", ["9" * 5000, "²", "-1", "0x1", ""])
def test_a_last_event_id_that_is_no_position_is_no_error(house: House, said: str) -> None:
    house.app.state.tailer.close()
    answer = house.client.get("/live", headers={"Last-Event-ID": said.encode(), "Accept": "text/event-stream"})
    assert (answer.status_code, answer.text) == (200, "retry: 1000\n\n")
