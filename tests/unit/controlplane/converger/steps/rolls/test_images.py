"""Image revisions in the converger: what a VM is made from, what the brake counts, who is more urgent."""

from dataclasses import replace
from typing import Any

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.images import ImageView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.rolls.images import is_urgent, with_image
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.decision import Wait
from controlplane.converger.steps.rolls.finalisation import finalisation_step
from controlplane.converger.steps.rolls.images import image_left_step, image_step
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.fleet.images.offer import ImageOffer
from events import facts
from events.ids import ClusterUid
from planner.rollout.diff import Change
from providers.base import Place
from providers.made_from import MadeFrom
from tests.builders import BEFORE, NOW, a_document, a_planned, a_situation, a_view, an_instance
from tests.changed_view import changed_view

R3 = facts.PlannedImage("4.1.1-r3", {"any": "r3"})
CHOSEN = facts.ImageChosen(
    "4.1.1", 3, (facts.RegionImage("local", "local-1", "any", "r3"),), "", "", "critical", "CVE-2026-1"
)


def on(chosen: facts.ImageChosen = CHOSEN, **changes: Any) -> ImageView:
    return replace(ImageView(chosen, BEFORE), **changes)


def a_following(**changes: Any) -> ClusterView:
    return changed_view(a_view(), **{"converged": 1, "generation": 1, "recycling": 0, "image": on(), **changes})


def test_every_vm_of_another_image_is_outdated_and_says_why() -> None:
    view = a_following()
    changes = pending_changes(view)
    assert {c.change for c in changes} == {Change.REPLACE}
    assert changes[0].reason == f"{changes[0].node}: image of the settings -> 4.1.1-r3 (critical: CVE-2026-1)"
    assert has_work(view)


def test_a_cluster_that_was_given_no_image_has_nothing_to_do() -> None:
    view = a_following(image=None)
    assert {c.change for c in pending_changes(view)} == {Change.KEEP}
    assert not has_work(view)


def test_a_revision_of_another_kafka_version_counts_no_more() -> None:
    view = a_following(image=on(replace(CHOSEN, kafka_version="4.0.0")))
    assert {c.change for c in pending_changes(view)} == {Change.KEEP}
    assert not has_work(view)


def test_a_revision_without_an_image_there_rolls_nothing_for_ever() -> None:
    elsewhere = replace(CHOSEN, images=(facts.RegionImage("aws", "eu-west-1", "arm64", "ami-1"),))
    assert {c.change for c in pending_changes(a_following(image=on(elsewhere)))} == {Change.KEEP}


def test_an_offer_is_recorded_and_a_wait_is_the_last_thing_told() -> None:
    offered = replace(a_situation(a_view()), image=ImageOffer(CHOSEN))
    decision = image_step(offered)
    assert decision is not None
    assert decision.events == (CHOSEN,)
    waiting = replace(a_situation(a_view()), image=ImageOffer(reason="FleetOrder", waits="waits for stage"))
    assert image_step(waiting) is None
    told = image_left_step(waiting)
    assert told is not None
    assert (told.sentence, told.wait and told.wait.reason) == ("waits for stage", "ImageWaits")


def test_a_waiting_cluster_says_so_in_a_condition_once_and_is_not_blocked() -> None:
    view = changed_view(a_view(), converged=1, generation=1, recycling=0)
    waiting = replace(a_situation(view), image=ImageOffer(reason="FleetOrder", waits="waits for stage"))
    told = [e for e in decide(waiting).events if isinstance(e, facts.ConditionChanged)]
    assert ("ImageBehind", True, "FleetOrder") in [(c.type, c.status, c.reason) for c in told]
    assert not any(c.type == "Blocked" and c.status for c in told)


def test_a_vm_is_made_from_the_revision_of_its_place_and_keeps_it() -> None:
    here = Place("local", "local-1")
    planned = with_image(a_situation(a_following()), a_planned(), here)
    assert planned.image == R3
    assert with_image(a_situation(a_following(image=None)), a_planned(), here).image is None
    assert with_image(a_situation(a_following()), a_planned(), Place("aws", "eu-west-1")).image is None


