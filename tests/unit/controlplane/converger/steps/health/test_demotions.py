"""A slow broker leads nothing: lists reordered, recorded, told, and given back once it may lead again."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from controlplane.background.anomalies.fold import EMPTY
from controlplane.background.anomalies.reconciler import held_down, steering
from controlplane.cluster.folds.anomalies import RULES
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.conditions.anomalies import demotions_condition, healing_off_condition
from controlplane.converger.ladder.decide import decide
from controlplane.converger.situation.effects import ElectPreferred, Reassign
from controlplane.converger.steps.health.demotions import demotion_step
from events import facts
from planner.observed import PartitionSeen
from tests.builders import NOW, a_partition, a_situation, a_snapshot, a_view, an_instance

KEY = "brokers-a-0.g1"
ASKED = facts.DemoteRequested(KEY, 1000, "broker 1000 was slow")
LISTS = [(1000, 1001, 1002), (1001, 1002, 1000), (1002, 1000, 1001)]


def told(*happened: object, view: ClusterView | None = None) -> ClusterView:
    found = view or a_view()
    for fact in happened:
        found = RULES[type(fact)](found, fact, NOW)
    return found


def partitions() -> list[PartitionSeen]:
    return [a_partition(f"orders-{n}", LISTS[n % 3]) for n in range(6)]


def test_its_lists_are_reordered_then_its_leaders_follow_then_it_is_recorded() -> None:
    view, parts = told(ASKED), partitions()
    assert has_work(view)
    first = decide(a_situation(view, kafka=a_snapshot(*parts)))
    (move,) = first.effects
    assert isinstance(move, Reassign)
    assert {str(name) for name in move.targets} == {"orders-0", "orders-3"}
    moved = [replace(p, replicas=move.targets.get(p.name, p.replicas)) for p in parts]
    second = decide(a_situation(view, kafka=a_snapshot(*moved)))
    assert isinstance(second.effects[0], ElectPreferred)
    led = [replace(p, leader=p.replicas[0]) for p in moved]
    assert decide(a_situation(view, kafka=a_snapshot(*led))).events == (facts.BrokerDemoted(KEY, 0),)
    rested = told(facts.BrokerDemoted(KEY, 0), view=view)
    assert not has_work(rested)
    assert demotion_step(a_situation(rested, kafka=a_snapshot(*led))) is None


def test_once_it_may_lead_again_it_gets_its_share_and_the_demotion_is_over() -> None:
    view = told(ASKED, facts.BrokerDemoted(KEY, 0), facts.DemotionEnded(KEY, "as fast as the others"))
    assert has_work(view)
    off = [a_partition(f"orders-{n}", (1001, 1002, 1000) if n % 2 else (1002, 1001, 1000)) for n in range(6)]
    back = demotion_step(a_situation(view, kafka=a_snapshot(*off)))
    assert back is not None
    (move,) = back.effects
    assert isinstance(move, Reassign)
    assert [order[0] for order in move.targets.values()] == [1000, 1000]
    there = [replace(p, replicas=move.targets.get(p.name, p.replicas)) for p in off]
    ended = demotion_step(a_situation(view, kafka=a_snapshot(*there)))
    assert ended is not None
    assert ended.events == (facts.BrokerPromoted(KEY),)
    assert told(facts.BrokerPromoted(KEY), view=view).requests.demotions == {}


def test_a_demotion_ends_with_its_vm_and_waits_while_kafka_cannot_be_read() -> None:
    view = told(ASKED)
    lost = replace(view, instances={**view.instances, KEY: replace(view.instances[KEY], lost_at=NOW)})
    gone = demotion_step(a_situation(lost, kafka=a_snapshot(*partitions())))
    assert gone is not None
    assert gone.events == (facts.BrokerPromoted(KEY),)
    assert demotion_step(a_situation(view, kafka=None)) is None


BY_ANNA = facts.BrokersDemoteRequested((KEY,), (1000,), "asked by anna: its disk")


def _with_next(view: ClusterView, **next_vm: Any) -> ClusterView:
    """The node's next VM beside the one that is demoted."""
    after = an_instance("brokers-a-0", generation=2, service_id=1010, **next_vm)
    return replace(view, instances={**view.instances, after.key: after})


def test_a_persons_demotion_passes_on_to_the_next_vm_of_the_node() -> None:
    """A roll gave the node another VM and id: it led again, though nobody had taken the word back."""
    view = told(BY_ANNA)
    off = a_snapshot(*(a_partition(f"orders-{n}", (1001, 1002, 1000)) for n in range(3)))
    leaving = replace(view, instances={**view.instances, KEY: replace(view.instances[KEY], phase=Phase.FENCED)})
    waiting = _with_next(leaving, phase=Phase.LAUNCHED)
    assert demotion_step(a_situation(waiting, kafka=off)) is None, "it waits for who is to come"
    passed = demotion_step(a_situation(_with_next(leaving), kafka=off))
    assert passed is not None
    expected = facts.DemoteRequested("brokers-a-0.g2", 1010, "asked by anna: its disk", by_person=True)
    assert passed.events == (expected, facts.BrokerPromoted(KEY))
    after = told(*passed.events, view=_with_next(leaving))
    assert {k: (d.broker, d.by_person) for k, d in after.requests.demotions.items()} == {"brokers-a-0.g2": (1010, True)}


def test_a_persons_demotion_waits_for_a_lost_vm_and_ends_with_its_node() -> None:
    view = told(BY_ANNA)
    lost = replace(view, instances={**view.instances, KEY: replace(view.instances[KEY], lost_at=NOW)})
    assert demotion_step(a_situation(lost, kafka=a_snapshot(*partitions()))) is None
    retired = replace(view, instances={k: i for k, i in view.instances.items() if k != KEY})
    ended = demotion_step(a_situation(retired, kafka=a_snapshot(*partitions())))
    assert ended is not None
    assert ended.events == (facts.BrokerPromoted(KEY),)


def test_a_persons_demotion_is_told_with_the_way_back_and_is_no_anomaly() -> None:
    told_of = demotions_condition(a_situation(told(BY_ANNA)))
    assert (told_of.reason, told_of.message) == (
        "Asked",
        f"{KEY} leads nothing: asked by anna: its disk. To take it back: kedge undemote orders --broker 1000",
    )
    view = told(BY_ANNA, facts.BrokerDemoted(KEY, 0))
    assert list(steering(view, EMPTY, NOW)) == [], "it is not slow, and stays demoted"
    assert held_down(view, EMPTY) == {}
    assert [type(c).__name__ for c in steering(told(ASKED), EMPTY, NOW)] == ["PromoteBroker"]


def test_it_is_told_who_leads_nothing_and_what_is_not_healed() -> None:
    view = told(
        ASKED, facts.HealingSwitched("slow-broker", False, NOW + timedelta(hours=2), "asked by anna: load test")
    )
    led_off = demotions_condition(a_situation(view))
    assert led_off.status
    assert led_off.message == f"{KEY} leads nothing: broker 1000 was slow. Next: kedge anomalies orders"
    off = healing_off_condition(a_situation(view))
    assert off.status
    assert off.message == (
        "slow-broker are told and not healed until 2026-01-01 14:00 UTC: asked by anna: load test. "
        "Next: kedge healing on orders"
    )
    assert not healing_off_condition(a_situation(view, now=NOW + timedelta(hours=3))).status


def test_the_switch_of_all_kinds_takes_those_of_single_kinds_back() -> None:
    view = told(facts.HealingSwitched("slow-broker", True, None, "a"), facts.HealingSwitched("", False, None, "b"))
    assert list(view.requests.switches) == [""]
