"""What looks like an anomaly of a kind and is none: near misses, each beside what would be one."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from controlplane.background.anomalies.evidence import SeenCluster, evidence
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.rebalances import LastRebalance
from controlplane.converger.conditions.maintenance import MAINTENANCE, maintenance_condition
from events.topic_facts import TopicTrouble
from planner.anomalies.kinds import Kind
from planner.observed import KafkaSnapshot
from providers.notices import MaintenanceNotice, NoticeKind
from tests.builders import (
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
    an_inventory,
)
from tests.unit.controlplane.background.anomalies.test_anomaly_reconciler import KEY, NODE, Scene

DAY = timedelta(days=1)


def kinds(view: ClusterView, kafka: KafkaSnapshot | None = None) -> set[Kind]:
    seen = SeenCluster(kafka=kafka or a_snapshot(a_partition()), slow=(), hot=(), now=NOW)
    return {f.kind for f in evidence(view, seen).findings}


# --- brokers ----------------------------------------------------------------------------------------------------------

DOWN = a_snapshot(a_partition(), brokers=(1001, 1002), fenced=(1000,))


@pytest.mark.parametrize(
    ("view", "kafka", "is_one"),
    [
        (a_view(), DOWN, True),
        (a_view(), replace(DOWN, at=NOW - timedelta(minutes=4)), False),
        (a_view(an_instance(NODE, phase=Phase.FENCING)), DOWN, False),
        (a_view(an_instance(NODE, phase=Phase.LAUNCHED)), DOWN, False),
        (a_view(), a_snapshot(a_partition(), brokers=(1000, 1001, 1002), fenced=(7,)), False),
    ],
    ids=["it is down", "old metadata", "it was stopped for good", "it boots", "a fenced broker of others"],
)
def test_a_broker_that_is_not_there_is_a_failure_only_where_it_should_be(
    view: ClusterView, kafka: KafkaSnapshot, is_one: bool
) -> None:
    assert (Kind.BROKER_FAILURE in kinds(view, kafka)) is is_one


# --- disks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finding", "service", "is_one"),
    [
        ("log_dir_failed", {}, True),
        ("disk_full:data", {}, False),
        ("disk_filling:data", {}, False),
        ("log_cleaner_gave_up", {}, False),
        ("directory_lost", {}, False),
    ],
)
def test_a_disk_that_is_full_or_whose_cleaner_rests_has_not_failed(
    finding: str, service: dict[str, str], is_one: bool
) -> None:
    scene = Scene()
    told = a_report(scene.fleet.view.instances[KEY], findings=[{"name": finding, "since": NOW, "message": "4 % free"}])
    keep_report(scene.latest, scene.fleet.view.uid, KEY, told.report, scene.now)
    found = {a.kind for a in scene.look(seconds=1).open_.values()}
    assert (Kind.DISK_FAILURE in found) is is_one


@pytest.mark.parametrize("key", ["brokers-a-0.g9", "brokers-z-0.g1"], ids=["a VM before", "nobody's"])
def test_a_failed_disk_of_a_vm_that_is_not_there_any_more_is_none(key: str) -> None:
    scene = Scene()
    told = a_report(scene.fleet.view.instances[KEY], findings=[{"name": "log_dir_failed", "since": NOW, "message": ""}])
    keep_report(scene.latest, scene.fleet.view.uid, key, told.report, scene.now)
    assert scene.look(seconds=1).open_ == {}


def test_a_word_of_a_minute_ago_on_a_disk_is_too_old_to_begin_with() -> None:
    scene = Scene()
    told = a_report(scene.fleet.view.instances[KEY], findings=[{"name": "log_dir_failed", "since": NOW, "message": ""}])
    keep_report(scene.latest, scene.fleet.view.uid, KEY, told.report, scene.now)
    assert scene.look(seconds=70).open_ == {}


# --- goals ------------------------------------------------------------------------------------------------------------

FOUR = a_view(an_instance("brokers-a-1", service_id=1003))
"""Two brokers in zone a, one each in b and c."""
CARES = a_document(balance="continuous: true")
LED_BY_ONE = a_snapshot(*(a_partition(f"orders-{n}", (1000, 1001, 1002)) for n in range(9)))
LED_BY_ALL = a_snapshot(
    *(a_partition(f"orders-{n}", (1000 + n % 3, 1000 + (n + 1) % 3, 1000 + (n + 2) % 3)) for n in range(9))
)


def of_four(*replicas: int, **kafka: object) -> KafkaSnapshot:
    live = {"brokers": (1000, 1001, 1002, 1003), **kafka}
    return a_snapshot(a_partition("orders-0", replicas), **live)


@pytest.mark.parametrize(
    ("view", "kafka", "is_one"),
    [
        (FOUR, of_four(1000, 1003, 1001), True),
        (FOUR, of_four(1000, 1001, 1002), False),
        (FOUR, of_four(1000, 1003, 1001, 1002), False),
        (a_view(document=CARES), LED_BY_ONE, True),
        (a_view(), LED_BY_ONE, False),
        (a_view(document=CARES), LED_BY_ALL, False),
        (a_view(document=CARES), replace(LED_BY_ONE, brokers=DOWN.brokers), False),
        (a_view(document=CARES, last_rebalance=LastRebalance(NOW - DAY, 200.0)), LED_BY_ONE, False),
        (a_view(document=CARES, last_rebalance=LastRebalance(NOW - DAY, 1.0)), LED_BY_ONE, True),
    ],
    ids=[
        "two in one zone",
        "three in three zones",
        "four replicas and three zones",
        "all led by one",
        "all led by one, and the spec does not care",
        "led by all",
        "a broker is away",
        "the last rebalance found nothing better",
        "the last rebalance left it even",
    ],
)
def test_an_uneven_cluster_violates_a_goal_only_where_something_better_is_there_to_be_had(
    view: ClusterView, kafka: KafkaSnapshot, is_one: bool
) -> None:
    assert (Kind.GOAL_VIOLATION in kinds(view, kafka)) is is_one


# --- topics -----------------------------------------------------------------------------------------------------------


def test_a_topic_that_is_being_brought_about_is_none_and_one_in_trouble_is() -> None:
    view = a_view()
    pending = replace(view, topics=replace(view.topics, pending=frozenset({"orders"})))
    assert kinds(pending) == set()
    trouble = {"orders": TopicTrouble("orders", "Refused", "no broker takes 9 replicas")}
    assert kinds(replace(view, topics=replace(view.topics, troubles=trouble))) == {Kind.TOPIC_ANOMALY}


@pytest.mark.parametrize(
    "partition",
    [
        a_partition("orders-0", isr=(1000, 1001)),
        a_partition("orders-0", (1000, 1001, 1002), adding=(1002,)),
        a_partition("__consumer_offsets-0"),
    ],
    ids=["a replica lags", "it is moved", "Kafka's own"],
)
def test_what_passes_on_a_topic_nobody_declared_is_none(partition: object) -> None:
    assert Kind.TOPIC_ANOMALY not in kinds(a_view(), a_snapshot(partition))  # type: ignore[arg-type]


# --- maintenance ------------------------------------------------------------------------------------------------------


def announced(view: ClusterView, at: datetime | None, *, listed_ago: timedelta = timedelta(0)) -> set[Kind]:
    """What is found once the tick has told of the notice, and the condition is recorded."""
    notice = MaintenanceNotice(NoticeKind.STOP, at, words="the host goes down")
    inventory = an_inventory(view, notices={KEY: notice}, at=NOW - listed_ago)
    told = maintenance_condition(a_situation(view, inventory=inventory))
    status = told is not None and told.status
    message = told.message if told else ""
    condition = ConditionView(status, told.reason if told else "", message, NOW)
    return kinds(replace(view, conditions={MAINTENANCE: condition}))


def test_a_host_that_goes_down_is_an_event_and_what_is_over_or_concerns_nobody_is_none() -> None:
    assert announced(a_view(), NOW + DAY) == {Kind.MAINTENANCE_EVENT}
    lost = a_view(an_instance(NODE, lost_at=NOW - timedelta(minutes=1)))
    assert Kind.MAINTENANCE_EVENT not in announced(lost, NOW + DAY), "its VM is gone already"
    gone = a_view(without=[KEY])
    assert Kind.MAINTENANCE_EVENT not in announced(gone, NOW + DAY), "it has its successor"
    assert Kind.MAINTENANCE_EVENT not in announced(a_view(), NOW + DAY, listed_ago=timedelta(minutes=5)), "old word"


def test_a_condition_that_is_over_is_no_event() -> None:
    over = ConditionView(False, "Free", "", NOW)
    assert kinds(a_view(conditions={MAINTENANCE: over})) == set()
