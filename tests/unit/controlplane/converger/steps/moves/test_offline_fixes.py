"""Replicas of a broker that a person gave up: made anew on others, until it holds nothing or serves again."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.commands import CommandRefused, FixOffline
from controlplane.cluster.folds.anomalies import RULES
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.commands.deciders.offline import offline_fix_asked
from controlplane.converger.steps.moves.placements import lost_replicas_step
from events import facts
from planner.observed import FailedDirsSeen, KafkaSnapshot, TopicPartition
from tests.builders import NOW, a_partition
from tests.unit.controlplane.converger.steps.moves.test_placements import a_cluster, a_look, begun, situation

SERVE = (1000, 1001, 1002, 1004, 1005)
"""1003, in zone a beside 1000, does not."""
LOST = a_partition("orders-0", (1003, 1001, 1002), isr=(1001, 1002), leader=1001)
ASKED = facts.OfflineFixRequested((1003,), "asked by anna: it burned")


def look(*parts: Any) -> KafkaSnapshot:
    """1003 is registered and fenced."""
    return a_look(*(parts or (LOST,)), brokers=SERVE, fenced=(1003,))


def told(*happened: object) -> ClusterView:
    view = a_cluster("")
    for fact in happened:
        view = RULES[type(fact)](view, fact, NOW)
    return view


def fix(view: ClusterView, *brokers: int, kafka: KafkaSnapshot | None = None) -> CommandDecision:
    command = FixOffline(name="orders", actor="person:anna", command_id="c1", reason="it burned", brokers=brokers)
    return offline_fix_asked(view, command, Lookups(kafka=kafka) if kafka is not None else NOTHING)


def test_nothing_is_made_anew_of_a_broker_that_is_away_until_a_person_gives_it_up() -> None:
    assert lost_replicas_step(situation(a_cluster(""), look())) is None
    asked = begun(lost_replicas_step(situation(told(ASKED), look())))
    assert (asked.cause, [m.after for m in asked.moves]) == ("gone", [(1000, 1001, 1002)])
    assert "on broker 1003, given up" in asked.reason


def test_it_is_over_once_no_replica_is_on_it_or_it_serves_again() -> None:
    moved = look(a_partition("orders-0", (1000, 1001, 1002)))
    over = lost_replicas_step(situation(told(ASKED), moved))
    assert over is not None
    assert over.events == (facts.OfflineFixEnded((1003,), "no replica is on it any more"),)
    assert told(ASKED, *over.events).requests.offline == {}
    back = a_look(LOST, brokers=(*SERVE, 1003))
    again = lost_replicas_step(situation(told(ASKED), back))
    assert again is not None
    assert again.events == (facts.OfflineFixEnded((1003,), "it serves again"),)


def test_what_would_come_of_it_is_counted_with_what_cannot_be_made_anew() -> None:
    alone = a_partition("alone-0", (1003,), isr=(), leader=-1)
    asked = fix(a_cluster(""), 1003, kafka=look(LOST, alone))
    assert asked.fact == ASKED
    assert asked.sentence == (
        "replicas of broker 1003 are made anew on others, in small throttled batches: 2 partitions, 2.0 KiB to copy; "
        "of 1 nothing can be made now, alone-0 for one: no replica of it is left that could be copied"
    )
    assert fix(told(ASKED), 1003, kafka=look()).fact is None


@pytest.mark.parametrize(
    ("broker", "code", "words"),
    [
        (1000, "broker-serves", "broker 1000 of orders serves"),
        (9, "no-broker", "no replica of orders is on broker 9"),
    ],
)
def test_a_broker_that_serves_or_holds_nothing_is_refused(broker: int, code: str, words: str) -> None:
    with pytest.raises(CommandRefused, match=words) as refused:
        fix(a_cluster(""), broker, kafka=look())
    assert refused.value.code == code


def test_without_metadata_nobody_knows_what_is_offline() -> None:
    with pytest.raises(CommandRefused, match="what is offline is not known"):
        fix(a_cluster(""), 1003)


def test_another_broker_that_is_down_goes_first() -> None:
    """Two away at once is no time to copy: what waits for the other one may be its only copy."""
    both = a_look(LOST, a_partition("x-0", (1005, 1001), isr=(1001,)), brokers=SERVE[:-1], fenced=(1003, 1005))
    assert lost_replicas_step(situation(told(ASKED), both)) is None
    mended = replace(both, partitions=(LOST,))
    assert lost_replicas_step(situation(told(ASKED), mended)) is None, "1005 is expected to serve"


FAILED = FailedDirsSeen(("/volumes/data2/kafka",), 1, 1000, frozenset({TopicPartition("orders", 1)}))
HALF = (LOST, a_partition("orders-1", (1003, 1001, 1002)))
"""Broker 1003 serves; orders-0 is in none of its directories that are online, orders-1 is."""


def half(failed: FailedDirsSeen | None = FAILED, *parts: Any) -> KafkaSnapshot:
    kafka = a_look(*(parts or HALF), brokers=(*SERVE, 1003))
    dirs = {b: d for b, d in kafka.log_dirs.items() if b != 1003}
    return replace(kafka, log_dirs=dirs, failed_dirs={} if failed is None else {1003: failed})


def test_what_is_in_a_failed_log_directory_of_a_broker_that_serves_is_made_anew_alone() -> None:
    assert lost_replicas_step(situation(a_cluster(""), half())) is None, "nobody gave it up"
    asked = begun(lost_replicas_step(situation(told(ASKED), half())))
    assert [(m.partition, m.after) for m in asked.moves] == [(0, (1000, 1001, 1002))]
    assert "orders-0 has 1 of 3 replicas in failed log directories of broker 1003, given up" in asked.reason


def test_what_would_come_of_it_names_the_directories() -> None:
    asked = fix(a_cluster(""), 1003, kafka=half())
    assert asked.fact == ASKED
    assert asked.sentence.startswith(
        "replicas in failed log directories of broker 1003 (/volumes/data2/kafka) are made anew on others"
    )
    assert "1 partition, 1000 B to copy" in asked.sentence


@pytest.mark.parametrize("failed", [None, replace(FAILED, held=None)])
def test_unknown_log_directories_are_not_offline(failed: FailedDirsSeen | None) -> None:
    with pytest.raises(CommandRefused, match="has not told what is in its log directories") as refused:
        fix(a_cluster(""), 1003, kafka=half(failed))
    assert refused.value.code == "log-dirs-unknown"
    assert lost_replicas_step(situation(told(ASKED), half(failed))) is None, "neither made anew nor called over"


def test_a_replica_that_only_lags_is_not_offline() -> None:
    lags = a_partition("orders-1", (1003, 1001, 1002), isr=(1001, 1002), leader=1001)
    with pytest.raises(CommandRefused, match="no replica of orders is in the failed log directories"):
        fix(a_cluster(""), 1003, kafka=half(FAILED, lags))


def test_a_disk_that_is_replaced_already_is_left_to_that() -> None:
    view = a_cluster("")
    key = next(i.key for i in view.brokers() if i.service_id == 1003)
    replaced = replace(view, requests=replace(view.requests, to_replace={key: ReplaceView("a new disk", False, NOW)}))
    with pytest.raises(CommandRefused, match="being given another disk or VM already: a new disk"):
        fix(replaced, 1003, kafka=half())


def test_it_is_over_once_nothing_is_in_the_failed_directories_or_they_are_online_again() -> None:
    moved = half(FAILED, a_partition("orders-0", (1000, 1001, 1002)), HALF[1])
    over = lost_replicas_step(situation(told(ASKED), moved))
    assert over is not None
    assert over.events == (facts.OfflineFixEnded((1003,), "no replica is in its failed log directories any more"),)
    online = a_look(*HALF, brokers=(*SERVE, 1003))
    again = lost_replicas_step(situation(told(ASKED), online))
    assert again is not None
    assert again.events == (facts.OfflineFixEnded((1003,), "it serves again"),)
