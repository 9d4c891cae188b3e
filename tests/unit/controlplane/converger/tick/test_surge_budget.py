"""The surge budget of an account: what counts, who gets what is free, and in which order."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.converger.situation.decision import SurgeAsk
from controlplane.converger.situation.situation import Allowance, SurgeShare
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.surge_budget import SurgeBudget, accounts_of, surge_vms
from events import facts
from tests.builders import BEFORE, NOW, a_document, a_situation, a_view, an_instance
from tests.changed_view import changed_view

NEWER = a_document(version="4.2.0")
LOST = an_instance("brokers-c-0", lost_at=NOW - timedelta(seconds=301))


def _cluster(name: str, *instances: Any, waits_since_s: float = 0.0, **overrides: Any) -> ClusterView:
    """A cluster that rolls; it has waited for so long when it asks."""
    since = NOW - timedelta(seconds=waits_since_s)
    known = {"generation": 2, "recycling": 2, "document": NEWER, "progressed_at": since}
    return a_view(*instances, **{**known, "uid": name, "name": name, **overrides})


def _surging(name: str, **overrides: Any) -> ClusterView:
    """With one VM beyond one per node."""
    return _cluster(name, an_instance("brokers-a-0", 2, Phase.LAUNCHED), **overrides)


def _elsewhere(view: ClusterView) -> ClusterView:
    assert view.document is not None
    pools = tuple(
        p.model_copy(update={"place": p.place.model_copy(update={"account": "other"})})
        for p in view.document.spec.pools
    )
    spec = view.document.spec.model_copy(update={"pools": tuple(pools)})
    return replace(view, document=view.document.model_copy(update={"spec": spec}))


UPGRADE, REPAIR = SurgeAsk(1, mends=False), SurgeAsk(1, mends=True)

# --- what counts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instances", "vms"),
    [
        ((), 0),
        ((an_instance("brokers-a-0", 2, Phase.REQUESTED),), 1),
        ((an_instance("brokers-a-0", 1, Phase.RETIRING), an_instance("brokers-a-0", 2)), 1),
        ((an_instance("brokers-a-0", 1, Phase.RETIRED), an_instance("brokers-a-0", 2)), 0),
        ((an_instance("brokers-a-0", 2, Phase.FAILED), an_instance("brokers-a-0", 3, Phase.REQUESTED)), 2),
        ((an_instance("controllers-a-0", 2, Phase.LAUNCHED),), 1),
        ((an_instance("brokers-a-1", 1, Phase.REQUESTED), an_instance("brokers-b-1", 1, Phase.LAUNCHED)), 0),
    ],
    ids=["at rest", "asked for", "until the old one is gone", "gone", "tries", "a controller", "new nodes are none"],
)
def test_a_surge_vm_is_one_beyond_the_first_of_its_node(instances: Any, vms: int) -> None:
    assert surge_vms(a_view(*instances)) == vms


def test_an_account_is_a_cloud_and_a_profile() -> None:
    assert accounts_of(a_view()) == ("local/default",)
    assert accounts_of(_elsewhere(a_view())) == ("local/other",)
    assert accounts_of(empty_view("c0ffee")) == ("",)


def test_what_others_hold_is_not_there() -> None:
    budget = SurgeBudget(2)
    budget.note(_surging("a"))
    assert budget.share(_cluster("z"), mends=False) == SurgeShare(1)
    budget.note(_surging("b"))
    spent = budget.share(_cluster("z"), mends=False)
    assert spent.vms == 0
    assert spent.holders == ("a", "b")
    assert spent.reason == "2 of 2 surge VMs of account local/default are in use (a 1, b 1)"


def test_each_account_has_a_budget_of_its_own() -> None:
    budget = SurgeBudget(1)
    budget.note(_surging("a"))
    assert budget.share(_elsewhere(_cluster("z")), mends=False).vms == 1
    assert budget.share(_cluster("z"), mends=False).vms == 0


def test_what_is_given_back_is_there_again() -> None:
    budget = SurgeBudget(1)
    budget.note(_surging("a"))
    budget.note(_cluster("a"))
    assert budget.share(_cluster("z"), mends=False).vms == 1
    budget.note(_surging("a"))
    budget.keep_only(["z"])
    assert budget.share(_cluster("z"), mends=False).vms == 1, "a deleted cluster holds nothing"


# --- who is next --------------------------------------------------------------------------------------------------


def test_who_waits_longest_is_next() -> None:
    budget = SurgeBudget(1)
    old, young = _cluster("z", waits_since_s=100), _cluster("a", waits_since_s=10)
    budget.hear(young, UPGRADE)
    budget.hear(old, UPGRADE)
    assert budget.share(old, mends=False).vms == 1
    behind = budget.share(young, mends=False)
    assert behind.vms == 0
    assert behind.reason.endswith("; z waits longer")


def test_a_repair_goes_before_every_upgrade() -> None:
    budget = SurgeBudget(1)
    upgrade, repair = _cluster("a", waits_since_s=1000), _cluster("z", LOST, waits_since_s=1)
    budget.hear(upgrade, UPGRADE)
    budget.hear(repair, REPAIR)
    assert budget.share(repair, mends=True).vms == 1
    assert budget.share(upgrade, mends=False).vms == 0


def test_a_newcomer_gets_only_what_those_before_it_leave() -> None:
    budget = SurgeBudget(3)
    budget.hear(_cluster("a", waits_since_s=100), SurgeAsk(2, mends=False))
    assert budget.share(_cluster("z"), mends=False).vms == 1


def test_a_place_in_the_queue_outlasts_the_beginning_of_the_roll() -> None:
    budget = SurgeBudget(1)
    first, second = _cluster("a", waits_since_s=100, recycling=0), _cluster("z", waits_since_s=50)
    budget.hear(first, UPGRADE)
    budget.hear(second, UPGRADE)
    begun = changed_view(first, recycling=2, progressed_at=NOW)
    assert budget.share(begun, mends=False).vms == 1


def test_who_asks_no_more_keeps_nothing_from_the_others() -> None:
    budget = SurgeBudget(1)
    held_up, next_one = _cluster("a", waits_since_s=100), _cluster("z", waits_since_s=10)
    budget.hear(held_up, UPGRADE)
    assert budget.share(next_one, mends=False).vms == 0
    budget.hear(held_up, None)
    assert budget.share(next_one, mends=False).vms == 1
    budget.hear(held_up, UPGRADE)
    budget.forget("a")
    assert budget.share(next_one, mends=False).vms == 1


def test_a_repair_does_not_wait_for_the_surge_vms_of_its_own_cluster() -> None:
    """They may wait for it: a drain is put off while a broker is lost."""
    budget = SurgeBudget(1)
    budget.note(_surging("a"))
    budget.hear(_cluster("z", LOST, waits_since_s=1000), REPAIR)
    assert budget.share(_surging("a"), mends=True).vms == 1
    assert budget.share(_surging("a"), mends=False).vms == 0
    assert budget.share(_cluster("z", LOST), mends=True).vms == 0


def test_of_clusters_that_all_want_nobody_is_passed_over() -> None:
    """Five share two VMs, and each wants the next one at once: everybody is served in any three turns."""
    budget = SurgeBudget(2)
    clusters = {n: _cluster(n, waits_since_s=100 - k) for k, n in enumerate("abcde")}
    turns: list[list[str]] = []
    for turn in range(25):
        surging = []
        for name, view in clusters.items():
            granted = budget.share(view, mends=False).vms
            budget.hear(view, None if granted else UPGRADE)
            if granted:
                surging.append(name)
                budget.note(_surging(name))
        assert len(surging) == 2
        turns.append(surging)
        for name in surging:
            clusters[name] = changed_view(clusters[name], progressed_at=NOW + timedelta(seconds=turn))
            budget.note(clusters[name])
    for first, second, third in zip(turns, turns[1:], turns[2:], strict=False):
        assert {*first, *second, *third} == set(clusters)


# --- what the converger makes of it -----------------------------------------------------------------------------------


def _step(view: ClusterView, **shares: Any) -> Any:
    return replacement_step(a_situation(view, allowance=Allowance(**shares)))


SPENT = SurgeShare(0, "1 of 1 surge VMs of account local/default are in use (billing 1)", ("billing",))


def test_a_spent_budget_is_waited_for_with_a_condition_that_names_who_has_it() -> None:
    decision = _step(_cluster("orders"), upgrade=SPENT)
    assert not decision.events
    assert decision.sentence == f"waiting to surge brokers-a-0: {SPENT.reason}"
    assert (decision.wait.reason, decision.wait.next_command) == ("SurgeBudget", "kedge describe billing")
    assert decision.wait.ask == UPGRADE


def test_a_roll_does_not_even_begin_while_the_budget_is_spent() -> None:
    assert not _step(_cluster("orders", recycling=0), upgrade=SPENT).events


def test_a_repair_is_held_by_its_own_share_and_asks_as_one() -> None:
    assert isinstance(_step(_cluster("orders", LOST), upgrade=SPENT).events[0], facts.SurgeRequested)
    held = _step(_cluster("orders", LOST), repair=SPENT)
    assert held.wait.ask == REPAIR
    assert held.sentence.startswith("waiting to repair brokers-c-0: ")


def test_a_group_is_cut_to_what_is_free() -> None:
    wide = a_document(version="4.2.0", brokers=6, surge=2)
    others = [an_instance(f"brokers-{z}-1") for z in "abc"]
    surge = _step(_cluster("orders", *others, document=wide)).events[0]
    assert [p.node for p in surge.instances] == ["brokers-a-0", "brokers-a-1"]
    surge = _step(_cluster("orders", *others, document=wide), upgrade=SurgeShare(1)).events[0]
    assert [p.node for p in surge.instances] == ["brokers-a-0"]


def test_new_nodes_need_no_budget() -> None:
    view = a_view(generation=2, recycling=2, document=a_document(brokers=6))
    assert isinstance(_step(view, upgrade=SPENT, repair=SPENT).events[0], facts.SurgeRequested)


def test_a_plan_is_told_what_the_brake_says_now() -> None:
    brake = FleetBrake(max_rolling=2, max_surge_per_account=1)
    wants = _cluster("wants", recycling=0, declared_at=BEFORE)
    brake.look_at([wants])
    assert brake.words(wants) == "0 of 2 clusters roll; 0 of 1 surge VMs of account local/default are in use"
    brake.note(_surging("a"))
    assert brake.words(wants) == "would wait: 1 of 1 surge VMs of account local/default are in use (a 1)"
    brake.note(_cluster("b"))
    assert brake.words(wants) == "would wait: 2 clusters are rolling (a, b), at most 2 may"