def test_of_a_withdrawn_revision_a_repair_gets_what_was_there() -> None:
    old = an_instance(planned_image := "brokers-a-0")
    before = replace(old, planned=replace(old.planned, image=facts.PlannedImage("4.1.1-r2", {"any": "r2"})))
    view = a_following(instances={"brokers-a-0.g1": before})
    held = replace(a_situation(view), image=ImageOffer(reason="Withdrawn", waits="withdrawn", holds=True))
    made = with_image(held, a_planned(planned_image, 2), Place("local", "local-1"))
    assert made.image is not None
    assert made.image.revision == "4.1.1-r2"


OWN = ", distribution: {url: 'file:///srv/kafka.tgz', sha256: '" + "c" * 64 + "'}"


def test_a_vm_is_made_from_the_build_that_the_spec_names_on_whatever_image_there_is() -> None:
    place = Place("local", "local-1")
    view = replace(a_following(), document=a_document(config=OWN))
    on_revision = with_image(a_situation(view), a_planned(), place).image
    assert on_revision == facts.PlannedImage("4.1.1-r3", {"any": "r3"}, "file:///srv/kafka.tgz", "c" * 64)
    plain = with_image(a_situation(changed_view(view, image=None)), a_planned(), place).image
    assert plain == facts.PlannedImage("", {}, "file:///srv/kafka.tgz", "c" * 64)


def test_terraform_is_told_what_the_intent_fixed() -> None:
    planned = a_planned("brokers-a-0", 2, image=R3)
    new = replace(an_instance("brokers-a-0", 2), planned=planned)
    view = replace(a_view(), instances={**a_view().instances, planned.key: new})
    intent = IntentView("intent-1", "surge", (planned.key,), BEFORE)
    run = terraform_run(view, intent, installation_id="i", boot_data=lambda i: "", gone=frozenset())
    made = {i.key: i.made_from for i in run.resources.instances}
    assert made["brokers-a-0.g2"] == MadeFrom("4.1.1-r3", {"any": "r3"})
    assert made["brokers-b-0.g1"] is None


def test_a_revision_that_every_vm_has_already_is_reached_without_a_roll() -> None:
    there = {k: replace(i, planned=replace(i.planned, image=R3)) for k, i in a_view().instances.items()}
    view = a_following(instances=there)
    assert {c.change for c in pending_changes(view)} == {Change.KEEP}
    decision = finalisation_step(a_situation(view))
    assert decision is not None
    assert facts.RecycleCompleted(1) in decision.events


def test_only_a_critical_roll_of_a_spec_that_says_so_is_urgent_and_never_with_another_change() -> None:
    at_once = a_document(config=", image: {follow: security, critical: at-once}")
    assert is_urgent(a_following(document=at_once))
    assert not is_urgent(a_following())
    assert not is_urgent(a_following(document=at_once, image=on(replace(CHOSEN, security="high"))))
    assert not is_urgent(a_following(document=at_once, image=on(reached_at=NOW)))
    assert not is_urgent(a_following(document=at_once, generation=2))


def _named(name: str, **changes: Any) -> ClusterView:
    return replace(a_following(**changes), uid=ClusterUid(name), name=name)


def test_the_more_urgent_get_the_places_first() -> None:
    brake = FleetBrake(max_rolling=1)
    rolling = _named("a-rolls", recycling=1, image=None)
    worse, better = _named("c-critical"), _named("b-high", image=on(replace(CHOSEN, security="high")))
    brake.look_at([rolling, worse, better])
    assert not brake.allowance(worse).may_roll
    brake.hear(worse, Wait(WaitReason.FLEET_BRAKE))
    brake.look_at([changed_view(rolling, recycling=0, version=rolling.version + 1), worse, better])
    refused = brake.allowance(better)
    assert (refused.may_roll, "c-critical is more urgent" in refused.reason) == (False, True)
    assert brake.allowance(worse).may_roll
    brake.hear(worse, Wait(WaitReason.WINDOW))
    assert brake.allowance(better).may_roll, "who waits for its window keeps no place from anybody"
