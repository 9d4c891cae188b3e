"""Pages and the search under load."""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.portal.house import CREDENTIAL, ROLLING, PortalHouse, partitions_of, topic_names
from benchmarks.portal.users import Crowd, played
from events.clock import utc_now

CLUSTERS, TOPICS, PARTITIONS = 100, 1_000, 10
AGENTS, STREAMS = 500, 100
SECONDS = 30.0
PAGE_MS, SEARCH_MS = 300, 200
_PEOPLE = 5
_SEARCHES = {"prefix": "orders.cl", "substring": "ledger", "common": "e", "number": "09731", "word": "payments"}


def pages(scale: float) -> dict[str, Any]:
    """p95 of first HTML, milliseconds."""
    with _house(TOPICS, PARTITIONS) as house:
        _warm(house)
        found = _played(Crowd(house.url, house.cookies, _paths(), SECONDS * scale))
        return _figures(found, PAGE_MS) | _stalls(house)


def crowd(scale: float) -> dict[str, Any]:
    """The same with everybody else there, and an event each second that every stream is told of."""
    with _house(TOPICS, PARTITIONS) as house, _each_second(house.change):
        _warm(house)
        agents = house.agents(AGENTS)
        asked = Crowd(
            house.url,
            house.cookies,
            _paths(),
            SECONDS * scale,
            agents=agents,
            credential=CREDENTIAL,
            streams=STREAMS,
        )
        found = _played(asked)
        if found["failed"] or found["held"] != AGENTS + STREAMS:
            raise AssertionError(f"{found['held']} were held, {found['failed'][:3]}")
        if not found["changes"]:
            raise AssertionError("no stream was told of a change")
        figures = _figures(found, PAGE_MS) | _stalls(house)
        return figures | {
            "held": found["held"],
            "changes_told": found["changes"],
        }


def search(scale: float) -> dict[str, Any]:
    """p95 by what is looked for, milliseconds, while one cluster in a hundred has new topics each second."""
    with _house(10_000, 1) as house, _each_second(lambda turn: _read_anew(house, 10_000, turn)):
        _warm(house)
        paths = {kind: f"/search?q={text}" for kind, text in _SEARCHES.items()}
        found = _played(Crowd(house.url, house.cookies, list(paths.values()), SECONDS * scale))
        names = {path: kind for kind, path in paths.items()}
        found["seconds"] = {names[path]: times for path, times in found["seconds"].items()}
        return _figures(found, SEARCH_MS) | {"topics": CLUSTERS * 10_000, "ticks": house.ticks}


def _stalls(house: PortalHouse) -> dict[str, Any]:
    """What pages stand still for, in figures that a busy machine does not change: the clusters of one tick, and the
    longest walk of the garbage collector."""
    return {
        "ticks": house.ticks,
        "most_looked_at_in_a_tick": house.most_in_a_tick,
        "longest_walk_cpu_ms": round(house.walks.longest_ms),
    }


def _paths() -> list[str]:
    here, topic = f"/clusters/{ROLLING}", topic_names(8)[7]
    return ["/", here, f"{here}/brokers", f"{here}/topics", f"{here}/topics/{topic}"]


def _warm(house: PortalHouse) -> None:
    """Templates are compiled and the index is made before it counts: once in a server's life."""
    played(Crowd(house.url, house.cookies, [*_paths(), "/search?q=orders"], 3.0, users=4, think_s=0.1))


def _played(crowd: Crowd) -> dict[str, Any]:
    """With the processor seconds of the server, ticks included: what a busy machine does not change."""
    began = time.process_time()
    return played(crowd) | {"cpu_s": time.process_time() - began}


def _figures(found: dict[str, Any], floor_ms: int) -> dict[str, Any]:
    if set(found["answers"]) != {"200"}:
        raise AssertionError(f"pages were answered {found['answers']}")
    p95 = {path: round(_p95(times) * 1000) for path, times in found["seconds"].items()}
    return {
        "p95_ms": p95,
        "worst_p95_ms": max(p95.values()),
        "slowest_ms": round(max(max(times) for times in found["seconds"].values()) * 1000),
        "answers": found["answers"]["200"],
        "cpu_ms_per_answer": round(found["cpu_s"] / found["answers"]["200"] * 1000, 1),
        "floor": {"worst_p95_ms": floor_ms},
    }


def _p95(times: list[float]) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


@contextmanager
def _house(topics: int, partitions: int) -> Iterator[PortalHouse]:
    with tempfile.TemporaryDirectory(prefix="kedge-portal-") as directory:
        house = PortalHouse(Path(directory), clusters=CLUSTERS, topics=topics, partitions=partitions, people=_PEOPLE)
        try:
            house.open()
            yield house
        finally:
            house.close()


@contextmanager
def _each_second(act: Callable[[int], None]) -> Iterator[None]:
    """Does it each second, with the number of the turn from 1 on."""
    ended = threading.Event()

    def acts() -> None:
        turn = 0
        while not ended.wait(1.0):
            turn += 1
            act(turn)

    thread = threading.Thread(target=acts, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _read_anew(house: PortalHouse, topics: int, turn: int) -> None:
    """One cluster after the other is read with topics it did not have."""
    observer, views = house.fleet.converger._observer, house.fleet.converger.views()
    uid = views[turn % len(views)].uid
    snapshot = house.fleet.converger.last_snapshot(uid)
    if snapshot is not None:
        fresh = partitions_of(topic_names(topics, salt=turn * 97), 1)
        observer._brokers.snapshots[uid] = replace(snapshot, partitions=fresh, at=utc_now())
