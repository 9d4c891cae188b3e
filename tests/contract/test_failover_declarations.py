"""Pairs of clusters over memory, SQLite and PostgreSQL: a cluster is of one pair, whoever asks on whichever server."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine

from controlplane.cluster.commands import CommandRefused, SpecRefused
from controlplane.commands.failover_declarations import DeclarePair
from controlplane.commands.failovers import PairNotFound
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts as facts
from events.codec import encode
from events.envelope import Origin
from events.store import EventStore
from tests.contract.pair_servers import NOON, Server, store_on, wanted


@pytest.fixture
def store(engine_or_memory: Engine | None) -> EventStore:
    return store_on(engine_or_memory)


def test_a_pair_is_declared_and_every_server_sees_it(store: EventStore) -> None:
    done = Server(store).declare("orders", "eu", "us")
    assert (done.changed, done.sentence) == (True, "orders: eu is the primary, us its cold standby")
    pair = Server(store).get("orders")
    assert (pair.clusters, pair.view.primary, pair.view.standby) == (("uid-eu", "uid-us"), "uid-eu", "uid-us")
    declaration = pair.view.declaration
    assert declaration is not None
    assert (declaration.by, declaration.at, declaration.generation) == ("person:ada", NOON, 1)
    assert declaration.document == wanted("orders", "eu", "us").document
    assert (pair.view.state, pair.view.is_at_rest, pair.view.unreadable) == ("Seeding", True, "")


def test_the_same_again_changes_nothing_and_another_size_is_a_new_document(store: EventStore) -> None:
    server = Server(store)
    server.declare("orders", "eu", "us", key="k")
    head = store.head()
    assert server.declare("orders", "eu", "us", key="k").sentence == "done before, by this very command"
    assert server.declare("orders", "eu", "us", key="another").changed is False
    assert store.head() == head
    assert server.declare("orders", "eu", "us", size=5).sentence == "orders is declared anew"
    declaration = server.get("orders").view.declaration
    assert declaration is not None
    assert (declaration.generation, declaration.document.spec.standby) == (
        2,
        wanted("o", "a", "b", size=5).document.spec.standby,
    )


def test_a_cluster_is_of_one_pair_until_that_is_withdrawn(store: EventStore) -> None:
    server = Server(store)
    server.declare("orders", "eu", "us")
    with pytest.raises(SpecRefused, match="us is of the pair `orders`"):
        server.declare("search", "us", "asia")
    assert [pair.name for pair in server.service.pairs().living] == ["orders"]
    assert server.withdraw("orders").changed
    assert server.declare("search", "us", "asia").changed
    assert [pair.name for pair in server.service.pairs().living] == ["search"]


def test_a_name_that_was_withdrawn_is_another_pair(store: EventStore) -> None:
    server = Server(store)
    server.declare("orders", "eu", "us", key="first")
    before = server.get("orders").uid
    server.withdraw("orders")
    assert server.declare("orders", "us", "eu", key="second").changed
    assert server.get("orders").uid != before
    assert server.get("orders").view.primary == "uid-us"


def test_of_two_pairs_that_are_declared_at_once_one_gets_the_cluster(store: EventStore) -> None:
    orders = [wanted("orders", "eu", "us"), wanted("search", "us", "asia"), wanted("clicks", "asia", "eu")]

    def declared(command: DeclarePair) -> bool:
        try:
            return Server(store).service.declare(command).changed
        except SpecRefused:
            return False

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(declared, orders)) == 1
    (pair,) = Server(store).service.pairs().living
    assert pair.view.name == pair.name


def test_one_pair_that_several_servers_declare_at_once_is_declared_once(store: EventStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: Server(store).declare("orders", "eu", "us", key=f"k{n}"), range(4)))
    assert sum(outcome.changed for outcome in done) == 1
    uid = Server(store).get("orders").uid
    assert [e.type for e in store.read_stream(pair_stream(uid))] == ["failover.declared"]
    assert len(store.read_stream(FAILOVERS)) == 1


def test_a_crash_behind_the_registration_leaves_a_pair_that_holds_its_clusters(store: EventStore) -> None:
    registered = encode(facts.PairRegistered("u1", "orders", ("uid-eu", "uid-us")), "e1")
    store.append(FAILOVERS, [registered], expected_version=0, origin=Origin("person:ada", command_id="crashed"))
    server = Server(store)
    assert server.get("orders").view.name == ""
    with pytest.raises(SpecRefused, match="is of the pair `orders`"):
        server.declare("search", "us", "asia")
    assert server.declare("orders", "eu", "us", key="crashed").changed  # the very command, tried again
    assert server.get("orders").uid == "u1"


def test_a_pair_that_was_only_registered_lets_its_clusters_go(store: EventStore) -> None:
    registered = encode(facts.PairRegistered("u1", "orders", ("uid-eu", "uid-us")), "e1")
    store.append(FAILOVERS, [registered], expected_version=0, origin=Origin("person:ada", command_id="crashed"))
    server = Server(store)
    assert server.withdraw("orders").changed
    with pytest.raises(CommandRefused, match="withdrawn meanwhile"):
        server.declare("orders", "eu", "us", key="crashed")
    assert server.declare("search", "us", "asia").changed


def test_a_pair_of_which_something_acts_is_not_withdrawn(store: EventStore) -> None:
    server = Server(store)
    server.declare("orders", "eu", "us")
    uid = server.get("orders").uid
    story = (
        facts.DoorClosed("uid-us", 1, "agents", ""),
        facts.StandbySeeded(""),
        facts.FailoverRequested("f1", True, ""),
    )
    for n, fact in enumerate(story):
        store.append(pair_stream(uid), [encode(fact, f"s{n}")], expected_version=1 + n, origin=Origin("loop"))
    with pytest.raises(CommandRefused, match="f1 of orders is in hand"):
        server.withdraw("orders")
    with pytest.raises(CommandRefused, match="by its document of before"):
        server.declare("orders", "eu", "us", size=5)
    assert server.get("orders").view.state == "Preparing"


def test_a_warm_pair_at_rest_is_withdrawn_though_records_are_copied(store: EventStore) -> None:
    """What copies ends with it: whoever recovers from a failover that nobody can lead on has no other way."""
    server = Server(store)
    server.declare_warm("orders", "eu", "us")
    uid = server.get("orders").uid
    story = (facts.DoorClosed("uid-us", 1, "agents", ""), facts.CopyRequested({}), facts.StandbySeeded(""))
    for n, fact in enumerate(story):
        store.append(pair_stream(uid), [encode(fact, f"s{n}")], expected_version=1 + n, origin=Origin("loop"))
    assert server.get("orders").view.flow is not None
    assert server.withdraw("orders").changed
    assert server.service.pairs().by_uid[uid].view.flow is None


def test_a_withdrawal_needs_the_name_and_is_done_once(store: EventStore) -> None:
    server = Server(store)
    server.declare("orders", "eu", "us")
    with pytest.raises(CommandRefused, match="`order` is not `orders`"):
        server.withdraw("orders", confirm="order")
    assert server.withdraw("orders").changed
    head = store.head()
    assert server.withdraw("orders").sentence == "done before, by this very command"
    with pytest.raises(PairNotFound, match="there is no failover 'orders'"):
        server.withdraw("orders", key="another")
    assert store.head() == head


def test_what_cannot_be_read_of_registrations_stops_new_pairs(store: EventStore) -> None:
    strange = encode(facts.PairWithdrawn("?"), "e1")
    store.append(FAILOVERS, [strange], expected_version=0, origin=Origin("person:ada"))
    with pytest.raises(CommandRefused, match="the pairs are unreadable"):
        Server(store).declare("orders", "eu", "us")
