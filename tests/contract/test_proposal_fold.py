"""Proposals over memory, SQLite and PostgreSQL: asked for once, decided once, seen by every server."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.cluster.commands import CommandRefused
from controlplane.fleet.proposals.fold import ProposalState, ProposalView
from controlplane.fleet.proposals.stream import LIFE, ProposalFold, ProposalNotFound
from events import proposal_facts as facts
from events.sql_store import SqlEventStore
from events.store import EventStore
from tests.fakes.event_store import MemoryEventStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def store(engine_or_memory: Engine | None) -> EventStore:
    if engine_or_memory is None:
        return MemoryEventStore(clock=lambda: NOON)
    return SqlEventStore(engine_or_memory, clock=lambda: NOON)


def fold_on(store: EventStore, *, now: datetime = NOON) -> ProposalFold:
    """A server of its own."""
    return ProposalFold(store, lambda: now)


def propose(fold: ProposalFold, key: str = "k1", digest: str = "d1") -> ProposalView:
    def made(number: str, expires_at: datetime) -> facts.ProposalMade:
        return facts.ProposalMade(
            id=number,
            change="apply",
            clusters=("orders",),
            topic="",
            text="kind: KafkaCluster",
            file="orders.yaml",
            message="",
            digest=digest,
            reasons=("chaos is allowed",),
            author="user:ada",
            claimed="",
            source="api",
            via="session",
            commit="",
            expires_at=expires_at,
        )

    return fold.propose(made, actor="person:ada", key=key)


def decide(fold: ProposalFold, number: str, by: str) -> bool:
    try:
        fold.decide(number, facts.ProposalApproved(number, f"user:{by}", ""), actor=f"person:{by}")
    except CommandRefused:
        return False
    return True


def test_a_proposal_is_read_back_by_every_server(store: EventStore) -> None:
    made = propose(fold_on(store))
    found = fold_on(store).get(made.id)
    assert (found.state, found.made, found.made.expires_at) == (ProposalState.OPEN, made.made, NOON + LIFE)


def test_a_retry_and_the_same_change_record_nothing_more(store: EventStore) -> None:
    fold = fold_on(store)
    assert propose(fold).id == propose(fold_on(store)).id == propose(fold, key="k2").id
    assert store.head() == 1
    assert propose(fold, key="k3", digest="d2").id != propose(fold).id


def test_the_same_change_is_asked_for_anew_once_the_first_is_over(store: EventStore) -> None:
    first = propose(fold_on(store))
    later = fold_on(store, now=NOON + LIFE + timedelta(seconds=1))
    assert propose(later, key="k2").id != first.id


def test_of_many_who_decide_at_once_one_is_first(store: EventStore) -> None:
    number = propose(fold_on(store)).id
    names = [f"u{n}" for n in range(6)]
    folds = [fold_on(store) for _ in names]
    with ThreadPoolExecutor(len(names)) as pool:
        decided = list(pool.map(lambda pair: decide(pair[0], number, pair[1]), zip(folds, names, strict=True)))
    assert sum(decided) == 1
    first = names[decided.index(True)]
    assert fold_on(store).get(number).decided_by == f"user:{first}"
    assert store.head() == 2


@pytest.mark.parametrize(
    "over",
    [
        lambda number: facts.ProposalRejected(number, "user:bob", "no"),
        lambda number: facts.ProposalVoided(number, "moved"),
    ],
    ids=["rejected", "voided"],
)
def test_what_is_over_stays_over(
    store: EventStore, over: Callable[[str], facts.ProposalRejected | facts.ProposalVoided]
) -> None:
    fold = fold_on(store)
    number = propose(fold).id
    fold.decide(number, over(number), actor="person:bob")
    assert not decide(fold, number, "cid")
    with pytest.raises(CommandRefused):
        fold.decide(number, facts.ProposalExecuted(number, "x"), actor="person:cid")


def test_nothing_is_done_that_nobody_agreed_to(store: EventStore) -> None:
    fold = fold_on(store)
    number = propose(fold).id
    with pytest.raises(CommandRefused):
        fold.decide(number, facts.ProposalExecuted(number, "x"), actor="person:ada")


def test_an_unknown_proposal_is_told(store: EventStore) -> None:
    with pytest.raises(ProposalNotFound):
        fold_on(store).decide("nope", facts.ProposalVoided("nope", "x"), actor="person:ada")
