"""Producers are slowed before a disk is full, where the spec asks for it, and what was there before comes back."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.cluster.condition_severity import Severity, severity_of
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.producer_quota import ProducerQuotaView
from controlplane.converger.conditions.disk_nearly_full import disk_nearly_full
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import SetProducerQuota
from controlplane.converger.situation.observation import AccessSeen, ProducerQuotaSeen
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.producer_quota import with_producer_quota
from events import facts
from planner.observed import LogDirsSeen
from tests.builders import BEFORE, NOW, a_document, a_situation, a_snapshot, a_view
from tests.changed_view import changed_view

GIB = 2**30
QUOTA = ", protect: quota"
IDLE = Decision("converged")
FULL = {1000: 60.0, 1001: 96.0, 1002: 60.0}
EVEN = {1000: 60.0, 1001: 60.0, 1002: 60.0}
NONE = ProducerQuotaSeen(None)
RATE = float(int(4 * GIB / 86400))
SLOWED = ProducerQuotaView(RATE, None, "pool brokers: broker 1001 (96.0% full)", BEFORE)


def _at(percent: dict[int, float], quota: ProducerQuotaSeen | None = NONE, **view: Any) -> Situation:
    known = {"document": a_document(disks=QUOTA), **view}
    dirs = {b: LogDirsSeen(1, 0, 100 * GIB, round((100 - share) * GIB)) for b, share in percent.items()}
    situation = a_situation(changed_view(a_view(), **known))
    kafka = replace(a_snapshot(), log_dirs=dirs, at=NOW)
    return replace(situation, seen=replace(situation.seen, kafka=kafka, access=AccessSeen(producer_quota=quota)))


def _told(view: ClusterView) -> dict[str, Any]:
    message = ConditionView(True, "ProducersSlowed", "", BEFORE)
    return {"conditions": MappingProxyType({**view.conditions, "DiskNearlyFull": message})}


def test_what_was_there_is_recorded_before_it_is_touched() -> None:
    for there in (None, 50_000_000.0):
        decision = with_producer_quota(_at(FULL, ProducerQuotaSeen(there)), IDLE)
        assert not decision.effects
        (lowered,) = decision.events
        assert lowered == facts.ProducerQuotaLowered(RATE, there, "pool brokers: broker 1001 (96.0% full)")


def test_it_is_set_while_what_was_there_before_still_is() -> None:
    decision = with_producer_quota(_at(FULL, producer_quota=SLOWED), IDLE)
    assert decision.effects == (SetProducerQuota(RATE),)
    assert with_producer_quota(_at(FULL, ProducerQuotaSeen(RATE), producer_quota=SLOWED), IDLE) is IDLE


@pytest.mark.parametrize("quota", [None, ProducerQuotaSeen(RATE / 2)])
def test_a_quota_that_is_lower_anyway_or_not_known_is_left_alone(quota: ProducerQuotaSeen | None) -> None:
    assert with_producer_quota(_at(FULL, quota), IDLE) is IDLE


def test_where_the_spec_only_tells_nothing_is_set_and_it_is_told_all_the_same() -> None:
    situation = _at(FULL, document=a_document())
    assert with_producer_quota(situation, IDLE) is IDLE
    told = disk_nearly_full(situation)
    assert told is not None
    assert (told.status, told.reason) == (True, "NearlyFull")
    assert "broker 1001 (96.0% full); Kafka stops over a full disk" in told.message
    assert severity_of("DiskNearlyFull", "NearlyFull") is severity_of("DiskNearlyFull", "ProducersSlowed")
    assert severity_of("DiskNearlyFull", "NearlyFull") is Severity.CRITICAL


def test_it_is_told_what_was_set_and_what_it_stands_in_the_place_of() -> None:
    told = disk_nearly_full(_at(FULL, producer_quota=replace(SLOWED, before=50_000_000.0)))
    assert told is not None
    assert (told.status, told.reason) == (True, "ProducersSlowed")
    assert "48.5 KiB/s to each broker (default user quota producer_byte_rate; it was 47.7 MiB/s)" in told.message


def test_it_goes_only_once_there_is_room_again_and_everybody_has_told() -> None:
    set_by_us = ProducerQuotaSeen(RATE)
    for still in ({**EVEN, 1001: 92.0}, {1000: 60.0, 1002: 60.0}):
        assert with_producer_quota(_at(still, set_by_us, producer_quota=SLOWED), IDLE) is IDLE
    (asked,) = with_producer_quota(_at(EVEN, set_by_us, producer_quota=SLOWED), IDLE).events
    assert asked == facts.ProducerQuotaRestoreRequested("no disk is nearly full any more, or it grows")


@pytest.mark.parametrize("before", [None, 50_000_000.0])
def test_exactly_what_was_there_comes_back(before: float | None) -> None:
    ending = replace(SLOWED, before=before, ending="there is room")
    decision = with_producer_quota(_at(EVEN, ProducerQuotaSeen(RATE), producer_quota=ending), IDLE)
    assert decision.effects == (SetProducerQuota(before),)
    after = with_producer_quota(_at(EVEN, ProducerQuotaSeen(before), producer_quota=ending), IDLE)
    assert after.events == (facts.ProducerQuotaRestored(before),)


def test_what_somebody_set_meanwhile_stays() -> None:
    theirs = ProducerQuotaSeen(7_000_000.0)
    assert with_producer_quota(_at(FULL, theirs, producer_quota=SLOWED), IDLE) is IDLE
    ending = replace(SLOWED, ending="there is room")
    decision = with_producer_quota(_at(EVEN, theirs, producer_quota=ending), IDLE)
    assert (decision.events, decision.effects) == ((facts.ProducerQuotaRestored(7_000_000.0),), ())


def test_a_spec_that_asks_for_it_no_more_ends_it_though_disks_are_full() -> None:
    situation = _at(FULL, ProducerQuotaSeen(RATE), producer_quota=SLOWED, document=a_document())
    (asked,) = with_producer_quota(situation, IDLE).events
    assert asked == facts.ProducerQuotaRestoreRequested("the spec asks for it no more")


def test_disks_that_are_about_to_grow_slow_nobody() -> None:
    grows = a_document(disks=f"{QUOTA}, grow: {{above: 80, to: 500}}")
    situation = _at(FULL, document=grows)
    assert with_producer_quota(situation, IDLE) is IDLE
    assert disk_nearly_full(situation) is None
    bound = changed_view(situation.view, grown_pools=MappingProxyType({"brokers": 500}))
    sizes = MappingProxyType({f"brokers-{z}-0.data.v1": 500 for z in "abc"})
    at_bound = replace(situation, view=changed_view(bound, volume_sizes=sizes))
    (lowered,) = with_producer_quota(at_bound, IDLE).events
    assert isinstance(lowered, facts.ProducerQuotaLowered)


def test_a_paused_cluster_is_told_and_not_touched() -> None:
    situation = _at(FULL, paused="looked at")
    assert with_producer_quota(situation, IDLE) is IDLE
    told = disk_nearly_full(situation)
    assert told is not None
    assert told.status


def test_a_broker_that_has_not_told_ends_no_condition() -> None:
    there = _told(a_view())
    assert disk_nearly_full(_at({1000: 60.0, 1002: 60.0}, **there)) is None
    over = disk_nearly_full(_at(EVEN, **there))
    assert over is not None
    assert not over.status
