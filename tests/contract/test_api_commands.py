"""Commands against every kind of store: idempotent by id, one uid per living name, refused with a reason."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controlplane.cluster.commands import (
    AbortRecycle,
    ClusterNotFound,
    CommandRefused,
    DeclareCluster,
    DeleteCluster,
    PauseCluster,
    ResumeCluster,
    SpecRefused,
)
from controlplane.commands.handler import CommandHandler, CommandOutcome
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.fleet.cluster_names import name_stream
from controlplane.storage.streams import cluster_stream
from events import facts
from events.engine import build_engine
from events.envelope import NewEvent, Origin, Recorded
from events.errors import StreamConflict
from events.ids import ClusterUid
from events.spec.model import KafkaClusterDocument
from events.sql_store import SqlEventStore
from events.store import EventStore
from tests.fakes.event_store import MemoryEventStore
from tests.unit.events.spec_texts import document

NAME = "orders"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, wiped_database: Callable[[str], str]) -> Iterator[EventStore]:
    if request.param == "memory":
        yield MemoryEventStore()
        return
    engine = build_engine(wiped_database("sqlite"))
    yield SqlEventStore(engine)
    engine.dispose()


@pytest.fixture
def handler(store: EventStore) -> CommandHandler:
    return CommandHandler(store)


def declare(
    text: KafkaClusterDocument | None = None, *, command_id: str = "c1", digest: str | None = None
) -> DeclareCluster:
    return DeclareCluster(
        name=NAME,
        actor="person:ann",
        command_id=command_id,
        document=text or document(),
        source="orders.yaml",
        plan_digest=digest,
    )


def larger(size: int = 6) -> KafkaClusterDocument:
    return document({19: f"      size: {size}"})


def history(store: EventStore, outcome: CommandOutcome) -> list[str]:
    return [e.type for e in store.read_stream(cluster_stream(outcome.uid))]


def record(store: EventStore, uid: ClusterUid, *events: object) -> None:
    stream = cluster_stream(uid)
    version = len(store.read_stream(stream))
    store.append(
        stream, new_events(stream, version, events), expected_version=version, origin=Origin("converger", epoch=1)
    )


# --- declaring --------------------------------------------------------------------------------------------------


def test_a_first_declaration_mints_a_uid_and_is_generation_one(handler: CommandHandler, store: EventStore) -> None:
    outcome = handler.handle(declare())
    assert (outcome.generation, outcome.created, outcome.changed) == (1, True, True)
    [event] = store.read_stream(cluster_stream(outcome.uid))
    assert (event.type, event.actor, event.command_id) == ("cluster.declared", "person:ann", "c1")


def test_the_same_document_again_changes_nothing(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    again = handler.handle(declare(command_id="c2"))
    assert (again.uid, again.changed, again.created, again.generation) == (first.uid, False, False, 1)
    assert history(store, first) == ["cluster.declared"]


def test_another_document_is_the_next_generation(handler: CommandHandler) -> None:
    handler.handle(declare())
    outcome = handler.handle(declare(larger(), command_id="c2"))
    assert (outcome.generation, outcome.changed, outcome.created) == (2, True, False)


def test_a_repeated_command_is_answered_as_the_first_time(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    handler.handle(declare(larger(), command_id="c2"))
    again = handler.handle(declare())
    assert (again.uid, again.changed, again.created) == (first.uid, True, True)
    assert history(store, first) == ["cluster.declared"] * 2


def test_a_repeated_command_is_recognised_whatever_happened_since(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    handler.handle(DeleteCluster(name=NAME, actor="p", command_id="c2", confirm=NAME, reason=""))
    record(store, first.uid, facts.ClusterDeleted(retained=True))
    assert handler.handle(declare()).uid == first.uid
    assert history(store, first)[-1] == "cluster.deleted"


def test_an_immutable_field_is_refused_with_its_place(handler: CommandHandler) -> None:
    handler.handle(declare())
    other = document({11: "    - name: voters"})
    with pytest.raises(SpecRefused) as refused:
        handler.handle(declare(other, command_id="c2"))
    assert [p.code for p in refused.value.problems] == ["KEDGE-SPEC-071"]


def test_kafka_below_a_finalised_level_is_refused(handler: CommandHandler, store: EventStore) -> None:
    newer = document({7: "    version: 4.2.0"})
    uid = handler.handle(declare(newer)).uid
    record(store, uid, facts.FinalisationRequested("metadata.version", 29, "t"))
    with pytest.raises(SpecRefused) as refused:
        handler.handle(declare(command_id="c2"))
    assert "29" in refused.value.problems[0].message


def test_kafka_below_a_level_that_is_not_final_yet_is_a_rollback(handler: CommandHandler, store: EventStore) -> None:
    uid = handler.handle(declare()).uid
    record(store, uid, facts.QuorumFounded("k", "4.1", ()))
    handler.handle(declare(document({7: "    version: 4.2.0"}), command_id="c2"))
    assert handler.handle(declare(command_id="c3")).generation == 3


# --- names ------------------------------------------------------------------------------------------------------


def test_of_many_first_declarations_at_once_one_mints_the_uid(store: EventStore) -> None:
    """Each on a handler of its own, as on servers of their own."""
    gate = threading.Barrier(8)

    def run(number: int) -> CommandOutcome:
        gate.wait(10)
        return CommandHandler(store).handle(declare(larger(3 * (1 + number % 2)), command_id=f"c{number}"))

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(run, range(8)))
    [uid] = {o.uid for o in outcomes}
    assert sum(o.created for o in outcomes) == 1
    assert [e.type for e in store.read_stream(name_stream(NAME))] == ["name.taken"]
    generations = [e.data["generation"] for e in store.read_stream(cluster_stream(uid))]
    assert generations == list(range(1, len(generations) + 1))


def test_a_crash_between_the_name_and_the_declaration_leaves_nothing_to_clean_up(store: EventStore) -> None:
    class Crash(Exception):
        pass

    class DiesOnDeclaration:
        """The store as a server sees it that is killed after its first append."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def append(self, stream: str, *rest: object, **more: object) -> list[Recorded]:
            if stream != name_stream(NAME):
                raise Crash
            return store.append(stream, *rest, **more)  # type: ignore[arg-type]

    with pytest.raises(Crash):
        CommandHandler(DiesOnDeclaration()).handle(declare())  # type: ignore[arg-type]
    with pytest.raises(ClusterNotFound):
        CommandHandler(store).handle(PauseCluster(name=NAME, actor="p", command_id="c2", reason=""))
    outcome = CommandHandler(store).handle(declare(command_id="c3"))
    [taken] = store.read_stream(name_stream(NAME))
    assert (outcome.created, taken.data["uid"]) == (True, outcome.uid)


