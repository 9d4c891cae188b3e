"""Who is cordoned, since which metadata level, and what is left alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.converger.situation.effects import SetCordons
from controlplane.converger.steps.rolls.cordons import CORDON_LEVEL, brokers_to_cordon, cordon_step
from controlplane.kafka.features import METADATA
from planner.observed import FeatureSeen, KafkaSnapshot
from tests.builders import BEFORE, NODES, NOW, a_partition, a_situation, a_snapshot, a_view, an_instance

A = "brokers-a-0.g1"


def _cluster(phase: Phase = Phase.JOINED, **overrides: Any) -> ClusterView:
    return a_view(*(an_instance(n, phase=phase if n == "brokers-a-0" else Phase.JOINED) for n in NODES), **overrides)


def _kafka(*cordoned: int, level: int = CORDON_LEVEL, **overrides: Any) -> KafkaSnapshot:
    features = {METADATA: FeatureSeen(level, 7, level)}
    return replace(a_snapshot(), features=features, cordoned=frozenset(cordoned), **overrides)


def _effects(view: ClusterView, kafka: KafkaSnapshot | None) -> tuple[object, ...]:
    decision = cordon_step(a_situation(view, kafka=kafka))
    return decision.effects if decision else ()


def _lingers(seconds: float) -> ClusterView:
    """For so long already; the spec wants 5 s."""
    there = an_instance("brokers-a-0", phase=Phase.LINGERING, since=NOW - timedelta(seconds=seconds))
    return a_view(*(an_instance(n) for n in NODES if n != "brokers-a-0"), there)


@pytest.mark.parametrize("view", [_cluster(Phase.DRAINING), _lingers(4)], ids=["draining", "lingering"])
def test_a_broker_on_its_way_out_is_cordoned(view: ClusterView) -> None:
    assert brokers_to_cordon(view) == {1000}
    assert _effects(view, _kafka()) == (SetCordons((1000,), ()),)
    assert _effects(view, _kafka(1000)) == ()


def test_the_cordon_is_lifted_before_the_word_to_stop_since_nobody_else_can_once_the_broker_is_gone() -> None:
    decision = cordon_step(a_situation(_lingers(5), kafka=_kafka(1000)))
    assert decision is not None
    assert (decision.sentence, decision.effects) == (
        "lifting the cordon of broker 1000, about to stop",
        (SetCordons((), (1000,)),),
    )
    assert _effects(_lingers(5), _kafka()) == (), "nor is it cordoned again"
    assert _effects(_cluster(Phase.FENCING), _kafka()) == ()
    assert _effects(_cluster(Phase.FENCING), _kafka(1000)) == (SetCordons((), (1000,)),)


def test_a_partition_that_came_meanwhile_keeps_the_cordon_until_the_broker_is_empty_again() -> None:
    full = replace(_kafka(1000), partitions=(a_partition("late-0"),))
    assert _effects(_lingers(5), full) == ()


def test_a_broker_that_is_to_be_empty_is_cordoned_while_it_stays_so() -> None:
    view = _cluster(evacuations={A: EvacuationView("asked by anna: noises", BEFORE, BEFORE)})
    assert _effects(view, _kafka()) == (SetCordons((1000,), ()),)


def test_one_that_hands_its_disk_over_is_not_cordoned() -> None:
    successor = an_instance("brokers-a-0", generation=2, phase=Phase.LAUNCHED, handover=True, service_id=1000)
    view = a_view(
        *(an_instance(n, phase=Phase.FENCING if n == "brokers-a-0" else Phase.JOINED) for n in NODES), successor
    )
    assert view.hands_over(view.instances[A])
    assert brokers_to_cordon(view) == frozenset()


def test_a_cordon_that_nobody_needs_is_lifted() -> None:
    assert _effects(_cluster(), _kafka(1000, 1001)) == (SetCordons((), (1000, 1001)),)


def test_brokers_of_others_keep_theirs() -> None:
    assert _effects(_cluster(), _kafka(7)) == ()


def test_one_that_is_away_is_not_asked() -> None:
    seen = _kafka()
    fenced = {b.id: replace(b, fenced=b.id == 1000) for b in seen.brokers.values()}
    assert _effects(_cluster(Phase.DRAINING), replace(seen, brokers=fenced)) == ()


@pytest.mark.parametrize("level", [27, 29])
def test_below_the_level_of_4_3_nothing_is_set(level: int) -> None:
    assert _effects(_cluster(Phase.DRAINING), _kafka(level=level)) == ()


def test_without_fresh_metadata_it_says_nothing() -> None:
    assert cordon_step(a_situation(_cluster(Phase.DRAINING), kafka=None)) is None
