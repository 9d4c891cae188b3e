"""The event store: appends with every commit on disk (PostgreSQL, SQLite), a rebuild, and what a tail reader misses."""

import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import insert, update

from controlplane.storage import migrate
from events import facts
from events.codec import decode, encode
from events.engine import build_engine, writing
from events.envelope import NewEvent, Origin
from events.sql_store import SqlEventStore
from events.tables import COUNTER, EVENT
from tests.postgres_server import PostgresServer, running_postgres

WRITERS = 16
RUNS = 3
RUN_S = 4.0
ROLLBACK_SHARE = 0.1
REBUILD_EVENTS = 200_000
FLOORS = {"postgres_16_writers_per_s": 300, "sqlite_full_per_s": 300, "rebuild_per_s": 50_000, "missed": 0}

ORIGIN = Origin("converger", cause="benchmark", epoch=1)
DATA = {"key": "broker-0.g2", "reason": "x" * 220, "moves": 12, "bytes": 10**12}  # about 300 bytes of JSON


def main() -> dict[str, object]:
    """Floors: 300, 300 and 50,000 per second, 0 missed."""
    with tempfile.TemporaryDirectory(prefix="kedge-benchmark-") as directory:
        numbers = {**_postgres(), **_sqlite(Path(directory)), **_rebuild(Path(directory))}
    return {**numbers, "floors": FLOORS}


def _postgres() -> dict[str, object]:
    with running_postgres(fsync=True) as server:
        runs = [_write_for(_store(server), WRITERS) for _ in range(RUNS)]
        rates = [len(seconds) / RUN_S for seconds in runs]
        best = runs[rates.index(max(rates))]
        lone = _write_for(_store(server), 1)
        followed, missed = _follow(_store(server))
    _say(f"PostgreSQL, {WRITERS} writers, fsync on: {[round(rate) for rate in rates]} appends/s")
    _say(f"a tail reader beside {WRITERS} writers with 10 % rollbacks saw {followed} events and missed {missed}")
    return {
        "postgres_16_writers_per_s": round(max(rates)),
        "postgres_16_writers_runs_per_s": [round(rate) for rate in rates],
        "postgres_16_writers_p99_ms": _percentile_ms(best, 99),
        "postgres_1_writer_per_s": round(len(lone) / RUN_S),
        "tail_events": followed,
        "missed": missed,
    }


def _sqlite(directory: Path) -> dict[str, object]:
    url = f"sqlite:///{directory}/append.db"
    migrate.upgrade(url)
    seconds = _write_for(SqlEventStore(build_engine(url)), 1)
    _say(f"SQLite, 1 writer, synchronous=FULL: {len(seconds) / RUN_S:.0f} appends/s")
    return {"sqlite_full_per_s": round(len(seconds) / RUN_S), "sqlite_full_p99_ms": _percentile_ms(seconds, 99)}


def _rebuild(directory: Path) -> dict[str, object]:
    url = f"sqlite:///{directory}/rebuild.db"
    migrate.upgrade(url)
    store = SqlEventStore(build_engine(url))
    _fill(store, REBUILD_EVENTS)
    rates, cpu_rates = [], []
    for _ in range(RUNS):
        started, cpu_started = time.monotonic(), time.process_time()
        counted = Counter(type(decode(recorded)) for recorded in store.iterate_all())
        rates.append(REBUILD_EVENTS / (time.monotonic() - started))
        cpu_rates.append(REBUILD_EVENTS / (time.process_time() - cpu_started))  # what a busy machine does not change
        if counted.total() != REBUILD_EVENTS:
            raise AssertionError(f"the fold saw {counted.total()} of {REBUILD_EVENTS} events")
    _say(f"rebuild of {REBUILD_EVENTS} events from SQLite: {[round(rate) for rate in rates]} events/s")
    return {
        "rebuild_per_s": round(max(rates)),
        "rebuild_per_cpu_s": round(max(cpu_rates)),
        "rebuild_events": REBUILD_EVENTS,
    }


def _store(server: PostgresServer) -> SqlEventStore:
    url = server.create_database()
    migrate.upgrade(url)
    return SqlEventStore(build_engine(url, pool_size=WRITERS + 2))


def _write_for(store: SqlEventStore, writers: int) -> list[float]:
    """Single-event appends, each writer on its own stream, for RUN_S; returns the seconds each took."""
    deadline = time.monotonic() + RUN_S

    def write(writer: int) -> list[float]:
        took = []
        version = 0
        while (started := time.monotonic()) < deadline:
            event = NewEvent(f"{writer}-{version}", "benchmark", 1, DATA)
            store.append(f"stream-{writer}", [event], expected_version=version, origin=ORIGIN)
            took.append(time.monotonic() - started)
            version += 1
        return took

    with ThreadPoolExecutor(writers) as pool:
        took = [seconds for one in pool.map(write, range(writers)) for seconds in one]
    if store.verify() != len(took):
        raise AssertionError("the store holds another number of events than were appended")
    return took


