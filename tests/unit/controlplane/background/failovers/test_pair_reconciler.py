"""A cold pair is carried on by what is seen of it, and stands still where nobody knows."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.standby_commands import CopyTopics, GrowStandby
from controlplane.converger.questions.windows import closed
from controlplane.fleet.failovers.held_rolls import freezes_of
from controlplane.fleet.failovers.pair_documents import door_of
from controlplane.fleet.failovers.pair_name import PairNameRow, keep_row, wish_of
from controlplane.fleet.failovers.seen import NamesSeen
from controlplane.fleet.failovers.standby_size import grown_to
from controlplane.fleet.failovers.troubles import NO_TROUBLES, PairTroubles
from controlplane.fleet.failovers.view import DoorState, PairState
from controlplane.storage.streams import pair_stream
from events import failover_facts as facts
from events.ids import ClusterUid
from tests.builders import a_document
from tests.unit.controlplane.background.failovers.cold_pair import EU, US, ColdPair, a_topic, door_report


@pytest.fixture
def pair() -> ColdPair:
    return ColdPair()


def troubles(pair: ColdPair) -> PairTroubles:
    return pair.reconciler.look.troubles(pair.cache.pairs().by_uid["p1"])


def test_a_standby_that_is_declared_is_shut_and_then_waits(pair: ColdPair) -> None:
    pair.rounds()
    assert pair.pair.state is PairState.STANDBY
    assert pair.door_states == (DoorState.OPEN, DoorState.CLOSED)
    assert pair.facts == ["failover.door_closed", "failover.seeded"]


def test_one_silent_broker_keeps_the_standby_from_being_one(pair: ColdPair) -> None:
    pair.silent = {(US, "brokers-b-0.g1")}
    pair.rounds()
    assert pair.pair.state is PairState.SEEDING
    assert pair.facts == []
    look = pair.reconciler.look
    assert look.lacking_proof(pair.cache.pairs().by_uid["p1"]).lacking == {
        "brokers-b-0.g1": "its agent has said nothing yet"
    }


def test_a_planned_failover_makes_topics_flips_the_name_shuts_one_door_and_opens_the_other(pair: ColdPair) -> None:
    pair.rounds()
    pair.order()
    pair.rounds(8)
    assert pair.facts[2:] == [
        "failover.requested",
        "failover.standby_ready",
        "failover.names_flip_requested",
        "failover.names_flipped",
        "failover.door_close_requested",
        "failover.door_closed",
        "failover.promotion_requested",
        "failover.door_opened",
        "failover.promoted",
        "failover.seeded",
    ]
    assert (pair.pair.primary, pair.pair.standby) == (US, EU)
    assert pair.door_states == (DoorState.CLOSED, DoorState.OPEN)
    assert pair.pair.state is PairState.STANDBY
    (asked,) = pair.asked
    assert isinstance(asked, CopyTopics)
    assert [t.name for t in asked.topics] == ["orders"], "scratch and excluded topics stay behind"


def test_the_way_back_asks_for_no_topic_again(pair: ColdPair) -> None:
    pair.rounds()
    pair.order()
    pair.rounds(8)
    pair.record(pair_stream("p1"), facts.FailoverRequested("f2", True, "back"), pair.pair.version)
    pair.rounds(8)
    assert (pair.pair.primary, pair.pair.state) == (EU, PairState.STANDBY)
    assert pair.door_states == (DoorState.OPEN, DoorState.CLOSED)
    assert len(pair.asked) == 1


def test_the_other_door_never_opens_before_every_vm_of_the_old_primary_has_spoken_since(pair: ColdPair) -> None:
    pair.rounds()
    pair.order(planned=False)
    pair.silent = {(EU, "brokers-c-0.g1")}
    pair.rounds(30)
    assert pair.pair.state is PairState.FENCING
    assert pair.door_states == (DoorState.CLOSING, DoorState.CLOSED)
    silent = pair.views[EU].instances["brokers-c-0.g1"]
    pair.views[EU] = replace(
        pair.views[EU],
        instances={**pair.views[EU].instances, silent.key: replace(silent, lost_at=pair.now + timedelta(seconds=1))},
    )
    pair.rounds()
    assert pair.pair.primary == US, "the cloud says that the silent VM is gone"


def test_a_planned_failover_that_holds_producers_too_long_is_taken_back(pair: ColdPair) -> None:
    pair.rounds()
    pair.order()
    pair.silent = {(EU, "brokers-c-0.g1")}
    pair.rounds(70)
    assert "failover.abort_requested" in pair.facts
    pair.silent = set()
    pair.rounds()
    assert (pair.pair.primary, pair.pair.state) == (EU, PairState.STANDBY)
    assert pair.door_states == (DoorState.OPEN, DoorState.CLOSED)


@pytest.mark.parametrize("names", [NamesSeen(EU, True), NamesSeen(US, False)])
def test_nobody_is_shut_out_before_the_name_leads_to_the_standby(pair: ColdPair, names: NamesSeen) -> None:
    pair.rounds()
    pair.names = names
    pair.order()
    pair.rounds()
    assert pair.pair.state is PairState.FLIPPING
    assert pair.door_states == (DoorState.OPEN, DoorState.CLOSED)


def test_topics_whose_replicas_are_not_in_sync_keep_the_standby_from_taking_over(pair: ColdPair) -> None:
    pair.views[US] = replace(
        pair.views[US], topics=replace(pair.views[US].topics, by_name={"orders": a_topic("orders")})
    )
    pair.kafka_of(US, "orders", isr=(1000, 1001))
    pair.rounds()
    pair.order()
    pair.rounds()
    assert pair.pair.state is PairState.PREPARING
    pair.kafka_of(US, "orders")
    pair.rounds()
    assert pair.pair.primary == US


@pytest.mark.parametrize("unknown", ["no look", "an old look", "ids of nobody"])
def test_what_is_not_known_of_the_standby_is_waited_for(pair: ColdPair, unknown: str) -> None:
    pair.rounds()
    match unknown:
        case "no look":
            del pair.snapshots[US]
        case "ids of nobody":
            view = pair.views[US]
            assert view.quorum.founding is not None
            founding = replace(view.quorum.founding, first_producer_id=None)
            pair.views[US] = replace(view, quorum=replace(view.quorum, founding=founding))
    pair.order()
    if unknown == "an old look":
        pair.now += timedelta(seconds=60)
        pair.reconciler.poll()
    else:
        pair.rounds()
    assert pair.pair.state is PairState.PREPARING


def test_a_cold_standby_grows_as_large_as_the_primary_before_it_gets_topics_and_takes_over(pair: ColdPair) -> None:
    document = pair.views[EU].document
    assert document is not None
    pair.views[EU] = replace(pair.views[EU], document=grown_to(document, 5))
    pair.rounds()
    pair.order()
    pair.rounds(10)
    assert [type(command) for command in pair.asked] == [GrowStandby, CopyTopics]
    assert pair.pair.primary == US
    assert len(pair.views[US].brokers()) == 5


def test_why_a_standby_cannot_be_made_ready_is_told_and_asked_again(pair: ColdPair) -> None:
    pair.rounds()
    pair.refuses = "the spec of us comes from git:fleet"
    pair.order()
    pair.rounds()
    assert pair.pair.state is PairState.PREPARING
    assert troubles(pair).standby == "us cannot be made ready: the spec of us comes from git:fleet"
    pair.rounds(32)
    assert troubles(pair).standby, "it is said again for as long as it is so"
    pair.refuses = ""
    pair.rounds()
    assert pair.pair.primary == US
    assert troubles(pair) == NO_TROUBLES


def test_why_a_standby_cannot_be_made_ready_is_over_with_its_step_and_with_the_server_that_says_so(
    pair: ColdPair,
) -> None:
    pair.rounds()
    pair.refuses = "the spec of us comes from git:fleet"
    pair.order()
    pair.rounds()
    assert troubles(pair).standby
    pair.now += timedelta(minutes=1)
    assert troubles(pair).standby == "", "nobody has said so for a minute"
    pair.rounds()
    assert troubles(pair).standby
    aborts = facts.FailoverAbortRequested("f1", pair.pair.last_epoch + 1, "not ready")
    pair.record(pair_stream("p1"), aborts, pair.pair.version)
    assert troubles(pair).standby == ""


def test_what_stands_in_the_way_is_told_of_doors_by_vm_and_of_the_name(pair: ColdPair) -> None:
    pair.silent = {(US, "brokers-b-0.g1")}
    pair.rounds()
    keep_row(pair.latest, "p1", PairNameRow(wish=wish_of(pair.pair), problem="REFUSED"), pair.now)
    assert troubles(pair) == PairTroubles({"brokers-b-0.g1": "its agent has said nothing yet"}, "REFUSED")
    keep_row(pair.latest, "p1", PairNameRow(wish="of another step", problem="REFUSED"), pair.now)
    assert troubles(pair).name == ""


@pytest.mark.parametrize(("brokers", "sizes"), [(3, [3]), (2, [3]), (7, [7])])
def test_a_standby_grows_and_never_shrinks(brokers: int, sizes: list[int]) -> None:
    grown = grown_to(a_document(), brokers)
    assert [pool.size for pool in grown.spec.pools if pool.is_broker] == sizes


def test_who_does_not_lead_records_nothing(pair: ColdPair) -> None:
    pair.epoch = None
    pair.rounds()
    assert pair.facts == []


def test_a_server_that_is_started_anew_goes_on_where_the_events_end(pair: ColdPair) -> None:
    pair.rounds()
    pair.order()
    for _ in range(30):
        pair.rounds(1)
        pair.reconciler = replace(pair.reconciler)  # it remembers nothing that counts
    assert pair.pair.primary == US


def test_a_withdrawn_pair_takes_its_doors_away_by_an_order_behind_all_of_its_own(pair: ColdPair) -> None:
    pair.rounds()
    pair.record(pair_stream("p1"), facts.PairWithdrawn("over"), pair.pair.version)
    for uid in (EU, US):
        told = door_of(pair.cache.pairs(), pair.views[uid], lambda address: ())
        assert told is not None
        assert (told.state, told.epoch) == ("none", 2)


def test_a_vm_is_told_of_its_nodes_its_ports_and_the_servers(pair: ColdPair) -> None:
    told = door_of(pair.cache.pairs(), pair.views[US], lambda address: ("10.9.9.9/32",))
    assert told is not None
    assert (told.pair, told.state, told.epoch, told.ports) == ("p1", "shut", 1, (9092,))
    assert told.members == ("10.0.2.4/32", "10.0.2.5/32", "10.0.2.6/32", "10.9.9.9/32")
    assert door_report(told).state == "shut"
    primary = door_of(pair.cache.pairs(), pair.views[EU], lambda address: ())
    assert primary is not None
    assert (primary.state, primary.epoch) == ("open", 0)


def test_a_cluster_of_no_pair_is_told_nothing(pair: ColdPair) -> None:
    other = replace(pair.views[US], uid="uid-asia")
    assert door_of(pair.cache.pairs(), other, lambda address: ()) is None


def test_nothing_voluntary_begins_on_either_cluster_while_clients_are_moved(pair: ColdPair) -> None:
    def words(uid: ClusterUid) -> str:
        view = pair.views[uid]
        shut = closed(view, freezes_of(pair.cache.pairs(), view), pair.now)
        return shut.sentence(pair.now) if shut is not None else ""

    pair.rounds()
    assert (words(EU), words(US)) == ("", "")
    pair.names = NamesSeen(US, False)
    pair.order()
    assert words(US) == "", "it may have to grow"
    pair.rounds()
    assert words(EU) == words(US) == "frozen: the failover f1 of the pair both is in hand"
    pair.names = None
    pair.rounds()
    assert (words(EU), words(US)) == ("", "")
