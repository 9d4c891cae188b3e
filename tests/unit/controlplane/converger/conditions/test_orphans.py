"""`Orphans` tells of VMs with a cluster's tags that its history never asked for; they are left alone."""

from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ConditionView
from controlplane.converger.conditions.changes import ORPHANS, condition_changes
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from events import facts
from providers.base import CloudInstance
from tests.builders import BEFORE, a_cloud_instance, a_situation, a_view, an_instance, an_inventory

VIEW = a_view()
THERE = an_inventory(VIEW).instances


def told(situation: Situation) -> list[facts.ConditionChanged]:
    return [c for c in condition_changes(situation, Decision("at rest")) if c.type == ORPHANS]


def carrying(node: str, vm_id: str) -> CloudInstance:
    return replace(a_cloud_instance(an_instance(node)), id=vm_id)


def test_a_vm_nobody_asked_for_is_told_by_its_id_with_what_may_be_behind_it() -> None:
    copied = carrying("brokers-a-7", "i-copied")
    (found,) = told(a_situation(VIEW, inventory=an_inventory(VIEW, instances={**THERE, copied.key: copied})))
    assert (found.status, found.reason) == (True, "OrphanFound")
    for words in ("1 VMs carry", "i-copied as brokers-a-7.g1", "Kedge leaves them", "older backup"):
        assert words in found.message


def test_several_under_one_key_that_is_not_known_are_counted_each() -> None:
    first, second = carrying("brokers-a-7", "i-1"), carrying("brokers-a-7", "i-2")
    inventory = an_inventory(VIEW, instances={**THERE, first.key: first}, twins={second.key: (second,)})
    (found,) = told(a_situation(VIEW, inventory=inventory))
    assert "2 VMs carry" in found.message
    assert "i-1, i-2 as brokers-a-7.g1" in found.message


def test_vms_of_the_history_are_none_whatever_became_of_them() -> None:
    retired = an_instance("brokers-a-9", phase=Phase.RETIRED)
    view = a_view(*VIEW.instances.values(), retired)
    there = {**THERE, retired.key: a_cloud_instance(retired)}
    assert told(a_situation(view, inventory=an_inventory(view, instances=there))) == []


def test_it_is_over_when_they_are_gone_and_stays_while_the_cloud_does_not_answer() -> None:
    was = replace(VIEW, conditions={ORPHANS: ConditionView(True, "OrphanFound", "i-copied", BEFORE)})
    (over,) = told(a_situation(was))
    assert (over.status, over.reason) == (False, "Free")
    assert told(a_situation(was, inventory=None)) == []