class _RolledBack(Exception):
    pass


def _follow(store: SqlEventStore) -> tuple[int, int]:
    """A reader that follows by position beside 16 writers that roll 10 % of their appends back: (seen, missed)."""
    done = threading.Event()
    seen: list[int] = []

    def follow() -> None:
        while True:
            finished = done.is_set()
            page = store.read_all(seen[-1] if seen else 0, 100)
            seen.extend(event.position for event in page)
            if finished and not page:
                return

    def write(writer: int) -> None:
        chance = random.Random(writer)
        deadline = time.monotonic() + RUN_S
        version = 0
        while time.monotonic() < deadline:
            event = [NewEvent(f"{writer}-{version}-{chance.random()}", "benchmark", 1, DATA)]
            try:
                with writing(store.engine) as transaction:
                    store.append_within(transaction, f"s{writer}", event, expected_version=version, origin=ORIGIN)
                    if chance.random() < ROLLBACK_SHARE:
                        raise _RolledBack
            except _RolledBack:
                continue
            version += 1

    reader = threading.Thread(target=follow)
    reader.start()
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    done.set()
    reader.join()
    stored = {event.position for event in store.iterate_all()}
    return len(seen), len(stored - set(seen)) + len(seen) - len(set(seen))


def _fill(store: SqlEventStore, count: int) -> None:
    """Replacements of nodes, as a fleet's log would hold them; in bulk, as appends are measured elsewhere."""
    now = datetime.now(UTC)
    rows = []
    for position, (stream, version, fact) in zip(range(1, count + 1), _replacements(), strict=False):
        event = encode(fact, f"e{position}")
        row = {"position": position, "stream": stream, "version": version, "event_id": event.event_id}
        row |= {"type": event.type, "schema_version": event.schema, "data": dict(event.data), "part": 0}
        rows.append(row | {"actor": "converger", "cause": f"e{position - 1}", "epoch": 1, "recorded_at": now})
    with writing(store.engine) as transaction:
        for start in range(0, count, 5000):
            transaction.execute(insert(EVENT), rows[start : start + 5000])
        transaction.execute(update(COUNTER).values(position=count))
    store.verify()


def _replacements() -> Iterator[tuple[str, int, object]]:
    versions: Counter[str] = Counter()
    number = 0
    while True:
        number += 1
        stream = f"cluster-{number % 100:032x}"
        for fact in _replacement(number):
            versions[stream] += 1
            yield stream, versions[stream], fact


def _replacement(number: int) -> list[object]:
    """The events of one node's replacement, in order."""
    intent, drain, old, new = f"{number:032x}", f"{number:031x}d", f"broker-{number}.g1", f"broker-{number}.g2"
    volume = facts.PlannedVolume(f"broker-{number}.data.v2", "data", 2, "ssd", 500, "c3RhYmxlLWRpcmVjdG9yeQ")
    instance = facts.PlannedInstance(
        node=f"broker-{number}",
        generation=2,
        pool="brokers",
        rack="a",
        index=number,
        service="broker",
        service_id=1000 + number,
        digest="0123456789abcdef",
        kafka_version="4.2.0",
        shape="medium",
        heap_mib=4096,
        settings={"num.io.threads": "8", "log.retention.hours": "72"},
        volumes=(volume,),
        replaces=1,
        handover=False,
    )
    launched = facts.LaunchedInstance(new, f"i-{number:012x}", "10.0.0.1")
    return [
        facts.SurgeRequested(intent, (instance,), "Kafka 4.1.1 -> 4.2.0"),
        facts.SurgeCompleted(intent, (launched,), {}),
        facts.InstanceJoined(new, 1000 + number),
        facts.DrainRequested(drain, (old,), (1000,), {"1000": 1000 + number}, (1001, 1002), 1, "outgoing"),
        facts.DrainPlanned(drain, "ab" * 32, "spark", 120, 10**12, 3, {"bytes_ratio": 1.02, "rack_violations": 0}),
        *[facts.BatchStarted(drain, batch, 40, 3 * 10**11) for batch in range(1, 4)],
        facts.NodeDrained(drain, (old,), 10**12, 120),
        facts.FenceRequested((old,), "empty for 60 s"),
        facts.NodeFenced(old, "agent"),
        facts.BrokerUnregistered(old, 1000),
        facts.RetireRequested(intent, (old,), (f"broker-{number}.data.v1",), "empty and stopped"),
        facts.RetireCompleted(intent),
        facts.ReplacementCompleted(f"broker-{number}", old, new),
    ]


def _percentile_ms(seconds: list[float], percent: int) -> float:
    return round(statistics.quantiles(seconds, n=100)[percent - 1] * 1000, 1)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
