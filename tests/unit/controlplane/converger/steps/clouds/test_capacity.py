"""No capacity: another machine of the pool's list, same zone, told in a condition. Unknown networks are no 0."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.bandwidth import ASSUMED_BYTES_PER_S, nic_bytes_per_s, usable_bytes_per_s
from controlplane.cluster.fold import evolve
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.planner_state import catalogue_capacity
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.conditions.changes import FALLBACK, TWINS, condition_changes
from controlplane.converger.questions.clouds.machine_choices import fallen_back
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.observation import CloudsSeen
from controlplane.converger.steps.clouds.intents import intent_step
from controlplane.converger.tick.act import drain_request
from events import facts
from events.codec import encode
from events.envelope import Recorded
from events.spec.model import KafkaClusterDocument
from tests.builders import (
    BEFORE,
    NOW,
    a_cloud_instance,
    a_document,
    a_partition,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
    an_inventory,
)

MIB = 1024 * 1024
NEW = replace(an_instance("brokers-a-0", 2, Phase.REQUESTED), cloud_id="", address="")
FAILED_AT = NOW - timedelta(seconds=1)


def _document(*alternatives: str, **policy: Any) -> KafkaClusterDocument:
    document = a_document()
    pools = tuple(
        p.model_copy(update={"alternatives": alternatives}) if p.is_broker else p for p in document.spec.pools
    )
    rollout = document.spec.rollout.model_copy(update=policy)
    return document.model_copy(update={"spec": document.spec.model_copy(update={"pools": pools, "rollout": rollout})})


def _view(*alternatives: str, error: str = "NoCapacity: none of it left", **intent: Any) -> ClusterView:
    values = {"failures": 1, "tries": 1, "failed_at": FAILED_AT, "error": error, **intent}
    opened = IntentView("i", "surge", (NEW.key,), BEFORE, **values)
    return a_view(NEW, intents={"i": opened}, document=_document(*alternatives))


def _step(view: ClusterView, **inventory: Any) -> Decision:
    decision = intent_step(a_situation(view, inventory=an_inventory(view, **inventory)))
    assert decision is not None
    return decision


def _after(view: ClusterView, *told: object) -> ClusterView:
    for number, fact in enumerate(told):
        new = encode(fact, f"e{number}")
        view = evolve(
            view,
            Recorded(1, "s", view.version + 1, "e", new.type, new.schema, new.data, "p", None, None, 1, NOW),
        )
        assert not view.history.unreadable
    return view


def test_the_next_machine_of_the_list_is_tried_where_there_is_no_capacity() -> None:
    decision = _step(_view("medium", "large"))
    assert decision.events == (facts.MachineSubstituted("i", {NEW.key: "medium"}, "NoCapacity: none of it left"),)


def test_each_failure_moves_on_by_one_and_the_list_begins_again() -> None:
    view = _view("medium")
    view = _after(view, *_step(view).events)
    assert view.instances[NEW.key].planned.shape == "medium"
    assert view.instances[NEW.key].planned.rack == NEW.planned.rack
    assert not isinstance(_step(view).events, facts.MachineSubstituted)
    assert _step(view).events == (), "one machine a failure"
    view = _after(view, facts.RunFailed("i", "NoCapacity", "none", True))
    view = replace(view, intents={"i": replace(view.intents["i"], failed_at=FAILED_AT)})
    assert _step(view).events == (facts.MachineSubstituted("i", {NEW.key: "small"}, "NoCapacity: none"),)


def test_without_alternatives_it_is_tried_again_later() -> None:
    decision = _step(_view())
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "RunFailed")


@pytest.mark.parametrize("error", ["RateLimited: slow down", "TerraformFailed: NoCapacity is a word in it"])
def test_other_errors_change_no_machine(error: str) -> None:
    assert _step(_view("medium", error=error)).events == ()


def test_a_vm_that_was_made_stays_what_it_is() -> None:
    view = _view("medium")
    made = replace(a_cloud_instance(NEW), intent_id="i")
    assert _step(view, instances={NEW.key: made}).events == ()


def test_nothing_is_substituted_on_an_inventory_older_than_the_failure() -> None:
    decision = _step(_view("medium"), at=FAILED_AT - timedelta(seconds=1))
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "InventoryUnknown")


@pytest.mark.parametrize("late_s", [0.0, 30.0])
def test_nothing_is_substituted_on_a_listing_that_may_lack_what_the_failed_try_made(late_s: float) -> None:
    """One VM of several found no capacity: those that were made are not in the listings of some clouds at once."""
    view = _view("medium")
    situation = a_situation(view, inventory=an_inventory(view, at=NOW))
    decision = intent_step(
        replace(situation, seen=replace(situation.seen, clouds=CloudsSeen(unlisted_s={"local": late_s})))
    )
    assert decision is not None
    assert bool(decision.events) is (late_s == 0.0)
    assert late_s == 0.0 or (decision.wait is not None and decision.wait.reason == "InventoryUnknown")


def test_quota_changes_no_machine_and_waits_for_a_person() -> None:
    decision = _step(_view("medium", error="QuotaExceeded: 64 vCPUs", retryable=False))
    assert decision.wait is not None
    assert (decision.events, decision.wait.reason, decision.wait.patience_s) == ((), "RunRefused", 0)


def test_a_machine_that_was_not_the_first_choice_is_told_in_a_condition() -> None:
    other = an_instance("brokers-b-0")
    other = replace(other, planned=replace(other.planned, shape="medium"))
    view = a_view(other, document=_document("medium"))
    assert fallen_back(view) == {other.key: "medium"}
    (told,) = [c for c in condition_changes(a_situation(view), Decision("at rest")) if c.type == FALLBACK]
    assert (told.status, told.reason) == (True, "NoCapacity")
    assert f"{other.key} is medium" in told.message
    assert fallen_back(a_view(other)) == {}, "a machine of an older spec is not a fallback"


def test_twins_are_told_in_a_condition_and_never_terminated_before_their_node() -> None:
    view = a_view()
    twin = replace(a_cloud_instance(an_instance("brokers-a-0")), id="i-twin")
    situation = a_situation(view, inventory=an_inventory(view, twins={"brokers-a-0.g1": (twin,)}))
    (told,) = [c for c in condition_changes(situation, Decision("at rest")) if c.type == TWINS]
    assert (told.status, told.reason) == (True, "TwinFound")
    assert "i-twin as brokers-a-0.g1" in told.message
    assert "terminated with theirs" in told.message


# --- networks nobody has a figure of ---------------------------------------------------------------------------------


def test_an_unknown_network_is_unknown_and_not_zero() -> None:
    assert nic_bytes_per_s("local", "small") == 100 * MIB
    assert nic_bytes_per_s("local", "x9.metal") is None
    assert usable_bytes_per_s("local", "x9.metal", None) == ASSUMED_BYTES_PER_S
    assert usable_bytes_per_s("local", "x9.metal", 30) == 40 * MIB, "30 MiB/s are left after the clients' quarter"


def _strange(**policy: Any) -> ClusterView:
    view = a_view(document=_document(**policy))
    strange = {k: replace(i, planned=replace(i.planned, shape="x9.metal")) for k, i in view.instances.items()}
    return replace(view, instances=strange)


@pytest.mark.parametrize(("throttle", "expected"), [(None, ASSUMED_BYTES_PER_S), (30, 40 * MIB)])
def test_a_drain_over_unknown_networks_says_so_and_uses_the_throttle_of_the_spec(
    throttle: int | None, expected: int
) -> None:
    drain = DrainView("d", ("brokers-a-0.g1",), (1000,), {}, (1001, 1002), 1, NOW)
    request = drain_request(_strange(throttle_mib_per_s=throttle), drain, a_snapshot(a_partition()))
    assert (request.bandwidth.bytes_per_s, request.bandwidth.source) == (expected, "assumed")


def test_a_drain_over_known_networks_goes_by_the_catalogue() -> None:
    drain = DrainView("d", ("brokers-a-0.g1",), (1000,), {}, (1001, 1002), 1, NOW)
    request = drain_request(a_view(), drain, a_snapshot(a_partition()))
    assert (request.bandwidth.bytes_per_s, request.bandwidth.source) == (100 * MIB, "catalogue")


def test_a_state_file_has_the_throttle_where_the_network_is_unknown() -> None:
    found = catalogue_capacity(_strange(throttle_mib_per_s=30)).by_broker.values()
    assert {c.ingress_bytes_per_s for c in found} == {30 * MIB}
