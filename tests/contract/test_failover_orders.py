"""Orders on pairs of clusters over memory, SQLite and PostgreSQL: whoever asks on whichever server, one failover is in
hand at a time, and a command that is sent again is done once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine

from controlplane.cluster.commands import CommandRefused
from controlplane.commands.failover_declarations import DeclarePair
from controlplane.commands.failover_orders import (
    AbortFailover,
    CertifyDoorShut,
    OrderFailover,
    PairOutcome,
    order_digest,
)
from controlplane.commands.failovers import PairNotFound
from controlplane.fleet.failovers.seen import CopySeen, PairSeen, ReplicatorsSeen
from controlplane.fleet.failovers.steps import PairStep, PairWait
from controlplane.fleet.failovers.troubles import PairTroubles
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts as facts
from events.codec import encode
from events.envelope import Origin
from events.ids import derived_id
from events.spec.failover_model import KafkaFailoverDocument
from events.store import EventStore
from tests.contract.pair_servers import Server, store_on, wanted

SEEDED = (facts.DoorClosed("uid-us", 1, "agents", ""), facts.StandbySeeded(""))


class Pair(Server):
    """`orders` of eu and us on one of several servers, and what a person says about it."""

    def steps(self, *story: object) -> None:
        """What others record of it."""
        view = self.get("orders").view
        for n, fact in enumerate(story, view.version):
            event = encode(fact, derived_id("step", str(n)))
            self.store.append(pair_stream(view.uid), [event], expected_version=n, origin=Origin("loop"))
        assert not self.get("orders").view.unreadable

    def order(
        self,
        key: str = "o",
        *,
        planned: bool = True,
        accepts_loss: bool = False,
        confirm: str = "orders",
        plan_digest: str | None = None,
    ) -> PairOutcome:
        command = OrderFailover(
            name="orders",
            actor="person:ada",
            command_id=key,
            planned=planned,
            accepts_loss=accepts_loss,
            confirm=confirm,
            reason="drill",
            plan_digest=plan_digest,
        )
        return self.service.order(command)

    def abort(self, key: str = "a") -> PairOutcome:
        return self.service.abort(AbortFailover(name="orders", actor="person:bob", command_id=key, reason="no"))

    def certify(self, key: str = "c", *, confirm: str = "orders", reason: str = "its region is gone") -> PairOutcome:
        return self.service.certify(
            CertifyDoorShut(name="orders", actor="person:eve", command_id=key, confirm=confirm, reason=reason)
        )

    def types(self) -> list[str]:
        return [e.type.removeprefix("failover.") for e in self.store.read_stream(pair_stream(self.get("orders").uid))]

    def fences(self, order: str) -> None:
        """The order as far as it waits for the door of eu."""
        self.steps(
            facts.StandbyReady(order, ""),
            facts.NamesFlipRequested(order, "uid-us"),
            facts.NamesFlipped(order, "uid-us"),
            facts.DoorCloseRequested(order, "uid-eu", 2),
        )


@pytest.fixture
def store(engine_or_memory: Engine | None) -> EventStore:
    return store_on(engine_or_memory)


@pytest.fixture
def pair(store: EventStore) -> Pair:
    """At rest, and ready to be failed over."""
    pair = Pair(store)
    pair.declare("orders", "eu", "us")
    pair.steps(*SEEDED)
    return pair


def warm(store: Any) -> Pair:
    spec = {"clusters": ["eu", "us"], "bootstrap": {"dns": "o.example"}, "mode": "warm"}
    spec["replication"] = {}
    document = KafkaFailoverDocument.model_validate({"metadata": {"name": "orders"}, "spec": spec})
    pair = Pair(store)
    pair.service.declare(
        DeclarePair(name="orders", actor="person:ada", command_id="w", document=document, source="api")
    )
    pair.steps(SEEDED[0], facts.CopyRequested({}), SEEDED[1])
    return pair


@contextmanager
def refused(code: str, match: str) -> Iterator[None]:
    """With that code, and a way out."""
    with pytest.raises(CommandRefused, match=match) as caught:
        yield
    assert caught.value.code == code
    assert caught.value.what_next


def test_an_order_is_recorded_once_and_every_server_has_it_in_hand(pair: Pair) -> None:
    done = pair.order()
    assert (done.changed, done.sentence) == (True, "orders: the planned failover from eu to us is ordered")
    view = Pair(pair.store).get("orders").view
    assert view.order is not None
    assert (view.state, view.order.id, view.order.planned) == ("Preparing", done.order, True)
    again = Pair(pair.store).order()
    assert (again.sentence, again.order) == ("done before, by this very command", done.order)
    (event,) = [e for e in pair.store.read_stream(pair_stream(view.uid)) if e.type == "failover.requested"]
    assert (event.actor, event.data["reason"]) == ("person:ada", "drill")
    with refused("failover-in-hand", "one at a time"):
        pair.order("another")


def test_an_order_sent_again_once_it_is_over_is_no_second_one(pair: Pair) -> None:
    order = pair.order().order
    pair.abort()
    pair.steps(
        facts.DoorOpened("uid-eu", 2),
        facts.NamesFlipRequested(order, "uid-eu"),
        facts.NamesFlipped(order, "uid-eu"),
        facts.FailoverAborted(order),
        facts.StandbySeeded(""),
    )
    head = pair.store.head()
    assert pair.order().order == order
    assert pair.store.head() == head
    assert pair.get("orders").view.state == "Standby"


def test_of_several_that_are_ordered_at_once_one_is_in_hand(pair: Pair) -> None:
    def ordered(n: int) -> bool:
        try:
            return Pair(pair.store).order(f"k{n}").changed
        except CommandRefused:
            return False

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(ordered, range(4))) == 1
    assert pair.types().count("requested") == 1


def test_what_the_plan_is_refused_for_is_refused_of_the_order(store: EventStore) -> None:
    pair = Pair(store)
    pair.declare("orders", "eu", "us")
    with refused("failover-not-ready", "the pair is Seeding"):
        pair.order()
    pair.steps(*SEEDED)
    with refused("failover-loses", "nobody knows how much"):
        pair.order(planned=False)
    with refused("not-confirmed", "`order` is not `orders`"):
        pair.order(confirm="order")
    assert pair.types()[-1] == "seeded"
    assert pair.order(planned=False, accepts_loss=True).changed


def test_a_warm_pair_at_rest_is_led_over(store: EventStore) -> None:
    pair = warm(store)
    assert pair.get("orders").view.state == "Standby"
    with refused("failover-not-ready", "how far the copy is behind is not known"):
        pair.order()
    pair.sees = PairSeen(replicators=ReplicatorsSeen(is_running=True), copy=CopySeen(0.4, {}))
    assert pair.order().changed
    assert pair.types()[-1] == "requested"


def test_what_is_seen_decides_what_may_be_lost(store: EventStore) -> None:
    pair = warm(store)
    known = pair.get("orders")
    unseen = pair.service.plan(known, planned=False, accepts_loss=False)
    assert [r.code for r in unseen.refusals] == ["failover-loses"]
    pair.sees = PairSeen(copy=CopySeen(2.0, {}))
    seen = pair.service.plan(known, planned=False, accepts_loss=False)
    assert seen.refusals == ()
    assert seen.loss.lines[0].startswith("up to 2.0 s")


def test_a_pair_that_was_only_registered_is_ordered_nothing(store: EventStore) -> None:
    registered = encode(facts.PairRegistered("u1", "orders", ("uid-eu", "uid-us")), "e1")
    store.append(FAILOVERS, [registered], expected_version=0, origin=Origin("person:ada", command_id="crashed"))
    pair = Pair(store)
    with refused("failover-not-declared", "begun and not ended"):
        pair.order()
    for say in (pair.abort, pair.certify):
        with pytest.raises(CommandRefused, match="no failover of orders is in hand"):
            say()


def test_an_order_by_a_plan_of_before_is_refused(pair: Pair) -> None:
    shown = order_digest(pair.get("orders"), planned=True)
    with refused("plan-moved", "the kind of failover changed"):
        pair.order(planned=False, accepts_loss=True, plan_digest=shown)
    pair.declare("orders", "eu", "us", size=5)
    with refused("plan-moved", "how the pair stands changed"):
        pair.order(plan_digest=shown)
    assert pair.order(plan_digest=order_digest(pair.get("orders"), planned=True)).changed


def test_behind_a_failover_its_plan_leads_nobody_back(pair: Pair) -> None:
    """A script that runs twice: the second order would be the way back."""
    shown = order_digest(pair.get("orders"), planned=True)
    order = pair.order("first", plan_digest=shown).order
    pair.fences(order)
    pair.certify()
    pair.steps(
        facts.PromotionRequested(order, "uid-us", 3),
        facts.DoorOpened("uid-us", 3),
        facts.PairPromoted(order),
        facts.DoorClosed("uid-eu", 2, "agents", ""),
        facts.StandbySeeded(""),
    )
    view = pair.get("orders").view
    assert (view.state, view.primary) == ("Standby", "uid-us")
    with refused("plan-moved", "how the pair stands changed"):
        pair.order("second", plan_digest=shown)


def test_an_abort_is_recorded_once_and_needs_an_order_in_hand(pair: Pair) -> None:
    with refused("no-failover-in-hand", "nothing to abort"):
        pair.abort()
    order = pair.order().order
    done = pair.abort()
    assert (done.changed, done.order) == (True, order)
    view = pair.get("orders").view
    assert (view.state, view.doors["uid-eu"].state, view.doors["uid-eu"].epoch) == ("Aborting", "open", 0)
    head = pair.store.head()
    assert pair.abort().sentence == "done before, by this very command"
    assert (pair.abort("another").changed, pair.abort("another").order) == (False, order)
    assert pair.store.head() == head


def test_behind_the_point_of_no_return_an_abort_says_what_leads_back(pair: Pair) -> None:
    order = pair.order().order
    pair.fences(order)
    pair.certify()
    assert pair.get("orders").view.state == "Promoting"
    pair.steps(facts.PromotionRequested(order, "uid-us", 3))
    with pytest.raises(CommandRefused, match="past its point of no return: us is opened") as caught:
        pair.abort()
    assert (caught.value.code, caught.value.what_next.endswith("kedge failover orders")) == (
        "failover-past-return",
        True,
    )


def test_a_persons_word_shuts_the_door_that_the_order_closes(pair: Pair) -> None:
    order = pair.order(planned=False, accepts_loss=True).order
    pair.fences(order)
    done = pair.certify()
    assert (done.changed, done.order) == (True, order)
    assert done.sentence == "orders: the door of eu counts as shut by your word, by order 2"
    event = pair.store.read_stream(pair_stream(pair.get("orders").uid))[-1]
    assert (event.actor, dict(event.data)) == (
        "person:eve",
        {"cluster": "uid-eu", "epoch": 2, "proof": "certified", "detail": "its region is gone"},
    )
    assert pair.get("orders").view.state == "Promoting"
    head = pair.store.head()
    assert pair.certify().sentence == "done before, by this very command"
    with refused("no-door-closing", "proved shut by order 2 already"):
        pair.certify("another")
    assert pair.store.head() == head


def test_no_word_counts_against_that_of_an_agent_that_says_that_clients_get_in(pair: Pair) -> None:
    pair.fences(pair.order(planned=False, accepts_loss=True).order)
    pair.troubles = PairTroubles({"one-a-0.g1": "its door is open"}, heard_open=frozenset({"one-a-0.g1"}))
    with refused("door-heard-open", "one-a-0.g1 of eu said a moment ago that clients get in"):
        pair.certify()
    pair.troubles = PairTroubles({"one-a-0.g1": "its agent has been silent for 30 s"})
    assert pair.certify("later").changed


def test_no_word_counts_for_a_door_that_no_order_closes(store: EventStore) -> None:
    pair = Pair(store)
    pair.declare("orders", "eu", "us")
    with refused("no-door-closing", "no failover of orders is in hand"):
        pair.certify()  # the standby's door is closing, and by no failover
    pair.steps(*SEEDED)
    order = pair.order().order
    with refused("no-door-closing", "the door of eu is open, and not closing yet: the pair is Preparing"):
        pair.certify()
    pair.fences(order)
    with refused("not-confirmed", "`order` is not `orders`"):
        pair.certify(confirm="order")
    with refused("reason-missing", "nobody can judge later"):
        pair.certify(reason=" ")
    pair.abort()
    with refused("no-door-closing", "is being aborted"):
        pair.certify()
    assert pair.get("orders").view.doors["uid-eu"].state == "opening"


def test_a_pair_with_an_order_in_hand_is_not_withdrawn_whoever_is_faster(pair: Pair) -> None:
    def said(which: str) -> bool:
        server = Pair(pair.store)
        try:
            return (server.order() if which == "order" else server.withdraw("orders")).changed
        except (CommandRefused, PairNotFound):
            return False

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(said, ("order", "withdraw"))) == 1
    every = Pair(pair.store).service.pairs().by_uid.values()
    assert [(p.view.is_withdrawn, p.view.order is None, p.view.unreadable) for p in every] in (
        [(True, True, "")],
        [(False, False, "")],
    )


def test_nobody_orders_anything_of_a_pair_that_was_withdrawn(pair: Pair) -> None:
    pair.withdraw("orders")
    for say in (pair.order, pair.abort, pair.certify):
        with pytest.raises(PairNotFound):
            say()


def test_what_comes_next_is_told_by_what_is_seen(pair: Pair) -> None:
    found = pair.service.next(pair.get("orders"))
    assert found == PairWait("nobody asked for a failover", needs_person=True)
    order = pair.order().order
    pair.steps(facts.StandbyReady(order, ""))
    assert pair.service.next(pair.get("orders")) == PairStep(facts.NamesFlipRequested(order, "uid-us"))


def test_the_last_failover_that_is_over_is_known(pair: Pair) -> None:
    order = pair.order().order
    assert pair.get("orders").view.ended is None
    pair.abort()
    pair.steps(
        facts.DoorOpened("uid-eu", 2),
        facts.NamesFlipRequested(order, "uid-eu"),
        facts.NamesFlipped(order, "uid-eu"),
        facts.FailoverAborted(order),
    )
    ended = pair.get("orders").view.ended
    assert ended is not None
    assert (ended.id, ended.is_promoted) == (order, False)


def test_the_document_of_an_order_in_hand_stays(pair: Pair) -> None:
    pair.order()
    with pytest.raises(CommandRefused, match="by its document of before"):
        pair.service.declare(wanted("orders", "eu", "us", size=5))
