"""Open Terraform intents: started, retried with back-off, confirmed only by an inventory newer than their run."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.jobs import JobSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.questions.clouds.rendering import place_of_intent
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import StartRun, TerminateInstance
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.steps.clouds.intents import MAX_RUN_FAILURES, intent_step, job_id
from events import facts
from providers.base import InstanceState
from providers.errors import AuthFailed
from tests.builders import BEFORE, NOW, a_cloud_instance, a_situation, a_view, an_instance, an_inventory
from tests.unit.controlplane.cohosted import after

SURGING = an_instance("brokers-a-0", 2, Phase.REQUESTED)
OLD = an_instance("brokers-a-0", 1, Phase.RETIRING)
SUCCEEDED = JobSeen("succeeded", ended_at=NOW - timedelta(seconds=5))


def _intent(kind: str, *keys: str, **overrides: Any) -> dict[str, IntentView]:
    return {"i": IntentView(**{"id": "i", "kind": kind, "keys": keys, "requested_at": BEFORE, **overrides})}


def _surge(**overrides: Any) -> ClusterView:
    return a_view(SURGING, intents=_intent("surge", SURGING.key, **overrides))


def _step(view: ClusterView, job: JobSeen | None = None, **seen: Any) -> Decision:
    jobs: Mapping[str, JobSeen] = {} if job is None else {job_id(view.intents["i"]): job}
    decision = intent_step(a_situation(view, jobs=jobs, **seen))
    assert decision is not None
    return decision


def test_without_intents_there_is_nothing_to_do() -> None:
    assert intent_step(a_situation(a_view())) is None


def test_a_new_intent_is_run() -> None:
    assert _step(_surge()).effects == (StartRun("i", "i.0"),)


def test_the_oldest_intent_goes_first() -> None:
    young = IntentView("a", "retire", (OLD.key,), NOW)
    view = a_view(SURGING, OLD, intents={**_intent("surge", SURGING.key), "a": young})
    assert _step(view).effects == (StartRun("i", "i.0"),)


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_run_under_way_is_waited_for(state: str) -> None:
    decision = _step(_surge(), JobSeen(state, message="creating 2 of 3"))
    assert (decision.effects, decision.wait and decision.wait.reason) == ((), "TerraformRuns")
    assert "creating 2 of 3" in decision.sentence


@pytest.mark.parametrize("retryable", [True, False])
def test_a_failed_run_is_recorded(retryable: bool) -> None:
    decision = _step(_surge(), JobSeen("failed", "GuardRefused", "it wants more", retryable))
    assert decision.events == (facts.RunFailed("i", "GuardRefused", "it wants more", retryable),)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"failures": 1, "tries": 1, "failed_at": NOW}, "RunFailed"),
        ({"failures": 1, "tries": 1, "failed_at": NOW - timedelta(seconds=2)}, StartRun("i", "i.1")),
        ({"failures": 3, "tries": 3, "failed_at": NOW - timedelta(seconds=7)}, "RunFailed"),
        ({"failures": 3, "tries": 3, "failed_at": NOW - timedelta(seconds=8)}, StartRun("i", "i.3")),
        ({"failures": 1, "tries": 7, "failed_at": BEFORE}, StartRun("i", "i.7")),
        ({"failures": 1, "failed_at": BEFORE, "retryable": False}, "RunRefused"),
        ({"failures": MAX_RUN_FAILURES, "failed_at": BEFORE}, "RunFailed"),
    ],
)
def test_a_failed_intent_is_tried_again_after_its_back_off_but_not_for_ever(
    overrides: dict[str, Any], expected: object
) -> None:
    decision = _step(_surge(**overrides))
    assert (decision.effects[0] if decision.effects else decision.wait and decision.wait.reason) == expected


@pytest.mark.parametrize(
    ("kind", "since_s", "starts"),
    [("surge", 29, False), ("surge", 30, True), ("bind", 29, False), ("retire", 2, True), ("release", 2, True)],
)
def test_what_a_failed_run_may_have_made_has_time_to_be_listed_before_it_is_tried_again(
    kind: str, since_s: float, starts: bool
) -> None:
    """A run that only deletes makes nothing, and is tried again after its back-off."""
    failed = _intent(kind, SURGING.key, failures=1, tries=1, failed_at=NOW - timedelta(seconds=since_s), error="killed")
    decision = _step(a_view(SURGING, intents=failed), unlisted_s={"local": 30.0})
    assert decision.effects == ((StartRun("i", "i.1"),) if starts else ())
    assert starts or "again in 1 s: what it may have made is not listed" in decision.sentence


def test_a_person_who_resumes_does_not_have_it_made_twice() -> None:
    resumed = _surge(failures=0, tries=7, failed_at=NOW - timedelta(seconds=5))
    assert _step(resumed, unlisted_s={"local": 30.0}).effects == ()


def test_what_only_a_person_can_mend_names_the_command() -> None:
    refused = _step(_surge(failures=1, failed_at=BEFORE, retryable=False)).wait
    spent = _step(_surge(failures=MAX_RUN_FAILURES, failed_at=BEFORE)).wait
    assert refused is not None
    assert spent is not None
    assert refused.next_command == spent.next_command == "kedge resume orders"


@pytest.mark.parametrize(
    ("error", "listed_s_ago", "is_silent", "goes_on"),
    [
        ("AuthFailed: ExpiredToken", 5, False, True),
        ("AuthFailed: ExpiredToken", 600, False, False),
        ("AuthFailed: ExpiredToken", 5, True, False),
        ("UnsafeChange: it would replace", 5, False, False),
    ],
    ids=["listed since", "listed before", "silent", "refused for something else"],
)
def test_refused_credentials_are_tried_again_once_their_place_is_listed(
    error: str, listed_s_ago: int, is_silent: bool, goes_on: bool
) -> None:
    view = _surge(failures=1, tries=1, failed_at=NOW - timedelta(seconds=20), error=error, retryable=False)
    inventory = an_inventory(a_view(), at=NOW - timedelta(seconds=listed_s_ago))
    silent = {str(place_of_intent(view, view.intents["i"])): AuthFailed("of another account")} if is_silent else {}
    decision = _step(view, inventory=replace(inventory, silent=silent))
    assert bool(decision.effects) is goes_on
    if not goes_on:
        assert decision.wait is not None
        assert decision.wait.reason == "RunRefused"


# --- not permitted ----------------------------------------------------------------------------------------------------

NOT_PERMITTED = "NotPermitted: ec2:RunInstances is not allowed: no policy allows it (UnauthorizedOperation)"


def _refused(refusals: int, since_s: float) -> ClusterView:
    failed_at = NOW - timedelta(seconds=since_s)
    return _surge(refusals=refusals, tries=refusals, failed_at=failed_at, error=NOT_PERMITTED, retryable=False)


def _let_in_since(view: ClusterView, since_s: float) -> InventorySeen:
    place = str(place_of_intent(view, view.intents["i"]))
    return replace(an_inventory(a_view()), let_in_since={place: NOW - timedelta(seconds=since_s)})


def test_what_is_not_permitted_is_told_at_once_with_the_place_what_is_lacking_and_what_to_do() -> None:
    decision = _step(_refused(1, 1))
    assert decision.wait is not None
    assert (decision.effects, decision.wait.reason, decision.wait.patience_s) == ((), "PermissionMissing", 0)
    assert decision.wait.next_command == "kedge resume orders"
    for words in ("in local/default/local-1: ec2:RunInstances is not allowed", "docs/clouds/policies", "try in 5 min"):
        assert words in decision.sentence


@pytest.mark.parametrize(
    ("refusals", "pause_s"), [(1, 300), (2, 600), (3, 1200), (4, 2400), (5, 3600), (6, 3600), (600, 3600)]
)
def test_what_is_not_permitted_is_tried_again_seldom_and_for_as_long_as_it_takes(refusals: int, pause_s: int) -> None:
    """No number of tries is the last, and none comes soon."""
    assert _step(_refused(refusals, pause_s - 1)).effects == ()
    assert _step(_refused(refusals, pause_s)).effects == (StartRun("i", f"i.{refusals}"),)


@pytest.mark.parametrize(("let_in_s_ago", "tried"), [(5, True), (600, False)])
def test_a_place_that_lets_us_in_only_since_then_is_tried_at_once(let_in_s_ago: int, tried: bool) -> None:
    """Its listing was refused as well, or the server was started anew, with other credentials perhaps."""
    view = _refused(3, 60)
    assert bool(_step(view, inventory=_let_in_since(view, let_in_s_ago)).effects) is tried


def test_a_lack_of_permission_leaves_the_tries_of_other_failures_alone() -> None:
    view = _surge(failures=MAX_RUN_FAILURES - 1, tries=9)
    for _ in range(10):
        view = after(view, facts.RunFailed("i", "NotPermitted", "no", False), NOW)
    intent = view.intents["i"]
    assert (intent.failures, intent.refusals, intent.tries) == (MAX_RUN_FAILURES - 1, 10, 19)
    view = after(view, facts.RunFailed("i", "CloudUnavailable", "500", True), NOW)
    assert (view.intents["i"].failures, view.intents["i"].refusals) == (MAX_RUN_FAILURES, 0)


def test_a_person_who_resumes_has_it_tried_at_once() -> None:
    view = after(_refused(4, 10), facts.ClusterResumed("the role may make VMs"), NOW)
    assert _step(view).effects == (StartRun("i", "i.4"),)


def test_vms_made_after_tries_that_failed_for_long_have_their_whole_time_to_run() -> None:
    """The deadline counted from when they were asked for: after an hour without a permission they were given up in the
    second they were made."""
    view = a_view(
        SURGING, intents=_intent("surge", SURGING.key, requested_at=NOW - timedelta(hours=1), failed_at=BEFORE)
    )
    pending = an_inventory(a_view(), at=NOW)
    decision = _step(view, SUCCEEDED, inventory=pending)
    assert decision.wait is not None
    assert decision.wait.reason == "VmsBoot"


# --- confirmed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "inventory",
    [
        None,
        an_inventory(a_view(), at=NOW - timedelta(seconds=31)),
        an_inventory(a_view(), at=NOW - timedelta(seconds=5)),
    ],
    ids=["unknown", "stale", "not newer than the run"],
)
@pytest.mark.parametrize("kind", ["surge", "release", "bind", "retire", "destroy"])
def test_no_run_is_an_outcome_before_a_newer_inventory_says_so(kind: str, inventory: Any) -> None:
    view = a_view(OLD, intents=_intent(kind, OLD.key))
    decision = _step(view, SUCCEEDED, inventory=inventory)
    assert (decision.events, decision.effects) == ((), ())
    assert decision.wait is not None
    assert decision.wait.reason == "InventoryUnknown"


def _with(view: ClusterView, **states: Any) -> Any:
    """The inventory with the surging VM in it."""
    shown = a_cloud_instance(SURGING, **{"intent_id": "i", **states})
    return an_inventory(view, instances={**an_inventory(view).instances, SURGING.key: shown})


def test_a_surge_is_done_when_its_vms_run() -> None:
    view = _surge()
    decision = _step(view, SUCCEEDED, inventory=_with(view))
    launched = facts.LaunchedInstance(SURGING.key, f"vm-{SURGING.key}", f"address-of-{SURGING.key}")
    assert decision.events == (facts.SurgeCompleted("i", (launched,), {}),)


@pytest.mark.parametrize(
    "states", [{"state": InstanceState.PENDING}, {"address": None}, {"intent_id": "somebody else's"}]
)
def test_a_vm_that_does_not_run_under_the_intents_tag_is_waited_for(states: dict[str, Any]) -> None:
    view = _surge(requested_at=NOW - timedelta(seconds=10))
    decision = _step(view, SUCCEEDED, inventory=_with(view, **states))
    assert decision.wait is not None
    assert decision.wait.reason == "VmsBoot"


def test_a_vm_that_does_not_boot_in_time_has_failed_to_join() -> None:
    view = _surge(requested_at=NOW - timedelta(seconds=121))
    decision = _step(view, SUCCEEDED, inventory=_with(view, state=InstanceState.PENDING))
    assert [type(e) for e in decision.events] == [facts.SurgeCompleted, facts.JoinFailed]


def test_a_vm_that_died_on_its_way_is_lost_and_has_failed_to_join() -> None:
    view = _surge()
    decision = _step(view, SUCCEEDED, inventory=an_inventory(view, gone={SURGING.key}))
    assert [type(e) for e in decision.events] == [facts.SurgeCompleted, facts.InstanceLost, facts.JoinFailed]


def test_a_release_is_done_when_nothing_is_attached_any_more() -> None:
    old = an_instance("controllers-a-0", 1, Phase.FENCED)
    view = a_view(old, intents=_intent("release", old.key))
    held = _step(view, SUCCEEDED)
    assert held.wait is not None
    assert held.wait.reason == "VolumeAttached"
    free = _step(view, SUCCEEDED, inventory=an_inventory(view, volumes={}))
    assert free.events == (facts.ReleaseCompleted("i"),)


def test_a_dead_vm_holds_nothing_whatever_the_record_of_its_disks_says() -> None:
    """Its release deletes nothing, so a cloud that keeps the old attachment on record would be waited for for ever."""
    old = an_instance("controllers-a-0", 1, Phase.FENCED, lost_at=BEFORE)
    view = a_view(old, intents=_intent("release", old.key))
    recorded = an_inventory(view).volumes
    assert old.key in {v.attached_to for v in recorded.values()}
    decision = _step(view, SUCCEEDED, inventory=an_inventory(view, gone={old.key}, volumes=recorded))
    assert decision.events == (facts.ReleaseCompleted("i"),)


@pytest.mark.parametrize("job", [None, SUCCEEDED])
def test_a_bind_whose_vm_died_is_over_and_what_it_was_to_hold_passes_on(job: JobSeen | None) -> None:
    """Its run would want the dead VM back, and be refused for ever; one that had just succeeded has nothing to show."""
    successor = an_instance("brokers-a-0", 2, Phase.FAILED, bound=False, lost_at=BEFORE)
    refused = _intent("bind", successor.key, failures=1, failed_at=BEFORE, error="UnsafeChange", retryable=False)
    view = a_view(successor, an_instance("brokers-a-0", 1, Phase.RELEASED, bound=False), intents=refused)
    if job is not None:
        view = replace(view, intents=_intent("bind", successor.key))
    assert _step(view, job, inventory=an_inventory(view, gone={successor.key})).events == (facts.BindCompleted("i"),)


def test_a_bind_is_done_when_every_volume_is_there() -> None:
    successor = an_instance("controllers-a-0", 2, Phase.LAUNCHED)
    view = a_view(
        successor,
        an_instance("controllers-a-0", 1, Phase.RELEASED, bound=False),
        intents=_intent("bind", successor.key),
    )
    away = _step(view, SUCCEEDED)
    assert away.wait is not None
    assert away.wait.reason == "VolumeDetached"
    bound = a_view(an_instance("controllers-a-0", 2, Phase.LAUNCHED, bound=True))
    there = {v.key: v for v in an_inventory(bound).volumes.values() if v.attached_to == successor.key}
    assert _step(view, SUCCEEDED, inventory=an_inventory(view, volumes=there)).events == (facts.BindCompleted("i"),)


def test_a_retire_is_done_when_the_cloud_answers_gone() -> None:
    view = a_view(OLD, an_instance("brokers-a-0", 2), intents=_intent("retire", OLD.key))
    decision = _step(view, SUCCEEDED, inventory=an_inventory(view, gone={OLD.key}))
    assert decision.events == (
        facts.RetireCompleted("i"),
        facts.ReplacementCompleted("brokers-a-0", OLD.key, "brokers-a-0.g2"),
    )


def test_a_retired_vm_that_is_still_listed_is_terminated_by_the_clouds_own_call() -> None:
    view = a_view(OLD, intents=_intent("retire", OLD.key))
    decision = _step(view, SUCCEEDED)
    assert decision.effects == (TerminateInstance(OLD.key, f"vm-{OLD.key}"),)
    assert not decision.events


def test_a_retired_vm_that_is_only_missing_from_the_list_is_not_proved_gone() -> None:
    view = a_view(OLD, intents=_intent("retire", OLD.key))
    listed = {k: v for k, v in an_inventory(view).instances.items() if k != OLD.key}
    decision = _step(view, SUCCEEDED, inventory=an_inventory(view, instances=listed))
    assert (decision.events, decision.effects) == ((), ())
    assert decision.wait is not None
    assert decision.wait.reason == "InventoryUnknown"


def test_a_vm_that_never_ran_needs_no_proof() -> None:
    never = an_instance("brokers-a-0", 2, Phase.RETIRING, cloud_id="")
    view = a_view(never, intents=_intent("retire", never.key))
    listed = {k: v for k, v in an_inventory(view).instances.items() if k != never.key}
    decision = _step(view, SUCCEEDED, inventory=an_inventory(view, instances=listed))
    assert decision.events == (facts.RetireCompleted("i"),)


def test_a_destroy_is_done_when_no_vm_is_left() -> None:
    view = a_view(intents=_intent("destroy"))
    left = _step(view, SUCCEEDED)
    assert len(left.effects) == 6
    assert _step(view, SUCCEEDED, inventory=an_inventory(view, instances={})).events == (facts.ClusterDeleted(False),)


def test_of_twins_the_vm_in_terraforms_state_is_the_instance() -> None:
    ours = replace(a_cloud_instance(SURGING), intent_id="i", id="z-ours")
    twin = replace(ours, id="a-twin")
    told = replace(SUCCEEDED, result={"instances": {SURGING.key: "z-ours"}})
    decision = _step(
        _surge(), told, inventory=an_inventory(_surge(), instances={SURGING.key: twin}, twins={SURGING.key: (ours,)})
    )
    (completed,) = [e for e in decision.events if isinstance(e, facts.SurgeCompleted)]
    assert [i.cloud_id for i in completed.instances] == ["z-ours"]


def test_a_retire_takes_the_twins_of_its_node_with_it() -> None:
    twin = replace(a_cloud_instance(OLD), id="a-twin")
    view = a_view(OLD, intents=_intent("retire", OLD.key))
    seen = an_inventory(view, gone=(OLD.key,), twins={OLD.key: (twin,)})
    assert _step(view, SUCCEEDED, inventory=seen).effects == (TerminateInstance(OLD.key, "a-twin"),)


def test_a_destroy_leaves_no_twin() -> None:
    twin = replace(a_cloud_instance(OLD), id="a-twin")
    view = a_view(OLD, intents=_intent("destroy", OLD.key))
    seen = an_inventory(view, instances={}, twins={OLD.key: (twin,)})
    assert _step(view, SUCCEEDED, inventory=seen).effects == (TerminateInstance(OLD.key, "a-twin"),)


def test_quota_that_is_used_up_stops_at_once_and_waits_for_a_person() -> None:
    used_up = {"failures": 1, "tries": 1, "failed_at": NOW, "retryable": False, "error": "VcpuLimitExceeded"}
    decision = _step(_surge(**used_up))
    assert decision.wait is not None
    assert (decision.effects, decision.wait.reason, decision.wait.patience_s) == ((), "RunRefused", 0)
    assert "VcpuLimitExceeded" in decision.sentence
