"""Before a run takes disks from VMs: agents unmount them; a VM that cannot is ended first where its cloud insists."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import StartRun, TerminateInstance
from controlplane.converger.steps.clouds.intents import MAX_RUN_FAILURES, intent_step
from controlplane.converger.steps.clouds.unmounting import UNMOUNT_WITHIN_S
from providers.base import InstanceState
from tests.builders import NOW, a_cloud_instance, a_report, a_situation, a_view, a_volume, an_instance, an_inventory

OLD = an_instance("brokers-a-0", 1, Phase.RETIRING)
HOLDER = an_instance("brokers-a-0", 1, Phase.FENCED)
OWN = replace(a_volume("brokers-a-0"), kind="ephemeral")
DISK = "brokers-a-0.data.v1"
RUN = (StartRun("i", "i.0"),)
STALE = NOW - timedelta(seconds=31)
LATE = NOW - timedelta(seconds=UNMOUNT_WITHIN_S)
KEPT = {"holds_mounted": frozenset({"local"})}


def _asked(kind: str, instance: InstanceView = OLD, **intent: Any) -> ClusterView:
    values = {"id": "i", "kind": kind, "keys": (instance.key,), "requested_at": NOW, **intent}
    return a_view(instance, intents={"i": IntentView(**values)})


def _said(instance: InstanceView, *mounted: str, **report: Any) -> ReportSeen:
    seen = a_report(instance, "stopped", **report)
    return replace(seen, report=seen.report.model_copy(update={"attachments": mounted}))


def _step(view: ClusterView, *reports: ReportSeen, **seen: Any) -> Decision:
    told = {f"{r.report.node}.g{r.report.generation}": r for r in reports}
    decision = intent_step(a_situation(view, reports=told, **seen))
    assert decision is not None
    return decision


@pytest.mark.parametrize(("kind", "instance"), [("retire", OLD), ("destroy", OLD), ("release", HOLDER)])
def test_no_run_takes_a_disk_that_its_agent_says_is_mounted(kind: str, instance: InstanceView) -> None:
    """EC2 keeps such a disk, so a retire never ended; elsewhere what its filesystem had not written was lost."""
    view = _asked(kind, instance)
    decision = _step(view, _said(instance, DISK))
    assert (decision.effects, decision.wait and decision.wait.reason) == ((), "Unmounting")
    assert decision.sentence.endswith(f"waiting 60 s at most until agents have unmounted {DISK} on brokers-a-0.g1")
    assert _step(view, _said(instance)).effects == RUN


@pytest.mark.parametrize("kind", ["retire", "destroy"])
def test_an_agent_is_not_waited_for_beyond_the_deadline(kind: str) -> None:
    assert _step(_asked(kind, requested_at=LATE), _said(OLD, DISK)).effects == RUN
    assert _step(_asked(kind, requested_at=LATE), _said(OLD, DISK, received_at=STALE)).effects == RUN


@pytest.mark.parametrize(
    "instance",
    [
        pytest.param(replace(OLD, lost_at=NOW), id="its VM is gone"),
        pytest.param(replace(OLD, bound=False), id="its disks are on another VM"),
        pytest.param(
            an_instance(
                "brokers-a-0", 1, Phase.RETIRING, volumes=(replace(a_volume("brokers-a-0"), kind="ephemeral"),)
            ),
            id="its disk goes with the VM",
        ),
    ],
)
def test_who_holds_no_disk_that_stays_is_not_waited_for(instance: InstanceView) -> None:
    assert _step(_asked("retire", instance), _said(instance, DISK), **KEPT).effects == RUN


def test_who_never_spoke_is_not_waited_for_where_disks_are_given() -> None:
    assert _step(_asked("retire")).effects == RUN


@pytest.mark.parametrize(
    "reports",
    [
        pytest.param((), id="never heard"),
        pytest.param((_said(OLD, DISK),), id="it could not unmount"),
        pytest.param((_said(OLD, DISK, received_at=STALE),), id="silent since"),
        pytest.param((_said(OLD, received_at=STALE),), id="silent, and may have mounted it since"),
    ],
)
@pytest.mark.parametrize("kind", ["retire", "destroy"])
def test_where_the_cloud_keeps_mounted_disks_a_vm_that_goes_and_does_not_unmount_is_ended_first(
    kind: str, reports: tuple[ReportSeen, ...]
) -> None:
    view = _asked(kind, requested_at=LATE)
    decision = _step(view, *reports, **KEPT)
    assert (decision.effects, decision.wait and decision.wait.reason) == (
        (TerminateInstance(OLD.key, "vm-brokers-a-0.g1"),),
        "VmHoldsDisks",
    )
    assert _step(view, *reports, inventory=an_inventory(view, gone=[OLD.key]), **KEPT).effects == RUN


def test_it_is_ended_only_after_its_agent_had_its_time() -> None:
    decision = _step(_asked("retire"), _said(OLD, DISK, received_at=STALE), **KEPT)
    assert (decision.effects, decision.wait and decision.wait.reason) == ((), "Unmounting")


def test_a_vm_whose_agent_has_unmounted_is_ended_by_its_run() -> None:
    assert _step(_asked("retire"), _said(OLD), **KEPT).effects == RUN


def test_one_that_was_stopped_by_hand_is_ended_too_and_one_that_is_in_no_listing_is_left_to_the_run() -> None:
    view = _asked("retire", requested_at=LATE)
    stopped = a_cloud_instance(OLD, state=InstanceState.STOPPING)
    decision = _step(view, inventory=an_inventory(view, instances={OLD.key: stopped}), **KEPT)
    assert decision.effects == (TerminateInstance(OLD.key, stopped.id),)
    assert _step(view, inventory=an_inventory(view, instances={}), **KEPT).effects == RUN


def test_a_release_ends_its_vm_only_where_it_takes_it_along() -> None:
    """Else the VM is to stay until its successor has taken over: nobody has said that it goes."""
    stays = _step(_asked("release", HOLDER, requested_at=LATE), _said(HOLDER, DISK), **KEPT)
    assert stays.effects == RUN
    goes = _step(_asked("release", HOLDER, requested_at=LATE, with_vm=True), **KEPT)
    assert goes.effects == (TerminateInstance(HOLDER.key, "vm-brokers-a-0.g1"),)


def test_of_a_release_that_cannot_take_its_disk_a_person_is_told_what_they_may_do() -> None:
    """Six tries of a run that a mounted disk stopped ended with `resume`, which only tried the same once more."""
    failed = {"failures": MAX_RUN_FAILURES, "error": "NotYetGone: volume vol-1 does not leave i-1", "retryable": True}
    held = _step(_asked("release", HOLDER, requested_at=LATE, **failed), _said(HOLDER, DISK, received_at=STALE), **KEPT)
    assert held.effects == (), "the VM is not one that goes: whoever is silent is not dead"
    assert held.wait is not None
    assert (held.wait.reason, held.wait.next_command) == ("RunFailed", "kedge resume orders")
    assert f"does not say that {DISK} on brokers-a-0.g1 (vm-brokers-a-0.g1) are unmounted" in held.sentence
    assert "terminate that VM at the cloud, which keeps the disks; then resume" in held.sentence
    let_go = _step(_asked("release", HOLDER, requested_at=LATE, **failed), _said(HOLDER), **KEPT)
    assert "unmounted" not in let_go.sentence
    retire = _step(_asked("retire", requested_at=LATE, **failed), _said(OLD, DISK), **KEPT)
    assert "unmounted" not in retire.sentence


def test_nobody_is_ended_on_an_old_inventory() -> None:
    view = _asked("retire", requested_at=LATE)
    decision = _step(view, inventory=an_inventory(view, at=STALE), **KEPT)
    assert (decision.effects, decision.wait and decision.wait.reason) == ((), "InventoryUnknown")


def test_a_surge_and_a_bind_take_nothing_away() -> None:
    new = an_instance("brokers-a-0", 2, Phase.REQUESTED)
    assert _step(_asked("surge", new), **KEPT).effects == RUN
