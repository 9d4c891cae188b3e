"""The disk of a broker whose VM is gone: taken over where it is there, waited for where nobody knows, else copied."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.cluster.folds.instances import RULES
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.evacuations import EvacuationView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.commands.previews.plan import preview
from controlplane.converger.questions.clouds.missing_volumes import given_up
from controlplane.converger.questions.rolls.lost_disks import MAX_BIND_FAILURES
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import TerminateInstance
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.steps.clouds.intents import intent_step
from controlplane.converger.steps.rolls.arrivals import arrival_step, loss_step
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from events import facts
from providers.base import CloudVolume, Place
from providers.errors import CloudUnavailable
from providers.handover import Handover
from tests.builders import (
    BEFORE,
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
from tests.changed_view import changed_view

LOST = an_instance("brokers-c-0", lost_at=NOW - timedelta(seconds=301))
VOLUME = LOST.planned.volumes[0].key
LEFT = replace(LOST, phase=Phase.RELEASED, bound=False)
SUCCESSOR = an_instance("brokers-c-0", 2, Phase.LAUNCHED, service_id=1002, handover=True, bound=False)
SUCCESSOR = replace(SUCCESSOR, planned=replace(SUCCESSOR.planned, volumes=LOST.planned.volumes))
HERE = Place("local", "local-1")
FREE = CloudVolume(VOLUME, "c0ffee", "c", 100, None)


OPTED_IN = "lostDisk: reattach"


def _view(*instances: InstanceView, **overrides: Any) -> ClusterView:
    """Of a cluster that wants the disks of lost brokers to pass on."""
    return a_view(*instances, **{"document": a_document(healing=OPTED_IN), **overrides})


def _lost(healing: str = OPTED_IN, **spec: Any) -> ClusterView:
    return changed_view(a_view(LOST, document=a_document(healing=healing, **spec)), recycling=1)


def _seen(view: ClusterView, volume: CloudVolume | None = FREE, **told: Any) -> InventorySeen:
    seen = an_inventory(view, gone={LOST.key}, **told)
    others = {k: v for k, v in seen.volumes.items() if k != VOLUME}
    return replace(seen, volumes={**others, **({VOLUME: volume} if volume is not None else {})})


def _next_vm(view: ClusterView, inventory: InventorySeen | None, **seen: Any) -> facts.PlannedInstance:
    decision = replacement_step(a_situation(view, inventory=inventory, **seen))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.SurgeRequested)
    return asked.instances[0]


@pytest.mark.parametrize(
    "volume", [FREE, replace(FREE, attached_to=LOST.key), replace(FREE, attached_to="")], ids=["free", "on it", "none"]
)
@pytest.mark.parametrize("strategy", [{}, {"strategy": "reattach", "max_unavailable": 1}], ids=["migrate", "reattach"])
def test_a_disk_that_is_there_passes_on_with_the_id_whatever_the_strategy(
    volume: CloudVolume, strategy: Mapping[str, Any]
) -> None:
    view = _lost(**strategy)
    made = _next_vm(view, _seen(view, volume))
    assert (made.handover, made.service_id, made.volumes) == (True, 1002, LOST.planned.volumes)


@pytest.mark.parametrize(
    "volume",
    [None, replace(FREE, zone="a"), replace(FREE, attached_to="brokers-a-0.g1"), replace(FREE, attached_to="i-0815")],
    ids=["gone", "in another zone", "on another VM", "on a VM nobody knows"],
)
@pytest.mark.parametrize("strategy", [{}, {"strategy": "reattach", "max_unavailable": 1}], ids=["migrate", "reattach"])
def test_what_was_on_a_disk_that_is_not_free_is_copied(volume: CloudVolume | None, strategy: Mapping[str, Any]) -> None:
    view = _lost(**strategy)
    made = _next_vm(view, _seen(view, volume))
    assert not made.handover
    assert (made.service_id > 1002, made.volumes[0].version) == (True, 2)


@pytest.mark.parametrize("healing", ["", "lostDisk: copy"], ids=["nothing said", "copy"])
@pytest.mark.parametrize("strategy", ["migrate", "reattach"])
@pytest.mark.parametrize("listed", [True, False], ids=["its disk is there", "its disk is gone"])
def test_a_spec_that_does_not_ask_for_it_has_lost_brokers_go_by_the_strategy(
    healing: str, strategy: str, listed: bool
) -> None:
    """Under `reattach` all disks pass on: that of a lost one too where the cloud shows it; else it is copied."""
    view = _lost(healing=healing, strategy=strategy, max_unavailable=1)
    assert _next_vm(view, _seen(view, FREE if listed else None)).handover is (listed and strategy == "reattach")


@pytest.mark.parametrize("strategy", ["migrate", "reattach"])
def test_a_broker_that_is_there_goes_by_the_strategy(strategy: str) -> None:
    spec: dict[str, Any] = {"strategy": strategy, "max_unavailable": 1, "version": "4.2.0"}
    view = changed_view(a_view(document=a_document(**spec)), generation=2, recycling=2)
    assert _next_vm(view, an_inventory(view)).handover is (strategy == "reattach")


def test_an_own_disk_of_a_vm_is_gone_with_it() -> None:
    gone = replace(LOST.planned.volumes[0], kind="ephemeral")
    lost = replace(LOST, planned=replace(LOST.planned, volumes=(gone,)))
    view = changed_view(a_view(lost, document=a_document(disk="ephemeral", healing=OPTED_IN)), recycling=1)
    assert not _next_vm(view, _seen(view)).handover


def test_a_disk_a_person_gave_up_is_not_taken_over() -> None:
    view = changed_view(_lost(), to_replace={LOST.key: ReplaceView("it is slow", True, BEFORE)})
    assert not _next_vm(view, _seen(view)).handover


def test_of_a_broker_that_a_person_wanted_empty_nothing_is_taken_over() -> None:
    view = changed_view(_lost(), evacuations={LOST.key: EvacuationView("strange noises", BEFORE)})
    assert not _next_vm(view, _seen(view)).handover


@pytest.mark.parametrize("how", ["no listing", "an old listing", "its place is silent"])
def test_a_disk_nobody_knows_of_is_neither_taken_nor_copied(how: str) -> None:
    view = _lost()
    seen: InventorySeen | None = _seen(view)
    if how == "no listing":
        seen = None
    elif how == "an old listing":
        seen = _seen(view, at=NOW - timedelta(seconds=31))
    else:
        seen = _seen(view, silent={str(HERE): CloudUnavailable("down")})
    decision = replacement_step(a_situation(view, inventory=seen))
    assert decision is not None
    assert (decision.events, decision.effects) == ((), ())
    assert decision.wait is not None
    assert decision.wait.reason == "InventoryUnknown"
    copied = _lost(healing="lostDisk: copy")
    assert not _next_vm(copied, seen).handover, "where it is copied anyway nobody has to know"


# --- meanwhile --------------------------------------------------------------------------------------------------


def _both_lost(heir: InstanceView, **spec: Any) -> Decision:
    """Of two lost brokers with the same partitions one was made anew under another id; the other has this heir."""
    old = an_instance("brokers-a-0", lost_at=NOW - timedelta(seconds=400))
    new = an_instance("brokers-a-0", 2, service_id=1003)
    view = changed_view(a_view(old, new, LOST, heir, document=a_document(**spec)), recycling=1)
    kafka = a_snapshot(a_partition(isr=(1001,), leader=1001), brokers=(1001, 1003))
    decision = replacement_step(a_situation(view, kafka=kafka, inventory=_seen(view)))
    assert decision is not None
    return decision


def test_no_drain_of_another_empties_a_broker_whose_disk_passes_on() -> None:
    """Its id would be unregistered under its successor, who would wait for ever to become that broker."""
    decision = _both_lost(SUCCESSOR, healing=OPTED_IN)
    assert (decision.events, decision.wait is not None) == ((), True)
    assert "brokers-c-0.g2 takes over the disk of brokers-c-0.g1 first" in decision.sentence


@pytest.mark.parametrize(
    ("heir", "healing"),
    [(an_instance("brokers-c-0", 2, Phase.LAUNCHED), OPTED_IN), (SUCCESSOR, "")],
    ids=["its successor has another id", "a spec that does not ask for it"],
)
def test_one_whose_disk_does_not_pass_on_goes_in_the_same_drain(heir: InstanceView, healing: str) -> None:
    (drain,) = _both_lost(heir, healing=healing).events
    assert isinstance(drain, facts.DrainRequested)
    assert drain.keys == ("brokers-a-0.g1", LOST.key)


# --- it does not come up ----------------------------------------------------------------------------------------


def _late(successor: InstanceView, *elders: InstanceView, healing: str = OPTED_IN) -> object:
    view = _view(successor, *elders, document=a_document(healing=healing))
    reports = {successor.key: a_report(successor, "failed")}
    decision = arrival_step(a_situation(view, reports=reports, now=NOW))
    assert decision is not None
    (event,) = decision.events
    return event


OVERDUE = replace(SUCCESSOR, bound=True, since=NOW - timedelta(seconds=700))


def test_who_does_not_come_up_on_a_lost_ones_disk_is_no_failed_join() -> None:
    """It has the id and the disk: it stays until all is copied, and is replaced by one with another disk."""
    event = _late(OVERDUE, LEFT)
    assert isinstance(event, facts.TakeoverFailed)
    assert event.key == SUCCESSOR.key


@pytest.mark.parametrize(
    "elder", [replace(LEFT, lost_at=None), replace(LEFT, planned=replace(LEFT.planned, service_id=999))]
)
def test_who_follows_one_that_was_not_lost_gets_another_vm_with_the_same_disk(elder: InstanceView) -> None:
    assert isinstance(_late(OVERDUE, elder), facts.JoinFailed)


def test_a_spec_that_does_not_ask_for_it_has_the_next_vm_tried_with_the_same_disk() -> None:
    assert isinstance(_late(OVERDUE, LEFT, healing=""), facts.JoinFailed)


def _given_up(**overrides: Any) -> ClusterView:
    here = replace(SUCCESSOR, phase=Phase.JOINED, bound=True, **overrides)
    asked = MappingProxyType({here.key: ReplaceView("failed after 600 s", True, BEFORE, mends=True)})
    return changed_view(_view(here, LEFT), recycling=1, to_replace=asked)


def test_the_fold_has_it_stand_for_its_broker_until_another_one_does() -> None:
    before = _view(OVERDUE, LEFT)
    after = RULES[facts.TakeoverFailed](before, facts.TakeoverFailed(SUCCESSOR.key, "failed"), NOW)
    assert after.instances[SUCCESSOR.key].phase is Phase.JOINED
    assert after.requests.to_replace[SUCCESSOR.key] == ReplaceView("failed", True, NOW, mends=True)


@pytest.mark.parametrize("lost", [{}, {"lost_at": NOW - timedelta(seconds=301)}], ids=["its VM runs", "its VM is gone"])
def test_the_next_vm_has_another_id_and_a_new_disk(lost: dict[str, Any]) -> None:
    """At once: it is a repair, and waits for no brake."""
    view = _given_up(**lost)
    change = next(c for c in pending_changes(view) if c.node == "brokers-c-0")
    assert change.incumbent is not None
    assert change.incumbent.to_mend
    made = _next_vm(view, _seen(view))
    assert (made.handover, made.service_id > 1002, made.generation) == (False, True, 3)
    assert made.volumes[0].key not in (VOLUME,)


def test_who_was_let_go_of_goes_though_nobody_hears_of_the_one_that_has_its_disk() -> None:
    """With the disk kept: its successor has it, and nothing of it is elsewhere yet."""
    view = _given_up()
    decision = handover_step(a_situation(view, reports={}))
    assert decision is not None
    (retire,) = decision.events
    assert isinstance(retire, facts.RetireRequested)
    assert (retire.keys, retire.volumes) == ((LOST.key,), ())


# --- it does not come -------------------------------------------------------------------------------------------


def _binding(successor: InstanceView = SUCCESSOR, **told: Any) -> ClusterView:
    values = {"failures": MAX_BIND_FAILURES, "tries": 5, "failed_at": NOW, "error": "NotYetGone", **told}
    intent = IntentView("i", "bind", (successor.key,), values.pop("requested_at", BEFORE), **values)
    return _view(successor, LEFT, intents={"i": intent})


def _step(view: ClusterView, **seen: Any) -> Decision:
    decision = intent_step(a_situation(view, inventory=_seen(view), **seen))
    assert decision is not None
    return decision


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"failures": 1, "retryable": False},
        {"failures": 0, "failed_at": None, "requested_at": NOW - timedelta(seconds=1201)},
    ],
    ids=["it failed too often", "it was refused", "it takes too long"],
)
def test_a_vm_to_which_the_disk_does_not_come_goes_before_it_had_a_service(told: dict[str, Any]) -> None:
    decision = _step(_binding(**told))
    assert decision.effects == (TerminateInstance(SUCCESSOR.key, SUCCESSOR.cloud_id),)
    assert decision.events == ()


@pytest.mark.parametrize("told", [{"failures": MAX_BIND_FAILURES - 1}, {"failures": 0, "failed_at": None}])
def test_before_that_it_is_tried_again(told: dict[str, Any]) -> None:
    assert not any(isinstance(e, TerminateInstance) for e in _step(_binding(**told)).effects)


def test_who_follows_one_that_was_not_lost_is_tried_as_often_as_ever() -> None:
    view = replace(_binding(), instances={**_binding().instances, LEFT.key: replace(LEFT, lost_at=None)})
    assert not _step(view).effects


def test_a_spec_that_does_not_ask_for_it_has_it_tried_as_often_as_ever() -> None:
    assert not _step(changed_view(_binding(), document=a_document())).effects


def test_while_the_cloud_is_silent_nothing_is_given_up() -> None:
    view = _binding()
    silent = _seen(view, silent={str(HERE): CloudUnavailable("down")})
    decision = intent_step(a_situation(view, inventory=silent))
    assert decision is not None
    assert not any(isinstance(e, TerminateInstance) for e in decision.effects)


def test_once_it_is_gone_it_is_no_failed_join() -> None:
    view = _binding()
    seen = replace(_seen(view), gone=frozenset({LOST.key, SUCCESSOR.key}))
    decision = loss_step(a_situation(view, inventory=seen))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.InstanceLost, facts.TakeoverFailed]


def test_where_the_bind_makes_the_vm_it_is_given_up_once_none_is_there() -> None:
    unmade = replace(SUCCESSOR, phase=Phase.REQUESTED, cloud_id="", planned=replace(SUCCESSOR.planned, deferred=True))
    decision = _step(_binding(unmade), handover=Handover.DELETE_FIRST)
    assert [type(e) for e in decision.events] == [facts.BindCompleted, facts.InstanceLost, facts.TakeoverFailed]


# --- what no run looks for any more -----------------------------------------------------------------------------


def test_a_disk_that_went_with_its_vm_is_looked_for_by_no_run_once_the_next_vm_has_another() -> None:
    alone = _view(LOST)
    assert given_up(alone, _seen(alone, None)) == frozenset(), "nobody has another one yet"
    followed = _view(LOST, an_instance("brokers-c-0", 2, Phase.REQUESTED))
    assert given_up(followed, _seen(followed, None)) == {VOLUME}
    assert given_up(followed, _seen(followed)) == frozenset(), "it is listed"
    unasked = changed_view(followed, document=a_document())
    assert given_up(unasked, _seen(unasked, None)) == frozenset(), "by a spec that does not ask for it nothing is"
    taken = _view(LEFT, SUCCESSOR)
    assert given_up(taken, _seen(taken, None)) == frozenset(), "somebody is to have it"


def test_a_disk_that_went_as_it_passed_on_is_looked_for_by_no_run_either() -> None:
    view = _given_up(lost_at=NOW)
    assert given_up(view, _seen(view, None)) == {VOLUME}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"healing": OPTED_IN}, "the next VM of a lost broker of `brokers` gets its id and disk, which catches up"),
        ({"healing": OPTED_IN}, {}, "what a lost broker had is copied whole to its next VM, under a new id"),
        (
            {"healing": OPTED_IN, "strategy": "reattach", "max_unavailable": 1},
            {"strategy": "reattach", "max_unavailable": 1},
            "lost brokers still pass their disks on, as rollout.strategy is reattach",
        ),
        ({"disk": "ephemeral"}, {"disk": "ephemeral", "healing": OPTED_IN}, "changes nothing: no pool has disks"),
    ],
)
def test_a_plan_says_what_becomes_of_lost_brokers(before: dict[str, Any], after: dict[str, Any], said: str) -> None:
    plan = preview(a_view(document=a_document(**before)), a_document(**after), snapshot=None)
    assert plan.effects["spec.healing.lostDisk"].startswith(said)
