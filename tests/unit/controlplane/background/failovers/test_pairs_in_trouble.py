"""What is refused, taken back or left alone, and what is made of a server that knows too little."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.door.kept import KeptOrder, counting
from agent.door.order import DoorAccess, order_of
from agent.wire import DoorDocument
from controlplane.background.dns.wanted import pair_name
from controlplane.cluster.views.source import SpecOrigin, SpecSource
from controlplane.fleet.failovers.orders import FailoverWish, plan_of
from controlplane.fleet.failovers.pair_documents import door_of
from controlplane.fleet.failovers.seen import NamesSeen
from controlplane.fleet.failovers.standby_size import grown_to
from controlplane.fleet.failovers.troubles import PairTroubles
from controlplane.fleet.failovers.view import DoorState, PairState
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts as facts
from events.ids import ClusterUid
from tests.builders import BEFORE
from tests.unit.controlplane.background.failovers.cold_pair import EU, US, ColdPair, a_topic, door_report


@pytest.fixture
def pair() -> ColdPair:
    return ColdPair()


def troubles(pair: ColdPair) -> PairTroubles:
    return pair.reconciler.look.troubles(pair.cache.pairs().by_uid["p1"])


def changed_topic(pair: ColdPair, uid: ClusterUid, **changes: Any) -> None:
    view = pair.views[uid]
    there = view.topics.by_name["orders"]
    changed = replace(there, declared=replace(there.declared, **changes))
    pair.views[uid] = replace(view, topics=replace(view.topics, by_name={**view.topics.by_name, "orders": changed}))


def test_a_topic_that_was_changed_on_the_new_primary_goes_back_as_it_is_now(pair: ColdPair) -> None:
    """Else retention as it was deletes records on the way back."""
    pair.rounds()
    pair.order()
    pair.rounds(8)
    changed_topic(pair, US, config={"min.insync.replicas": "2", "retention.ms": "-1"})
    pair.record(pair_stream("p1"), facts.FailoverRequested("f2", True, "back"), pair.pair.version)
    pair.rounds(8)
    assert pair.pair.primary == EU
    declared = pair.views[EU].topics.by_name["orders"].declared
    assert declared.config is not None
    assert declared.config["retention.ms"] == "-1"


def refusals(pair: ColdPair, *, planned: bool = True) -> list[str]:
    registered = pair.cache.pairs().by_uid["p1"]
    seen = pair.reconciler.look.of(registered)
    return [one.message for one in plan_of(registered.view, seen, FailoverWish(planned, True), 3).refusals]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"config": None}, "the configuration of the topic orders is in no declaration"),
        ({}, "git:fleet declares the topic orders otherwise on it"),
    ],
    ids=["adopted as found", "another source"],
)
def test_what_never_comes_to_be_so_by_itself_is_said_before_anything_begins(
    pair: ColdPair, changes: dict[str, Any], why: str
) -> None:
    if changes:
        changed_topic(pair, EU, **changes)
    else:
        other = replace(a_topic(partitions=1), source="git:fleet")
        pair.views[US] = replace(pair.views[US], topics=replace(pair.views[US].topics, by_name={"orders": other}))
    pair.rounds()
    assert any(why in one for one in refusals(pair))
    pair.order()
    pair.rounds()
    assert pair.pair.state is PairState.PREPARING
    assert not pair.asked


def test_ids_of_producers_that_may_meet_are_a_refusal_and_no_wait(pair: ColdPair) -> None:
    view = pair.views[US]
    assert view.quorum.founding is not None
    founding = replace(view.quorum.founding, first_producer_id=None)
    pair.views[US] = replace(view, quorum=replace(view.quorum, founding=founding))
    pair.rounds()
    assert any("producer ids" in one for one in refusals(pair))


def test_an_unplanned_failover_takes_min_isr_for_enough(pair: ColdPair) -> None:
    pair.views[US] = replace(pair.views[US], topics=pair.views[EU].topics)
    pair.kafka_of(US, "orders", "debug-1", "tmp", isr=(1000, 1001))
    pair.rounds()
    pair.order(planned=False)
    pair.rounds()
    assert pair.pair.primary == US


def test_an_order_that_touched_nothing_is_taken_back_at_once_though_the_primary_is_gone(pair: ColdPair) -> None:
    pair.rounds()
    pair.refuses = "us cannot grow"
    pair.order(planned=False)
    pair.silent = {(EU, node) for node in pair.views[EU].instances}
    pair.rounds()
    assert pair.pair.state is PairState.PREPARING
    abort = facts.FailoverAbortRequested("f1", pair.pair.last_epoch + 1, "mending us first")
    pair.record(pair_stream("p1"), abort, pair.pair.version)
    pair.rounds(2)
    assert (pair.pair.state, pair.pair.primary) == (PairState.STANDBY, EU)
    assert pair.door_states == (DoorState.OPEN, DoorState.CLOSED)


def test_what_is_taken_back_to_a_primary_that_is_gone_gives_way_to_an_unplanned_failover(pair: ColdPair) -> None:
    pair.rounds()
    pair.silent = {(EU, node) for node in pair.views[EU].instances}
    pair.order(planned=False)
    pair.rounds(10)
    assert pair.pair.state is PairState.FENCING
    abort = facts.FailoverAbortRequested("f1", pair.pair.last_epoch + 1, "no")
    pair.record(pair_stream("p1"), abort, pair.pair.version)
    pair.rounds(10)
    assert pair.pair.state is PairState.ABORTING
    assert refusals(pair, planned=True)
    assert refusals(pair, planned=False) == []
    pair.record(pair_stream("p1"), facts.FailoverRequested("f2", False, "again"), pair.pair.version)
    pair.rounds(10)
    assert pair.pair.state is PairState.FENCING
    door = pair.pair.doors[EU]
    pair.record(pair_stream("p1"), facts.DoorClosed(EU, door.epoch, "certified", "off"), pair.pair.version)
    pair.rounds(4)
    assert pair.pair.primary == US


def kept_by(pair: ColdPair, uid: ClusterUid, kept: KeptOrder | None, told: DoorDocument | None = None) -> DoorAccess:
    """What a VM of that cluster makes of what it is given now."""
    told = told or door_of(pair.cache.pairs(), pair.views[uid], lambda address: ())
    assert told is not None
    after, _ = counting(order_of(told), kept, "boot", is_confirmed=True)
    assert after is not None
    return after.access


def restored(pair: ColdPair) -> ColdPair:
    """A server with the events of before the failover, whose agents have what they were given since."""
    old = ColdPair()
    old.rounds()
    old.latest = old.reconciler.latest = pair.latest
    old.reconciler.look = replace(old.reconciler.look, latest=pair.latest)
    old.now, old.seq = pair.now, pair.seq
    old.snapshots = {uid: replace(one, at=pair.now) for uid, one in old.snapshots.items()}
    return old


def test_a_server_of_before_a_failover_opens_no_second_cluster_by_a_new_vm(pair: ColdPair) -> None:
    pair.rounds()
    pair.order()
    pair.rounds(8)
    kept = {uid: KeptOrder(order_of(told), "boot") for uid in (EU, US) if (told := told_of(pair, uid)) is not None}
    old = restored(pair)
    old.reconciler.poll()
    assert "keeps order 3 of a door" in old.pair.missed
    assert kept_by(old, EU, None) is DoorAccess.SHUT, "a VM that has nothing"
    assert kept_by(old, EU, kept[EU]) is DoorAccess.SHUT
    assert kept_by(old, US, kept[US]) is DoorAccess.OPEN, "clients go on where they are"
    assert old.facts[-1] == "failover.epochs_missed"
    old.reconciler.poll()
    assert old.facts[-1] == "failover.epochs_missed", "nothing is carried on"
    assert any("backup" in one for one in refusals(old))


def told_of(pair: ColdPair, uid: ClusterUid) -> DoorDocument | None:
    return door_of(pair.cache.pairs(), pair.views[uid], lambda address: ())


def test_a_pair_whose_events_cannot_be_read_opens_nothing_anew(pair: ColdPair) -> None:
    pair.rounds()
    registered = pair.cache.pairs().by_uid["p1"]
    view = replace(registered.view, unreadable="event 9 is of a newer release")
    pairs = replace(pair.cache.pairs(), by_uid={"p1": replace(registered, view=view)})
    told = door_of(pairs, pair.views[EU], lambda address: ())
    assert kept_by(pair, EU, None, told) is DoorAccess.SHUT
    before = told_of(pair, EU)
    assert before is not None
    assert kept_by(pair, EU, KeptOrder(order_of(before), "boot"), told) is DoorAccess.OPEN


def test_a_pair_that_was_never_declared_hides_nothing_of_the_one_before(pair: ColdPair) -> None:
    pair.rounds()
    pair.record(pair_stream("p1"), facts.PairWithdrawn("over"), pair.pair.version)
    pair.record(FAILOVERS, facts.PairRegistered("p2", "again", (EU, US)), 1)
    told = told_of(pair, US)
    assert told is not None
    assert (told.pair, told.state) == ("p1", "none")


def test_what_speaks_against_a_failover_is_said_also_while_nobody_has_heard_of_the_standbys_brokers(
    pair: ColdPair,
) -> None:
    changed_topic(pair, EU, config=None)
    pair.rounds()
    pair.now += timedelta(seconds=50)
    assert any("in no declaration" in one for one in refusals(pair))


def test_brokers_of_a_standby_at_rest_are_asked_as_soon_as_somebody_waits_for_them(pair: ColdPair) -> None:
    pair.rounds()
    assert pair.looked_again == []
    pair.order()
    pair.now += timedelta(seconds=50)
    pair.reconciler.poll()
    assert pair.looked_again == [US]


def test_a_standby_that_git_declares_too_small_is_a_refusal_before_anything_begins(pair: ColdPair) -> None:
    document, standby = pair.views[EU].document, pair.views[US]
    assert document is not None
    pair.views[EU] = replace(pair.views[EU], document=grown_to(document, 5))
    pair.rounds()
    assert refusals(pair) == [], "Kedge has it grow"
    origin = SpecOrigin("git:fleet", "", "", "us.yaml", "", "")
    declaration = replace(standby.declaration, source=SpecSource(origin, BEFORE, 1))
    pair.views[US] = replace(standby, declaration=declaration)
    assert any("grow to 5 brokers, which git:fleet declares" in one for one in refusals(pair))


def test_a_primary_that_could_not_be_shut_is_not_led_away_from_by_plan(pair: ColdPair) -> None:
    pair.rounds()
    broker = pair.views[EU].instances["brokers-a-0.g1"]
    told = told_of(pair, EU)
    assert told is not None
    unable = door_report(told).model_copy(update={"in_force": False, "problem": "nft is not on this VM"})
    pair.says(pair.views[EU], broker, unable)
    assert any("brokers-a-0.g1 of the primary could not be shut: nft" in one for one in refusals(pair))
    assert refusals(pair, planned=False) == refusals(pair), "an order in hand alone says which it is"


def test_what_was_refused_of_a_standby_as_it_is_is_not_asked_at_each_look(pair: ColdPair) -> None:
    pair.rounds()
    pair.refuses = "us cannot grow"
    pair.order()
    for _ in range(8):
        pair.now += timedelta(milliseconds=500)
        pair.reconciler.poll()
    assert len(pair.asked) == 1
    pair.now += timedelta(seconds=10)
    pair.reconciler.poll()
    assert len(pair.asked) == 2


def test_nothing_is_asked_of_the_standby_of_a_pair_that_stands_still(pair: ColdPair) -> None:
    pair.rounds()
    pair.order()
    missed = facts.EpochsMissed(EU, "brokers-a-0.g1", 9)
    pair.record(pair_stream("p1"), missed, pair.pair.version)
    pair.rounds()
    assert (pair.pair.state, pair.asked) == (PairState.PREPARING, [])


def test_a_flip_back_that_was_never_proved_is_proved_before_all_counts_as_before(pair: ColdPair) -> None:
    pair.rounds()
    pair.silent = {(EU, node) for node in pair.views[EU].instances}
    pair.order(planned=False)
    pair.rounds(10)
    pair.names = NamesSeen(US, True)
    for order, then in (("f1", facts.FailoverRequested("f2", False, "again")), ("f2", None)):
        abort = facts.FailoverAbortRequested(order, pair.pair.last_epoch + 1, "no")
        pair.record(pair_stream("p1"), abort, pair.pair.version)
        if then is not None:
            pair.rounds(1)
            pair.record(pair_stream("p1"), then, pair.pair.version)
    pair.rounds()
    assert pair.pair.state is PairState.ABORTING
    assert "failover.aborted" not in pair.facts


def test_the_name_of_a_pair_that_stands_still_stays_and_goes_once_it_is_withdrawn(pair: ColdPair) -> None:
    pair.rounds()
    still = replace(pair.pair, missed="brokers-a-0.g1 keeps order 9")
    assert pair_name(still) is None
    assert pair_name(replace(still, is_withdrawn=True)) == "both.example.com"
