"""What one look at Kafka cannot tell: partitions that stay at their min ISR, brokers that run unregistered."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.health import WELL, HealthSeen
from controlplane.cluster.views.running_settings import Before, RestartView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.conditions.isr import GRACE as ISR_GRACE, at_min_isr
from controlplane.converger.questions.services.registrations import GRACE, registration_wrong
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.tick.health_watch import HealthWatch
from planner.observed import BrokerSeen, KafkaSnapshot, TopicPartition
from tests.builders import BEFORE, NOW, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance

LACKING = a_partition("orders-1", isr=(1000, 1001))
MINUTE = timedelta(minutes=1)
THIN = a_partition("thin-0", (1000, 1001))
"""As many replicas as its min ISR: always there, and nothing to tell."""


def later(kafka: KafkaSnapshot, seconds: float) -> KafkaSnapshot:
    return replace(kafka, at=kafka.at + timedelta(seconds=seconds))


# --- since when --------------------------------------------------------------------------------------------------


def test_a_partition_keeps_the_time_it_came_to_be_at_its_min_isr_until_it_is_whole() -> None:
    watch, view = HealthWatch(), a_view()
    unhealthy, well = a_snapshot(LACKING, THIN), a_snapshot(a_partition("orders-1"), THIN)
    assert watch.see(view, unhealthy, working=False).at_min_isr == {TopicPartition("orders", 1): NOW}
    assert watch.see(view, later(unhealthy, 60), working=False).at_min_isr == {TopicPartition("orders", 1): NOW}
    assert watch.see(view, later(well, 120), working=False).at_min_isr == {}
    again = later(unhealthy, 180)
    assert watch.see(view, again, working=False).at_min_isr == {TopicPartition("orders", 1): again.at}


def test_no_time_counts_while_kedge_itself_is_at_work() -> None:
    watch, view, unhealthy = HealthWatch(), a_view(), a_snapshot(LACKING)
    watch.see(view, unhealthy, working=False)
    assert watch.see(view, later(unhealthy, 60), working=True).at_min_isr == {}
    assert watch.see(view, later(unhealthy, 120), working=False).at_min_isr == {
        TopicPartition("orders", 1): NOW + 2 * MINUTE
    }


def test_a_look_that_is_known_is_not_looked_at_again_and_a_well_cluster_leaves_nothing() -> None:
    watch, view = HealthWatch(), a_view()
    assert watch.see(view, a_snapshot(a_partition()), working=False) is WELL
    unhealthy = a_snapshot(LACKING)
    first = watch.see(view, replace(unhealthy, at=NOW + MINUTE), working=False)
    assert watch.see(view, replace(unhealthy, at=NOW + MINUTE), working=True) is first


def test_when_heartbeats_were_asked_for_is_kept_beside_it() -> None:
    watch, view = HealthWatch(), a_view()
    watch.heartbeats_asked(view.uid, NOW)
    seen = watch.see(view, a_snapshot(LACKING), working=False)
    assert (seen.heartbeats_asked_at, len(seen.at_min_isr)) == (NOW, 1)


def test_reports_are_asked_for_only_where_a_broker_is_not_registered_as_it_should_be() -> None:
    watch, view = HealthWatch(), a_view()
    watch.see(view, a_snapshot(LACKING), working=False)
    assert not watch.is_suspicious(view.uid)
    watch.see(view, later(a_snapshot(brokers=(1000, 1001), fenced=(1002,)), 60), working=False)
    assert watch.is_suspicious(view.uid)


# --- AtMinIsr ----------------------------------------------------------------------------------------------------


def isr_told(kafka: KafkaSnapshot | None, *, minutes: float = 6) -> Any:
    since = NOW - timedelta(minutes=minutes)
    health = HealthSeen(at_min_isr={p.name: since for p in kafka.at_min_isr} if kafka else {})
    return at_min_isr(a_situation(a_view(), kafka=kafka, health=health))


def test_partitions_that_stay_at_their_min_isr_are_told_with_the_broker_they_lack() -> None:
    found = isr_told(a_snapshot(LACKING, a_partition("orders-2", isr=(1000, 1001)), THIN, a_partition()))
    assert (found.type, found.status, found.reason) == ("AtMinIsr", True, "NoneToSpare")
    assert found.message == (
        "2 partitions have no replica in sync to spare, for 6 min: orders-1 (ISR [1000, 1001] of [1000, 1001, 1002], "
        "min ISR 2), orders-2 (ISR [1000, 1001] of [1000, 1001, 1002], min ISR 2). With one less they refuse writes of "
        "acks=all. Broker 1002 is missing in 2 of them. Next: kedge describe orders"
    )


def test_it_is_not_told_of_partitions_that_are_whole_thin_below_it_already_or_only_just_there() -> None:
    assert not isr_told(a_snapshot(a_partition(), THIN)).status
    assert not isr_told(a_snapshot(a_partition(isr=(1000,)))).status, "that is another condition's"
    assert not isr_told(a_snapshot(LACKING), minutes=ISR_GRACE.total_seconds() / 60 - 0.1).status


def test_without_fresh_metadata_it_stays_as_it_is() -> None:
    assert isr_told(None) is None


# --- RegistrationWrong -------------------------------------------------------------------------------------------


def registration_told(kafka: KafkaSnapshot, *, seconds: float = 70, view: Any = None, **seen: Any) -> Any:
    since = NOW - timedelta(seconds=seconds)
    view = view or a_view()
    health = HealthSeen(misregistered={1000: since, 1001: since, 1002: since})
    return registration_wrong(a_situation(view, kafka=kafka, health=health, **seen))


@pytest.mark.parametrize(
    ("kafka", "reason", "words"),
    [
        (
            a_snapshot(brokers=(1000, 1001), fenced=(1002,)),
            "Fenced",
            "brokers-c-0.g1 runs, and the controllers hold broker 1002 fenced: it serves nobody",
        ),
        (
            a_snapshot(brokers=(1000, 1001)),
            "NotRegistered",
            "brokers-c-0.g1 runs, and Kafka's metadata has no broker 1002",
        ),
        (
            a_snapshot(brokers=(1000, 1001), mode="zookeeper"),
            "NotRegistered",
            "brokers-c-0.g1 runs, and ZooKeeper has no broker 1002",
        ),
        (
            replace(
                a_snapshot(),
                brokers={**a_snapshot().brokers, 1002: BrokerSeen(1002, "a", False, "h", 9092)},
            ),
            "WrongRack",
            "brokers-c-0.g1 runs, and broker 1002 is registered in rack a, not c",
        ),
    ],
)
def test_a_broker_that_runs_and_is_not_registered_as_it_should_be_is_told(
    kafka: KafkaSnapshot, reason: str, words: str
) -> None:
    found = registration_told(kafka)
    assert (found.type, found.status, found.reason) == ("RegistrationWrong", True, reason)
    assert found.message == f"{words}. Next: kedge restart orders --broker 1002"


def at(address: str, seen: str, port: int = 9092) -> Any:
    """What is told where broker 1002 should be at one address, and is registered at another."""
    view = a_view(an_instance("brokers-c-0", address=address))
    kafka = a_snapshot()
    registered = BrokerSeen(1002, "c", False, seen, port)
    return registration_told(replace(kafka, brokers={**kafka.brokers, 1002: registered}), view=view)


def test_a_broker_registered_at_the_address_of_another_process_is_told() -> None:
    found = at("10.0.0.3", "10.0.0.9", 9093)
    assert (found.status, found.reason) == (True, "WrongAddress")
    assert found.message == (
        "brokers-c-0.g1 runs, and broker 1002 is registered at 10.0.0.9:9093, not at 10.0.0.3:9092. Next: kedge "
        "restart orders --broker 1002"
    )
    assert at("broker.example.com", "broker.example.com", 9093).reason == "WrongAddress", "the port says enough"


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("10.0.0.3", "10.0.0.3"),
        ("fd00::3", "fd00:0::0003"),
        ("10.0.0.3", "broker-3.example.com"),
        ("broker-3.example.com", "10.0.0.3"),
        ("", "10.0.0.3"),
    ],
    ids=["the same", "written otherwise", "a name there", "a name here", "nobody told"],
)
def test_what_may_be_the_same_address_is_not_told(address: str, seen: str) -> None:
    assert not at(address, seen).status


def test_it_is_not_told_before_a_minute_of_well_brokers_of_dead_ones_or_during_a_restart() -> None:
    fenced = a_snapshot(brokers=(1000, 1001), fenced=(1002,))
    assert not registration_told(a_snapshot()).status
    assert not registration_told(fenced, seconds=GRACE.total_seconds() - 1).status
    down = a_report(an_instance("brokers-c-0"), "starting")
    assert not registration_told(fenced, reports={"brokers-c-0.g1": down}).status, "it does not run: no riddle"
    assert not registration_told(fenced, reports={}).status, "nobody knows whether it runs"
    restarting = RestartView("brokers-c-0.g1", 1, BEFORE, False, Before(None, None))
    assert not registration_told(fenced, view=a_view(restarts={restarting.key: restarting})).status
    assert not registration_told(fenced, view=a_view(an_instance("brokers-c-0", 1, Phase.FENCING))).status


def test_seed_7731_a_broker_that_was_down_for_minutes_is_not_told_while_it_is_coming_back() -> None:
    fenced, broker = a_snapshot(brokers=(1000, 1001), fenced=(1002,)), an_instance("brokers-c-0")
    for seconds, told in ((GRACE.total_seconds() - 1, False), (GRACE.total_seconds(), True)):
        report = a_report(broker, since=NOW - timedelta(seconds=seconds))
        assert registration_told(fenced, seconds=300, reports={broker.key: report}).status is told


def test_a_cluster_at_rest_and_well_has_none_of_these_conditions() -> None:
    situation: Situation = a_situation(a_view())
    assert condition_changes(situation, Decision("converged")) == ()
