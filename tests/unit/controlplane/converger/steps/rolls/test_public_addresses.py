"""A pool that asks for public addresses: new VMs that have one, remembered for life, and rendered for nobody else."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import PublicView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.server.rebuild.instances import was_made_public
from events import facts
from planner.rollout.diff import Change
from providers.base import Place
from providers.variables import module_variables
from tests.builders import BEFORE, a_document, a_situation, a_view, an_instance
from tests.changed_view import changed_view
from tests.unit.controlplane.cluster.test_overlay_keys import after
from tests.unit.controlplane.server.rebuild.rebuild_evidence import a_vm


def asking() -> ClusterView:
    before = a_document(max_unavailable=1)
    pools = tuple(p.model_copy(update={"public_address": p.is_broker}) for p in before.spec.pools)
    document = before.model_copy(update={"spec": before.spec.model_copy(update={"pools": pools})})
    return changed_view(a_view(document=document), generation=2, recycling=2)


def test_brokers_get_new_vms_that_are_remembered_as_public() -> None:
    changes = {c.node: c for c in pending_changes(asking())}
    assert {n for n, c in changes.items() if c.change is Change.REPLACE} == {f"brokers-{z}-0" for z in "abc"}
    (asked,) = decide(a_situation(asking())).events
    assert isinstance(asked, facts.SurgeRequested)
    assert asked.public == ("brokers-a-0.g2",)
    view = after(asking(), asked)
    assert view.instances["brokers-a-0.g2"].public == PublicView(asked=True)
    assert not view.instances["brokers-a-0.g1"].public.asked


def test_who_has_one_and_is_to_have_one_is_kept() -> None:
    view = asking()
    there = {k: replace(i, public=PublicView(asked=i.is_broker)) for k, i in view.instances.items()}
    reasons = {c.node: c.reason for c in pending_changes(replace(view, instances=there))}
    assert "public address" not in " ".join(reasons.values())


def test_what_is_asked_for_is_rendered_and_for_others_not_a_word_more() -> None:
    new = replace(an_instance("brokers-a-0", 2, Phase.REQUESTED), public=PublicView(asked=True))
    run = terraform_run(
        a_view(new),
        IntentView("i", "surge", (new.key,), BEFORE),
        installation_id="test",
        boot_data=lambda i: "boot",
        gone=frozenset(),
    )
    instances: Any = module_variables(run.resources, cloud={})["instances"]
    assert instances[new.key]["public_address"] is True
    assert "public_address" not in instances["brokers-b-0.g1"]


@pytest.mark.parametrize(("cloud", "public"), [("aws", True), ("digitalocean", False)])
def test_a_rebuild_knows_it_by_the_address_where_not_every_vm_has_one(cloud: str, public: bool) -> None:
    view = a_view()
    vm = a_vm(view, view.instances["brokers-a-0.g1"], public_address="203.0.113.7")
    assert was_made_public(replace(vm, place=Place(cloud, "r1")), None) is public
    assert not was_made_public(a_vm(view, view.instances["brokers-a-0.g1"]), None)