def test_a_name_used_again_after_the_deletion_is_a_new_uid(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    handler.handle(DeleteCluster(name=NAME, actor="p", command_id="c2", confirm=NAME, reason=""))
    with pytest.raises(CommandRefused) as refused:
        handler.handle(declare(command_id="c3"))
    assert refused.value.code == "being-deleted"
    record(store, first.uid, facts.ClusterDeleted(retained=False))
    second = handler.handle(declare(command_id="c4"))
    assert second.uid != first.uid
    assert (second.generation, second.created) == (1, True)


def test_a_deleted_cluster_takes_no_commands(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    handler.handle(DeleteCluster(name=NAME, actor="p", command_id="c2", confirm=NAME, reason=""))
    record(store, first.uid, facts.ClusterDeleted(retained=False))
    with pytest.raises(ClusterNotFound):
        handler.handle(ResumeCluster(name=NAME, actor="p", command_id="c3", reason=""))


# --- pause, resume, abort, delete -------------------------------------------------------------------------------


def test_pausing_twice_records_once_and_another_reason_is_news(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    pause = PauseCluster(name=NAME, actor="p", command_id="c2", reason="lunch")
    until = datetime(2026, 1, 1, tzinfo=UTC)
    changed = [
        handler.handle(pause).changed,
        handler.handle(replace(pause, command_id="c3")).changed,
        handler.handle(replace(pause, command_id="c4", until=until)).changed,
    ]
    assert changed == [True, False, True]
    assert history(store, first)[1:] == ["cluster.paused"] * 2


def test_resuming_what_is_not_paused_changes_nothing(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    resume = ResumeCluster(name=NAME, actor="p", command_id="c2", reason="")
    assert not handler.handle(resume).changed
    handler.handle(PauseCluster(name=NAME, actor="p", command_id="c3", reason="x"))
    assert handler.handle(replace(resume, command_id="c4")).changed
    assert not handler.handle(replace(resume, command_id="c5")).changed
    assert history(store, first)[1:] == ["cluster.paused", "cluster.resumed"]


def test_resuming_forgives_a_failed_join_that_was_made_good_since(handler: CommandHandler, store: EventStore) -> None:
    """The fleet's brake still counts it, and only a resume lifts that."""
    from tests.unit.controlplane.api.portal_house import broker

    uid = handler.handle(declare()).uid
    one, two = broker(), broker(number=1001, generation=2)
    record(store, uid, facts.SurgeRequested("i1", (one,), "t"), facts.SurgeCompleted("i1", (_up(one.key),), {}))
    record(store, uid, facts.JoinFailed(one.key, "late"))
    record(store, uid, facts.SurgeRequested("i2", (two,), "t"), facts.SurgeCompleted("i2", (_up(two.key),), {}))
    record(store, uid, facts.InstanceJoined(two.key, 1001))
    resume = ResumeCluster(name=NAME, actor="p", command_id="c2", reason="")
    assert handler.handle(resume).changed
    assert not handler.handle(replace(resume, command_id="c3")).changed


def test_resuming_a_cluster_that_was_cured_lets_the_fleet_cure_again(
    handler: CommandHandler, store: EventStore
) -> None:
    """The fleet's brake counts its cures of a day until a person has looked."""
    uid = handler.handle(declare()).uid
    record(store, uid, facts.ElectionCureRequested("reelect_controller", "LeadersAway", 3, "asked 5 times"))
    resume = ResumeCluster(name=NAME, actor="p", command_id="c2", reason="")
    assert handler.handle(resume).changed
    assert not handler.handle(replace(resume, command_id="c3")).changed


def test_only_a_roll_can_be_aborted_and_only_once(handler: CommandHandler, store: EventStore) -> None:
    uid = handler.handle(declare()).uid
    abort = AbortRecycle(name=NAME, actor="p", command_id="c2", reason="wrong version")
    assert not handler.handle(abort).changed
    record(store, uid, facts.RecycleStarted(1, (), (), (), "t"))
    assert handler.handle(replace(abort, command_id="c3")).changed
    assert not handler.handle(replace(abort, command_id="c4")).changed


def test_deleting_takes_the_exact_name_and_nothing_else(handler: CommandHandler, store: EventStore) -> None:
    first = handler.handle(declare())
    delete = DeleteCluster(name=NAME, actor="p", command_id="c2", confirm="", reason="")
    for confirm in ("", "Orders", "orders ", "order", "yes"):
        with pytest.raises(CommandRefused) as refused:
            handler.handle(replace(delete, confirm=confirm))
        assert refused.value.code == "name-mismatch"
    assert handler.handle(replace(delete, confirm=NAME)).changed
    assert not handler.handle(replace(delete, confirm=NAME, command_id="c3")).changed
    assert history(store, first) == ["cluster.declared", "cluster.deletion_requested"]


@pytest.mark.parametrize(
    "command",
    [
        PauseCluster(name="nobody", actor="p", command_id="c", reason=""),
        ResumeCluster(name="nobody", actor="p", command_id="c", reason=""),
        AbortRecycle(name="nobody", actor="p", command_id="c", reason=""),
        DeleteCluster(name="nobody", actor="p", command_id="c", confirm="nobody", reason=""),
    ],
)
def test_a_name_nobody_has_is_not_found_and_not_taken(
    handler: CommandHandler, store: EventStore, command: PauseCluster
) -> None:
    with pytest.raises(ClusterNotFound):
        handler.handle(command)
    assert store.head() == 0


# --- conflicts and unreadable histories -------------------------------------------------------------------------


def test_a_command_decides_again_when_the_converger_wrote_meanwhile(store: EventStore) -> None:
    uid = CommandHandler(store).handle(declare()).uid
    racing = _Racing(store, lambda: record(store, uid, facts.ConditionChanged("X", True, "R", "")), times=2)
    outcome = CommandHandler(racing).handle(PauseCluster(name=NAME, actor="p", command_id="c2", reason="x"))
    assert outcome.changed
    assert history(store, outcome)[-1] == "cluster.paused"


def test_a_command_that_never_gets_a_word_in_says_so(store: EventStore) -> None:
    uid = CommandHandler(store).handle(declare()).uid
    racing = _Racing(store, lambda: record(store, uid, facts.ConditionChanged("X", True, "R", "")), times=99)
    with pytest.raises(StreamConflict):
        CommandHandler(racing).handle(PauseCluster(name=NAME, actor="p", command_id="c2", reason="x"))


def test_a_history_that_cannot_be_read_takes_no_commands(handler: CommandHandler, store: EventStore) -> None:
    uid = handler.handle(declare()).uid
    stream = cluster_stream(uid)
    odd = NewEvent("e1", "cluster.from_the_future", 1, {})
    store.append(stream, [odd], expected_version=1, origin=Origin("converger"))
    with pytest.raises(CommandRefused) as refused:
        handler.handle(PauseCluster(name=NAME, actor="p", command_id="c2", reason="x"))
    assert refused.value.code == "history-unreadable"


class _Racing:
    """A store where somebody else writes right before our append, `times` times."""

    def __init__(self, store: EventStore, rival: Callable[[], None], *, times: int) -> None:
        self._store, self._rival, self._times = store, rival, times

    def append(
        self, stream: str, events: Sequence[NewEvent], *, expected_version: int, origin: Origin
    ) -> list[Recorded]:
        if self._times:
            self._times -= 1
            self._rival()
        return self._store.append(stream, events, expected_version=expected_version, origin=origin)

    def read_stream(self, stream: str, after_version: int = 0) -> list[Recorded]:
        return self._store.read_stream(stream, after_version)

    def read_all(self, after_position: int = 0, limit: int = 1000) -> list[Recorded]:
        return self._store.read_all(after_position, limit)

    def iterate_all(self, after_position: int = 0) -> Iterator[Recorded]:
        return self._store.iterate_all(after_position)

    def head(self) -> int:
        return self._store.head()


def _up(key: str) -> facts.LaunchedInstance:
    return facts.LaunchedInstance(key, f"vm-{key}", "127.64.0.9")
