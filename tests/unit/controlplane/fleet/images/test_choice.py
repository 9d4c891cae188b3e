"""Which revision a cluster is to be on: by its policy, its place, what it has, and who goes before it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.images import ImageView
from controlplane.fleet.images.choice import members, offer_for
from controlplane.fleet.images.offer import NOTHING, ImageOffer
from events import facts
from events.ids import ClusterUid
from tests.builders import BEFORE, NOW, a_document, a_planned, a_view, an_instance
from tests.changed_view import changed_view
from tests.unit.controlplane.fleet.images.catalogue_of import a_catalogue, flagged, published, withdrawn

PLAIN = a_catalogue(published(1), flagged(2, "high"), flagged(3, "low"), published(4))


def a_follower(policy: str = "{follow: security}", stage: str = "", **changes: Any) -> ClusterView:
    name = f"orders, labels: {{stage: {stage}}}" if stage else "orders"
    document = a_document(name=name, config=f", image: {policy}" if policy else "")
    return changed_view(a_view(), **{"document": document, "converged": 1, "generation": 1, **changes})


def on(number: int, *, reached: bool = True, version: str = "4.1.1") -> ImageView:
    chosen = facts.ImageChosen(version, number, published(number).images, "", "", "", "")
    return ImageView(chosen, BEFORE, BEFORE if reached else None)


def another(name: str, stage: str, **changes: Any) -> ClusterView:
    return replace(a_follower(stage=stage, **changes), uid=ClusterUid(name), name=name)


def offered(view: ClusterView, *others: ClusterView, catalogue: Any = PLAIN) -> ImageOffer:
    return offer_for(view, catalogue, lambda chosen, mine: members(chosen, mine, (view, *others), catalogue), NOW)


def number_of(offer: ImageOffer) -> int:
    return offer.chosen.number if offer.chosen else 0


@pytest.mark.parametrize(
    ("policy", "number"),
    [("", 0), ("{follow: none}", 0), ("{follow: security}", 3), ("{follow: all}", 4), ("{pin: 1}", 1)],
)
def test_the_policy_says_which_revisions_count(policy: str, number: int) -> None:
    assert number_of(offered(a_follower(policy))) == number


def test_urgency_is_that_of_the_worst_it_is_rid_of() -> None:
    from_nothing = offered(a_follower("{follow: all}")).chosen
    assert from_nothing is not None
    assert (from_nothing.number, from_nothing.security, from_nothing.reason) == (4, "high", "CVE-2")
    from_two = offered(a_follower("{follow: all}", image=on(2))).chosen
    assert from_two is not None
    assert from_two.security == "low"
    from_three = offered(a_follower("{follow: all}", image=on(3))).chosen
    assert from_three is not None
    assert from_three.security == ""


def test_nobody_goes_back_by_itself_and_a_pin_does() -> None:
    assert offered(a_follower(image=on(4))) is NOTHING
    assert number_of(offered(a_follower("{pin: 2}", image=on(4)))) == 2
    assert offered(a_follower("{pin: 2}", image=on(2))) is NOTHING


def test_a_pin_that_was_never_published_or_was_withdrawn_is_told() -> None:
    missing = offered(a_follower("{pin: 9}"))
    assert (missing.chosen, missing.reason) == (None, "NotPublished")
    assert "4.1.1-r9 is pinned and was never published" in missing.waits
    gone = offered(a_follower("{pin: 1}"), catalogue=a_catalogue(published(1), withdrawn(1)))
    assert (gone.chosen, gone.reason) == (None, "Withdrawn")


def test_a_revision_without_an_image_for_its_place_is_told_and_an_earlier_one_taken() -> None:
    elsewhere = flagged(5)
    elsewhere = replace(elsewhere, images=(facts.RegionImage("aws", "eu-west-1", "arm64", "ami-1"),))
    alone = offered(a_follower(), catalogue=a_catalogue(elsewhere))
    assert (alone.reason, alone.target) == ("NoImageHere", 5)
    assert "4.1.1-r5 has no image for local/local-1" in alone.waits
    assert number_of(offered(a_follower(), catalogue=a_catalogue(flagged(1), elsewhere))) == 1


def test_an_archive_for_plain_images_serves_every_cloud_but_local() -> None:
    archive = replace(flagged(1), images=(), url="https://mirror.example/kafka.tgz", sha256="0" * 64)
    assert offered(a_follower(), catalogue=a_catalogue(archive)).reason == "NoImageHere"
    yaml_on_aws = a_follower()
    assert yaml_on_aws.document is not None
    pools = tuple(
        p.model_copy(update={"place": p.place.model_copy(update={"cloud": "aws"})})
        for p in yaml_on_aws.document.spec.pools
    )
    spec = yaml_on_aws.document.spec.model_copy(update={"pools": pools})
    there = replace(yaml_on_aws, document=yaml_on_aws.document.model_copy(update={"spec": spec}), instances={})
    assert number_of(offered(there, catalogue=a_catalogue(archive))) == 1


def test_a_revision_of_another_kafka_version_is_none_of_its_business() -> None:
    assert offered(a_follower(), catalogue=a_catalogue(published(1, kafka_version="4.2.0"))) is NOTHING
    assert number_of(offered(a_follower(image=on(9, version="4.0.0")))) == 3


def test_what_has_begun_keeps_its_revision_until_that_is_withdrawn() -> None:
    made = a_planned(image=facts.PlannedImage("4.1.1-r2", {}))
    begun = a_follower(image=on(2, reached=False), instances={"brokers-a-0.g1": replace(an_instance(), planned=made)})
    assert offered(begun) is NOTHING
    history = (published(1), flagged(2), flagged(3), withdrawn(2))
    assert number_of(offered(begun, catalogue=a_catalogue(*history))) == 3
    held = offered(begun, catalogue=a_catalogue(flagged(2), withdrawn(2)))
    assert (held.chosen, held.holds, held.reason) == (None, True, "Withdrawn")


def test_what_was_reached_is_left_alone_though_it_is_withdrawn() -> None:
    assert offered(a_follower(image=on(2)), catalogue=a_catalogue(flagged(2), withdrawn(2))) is NOTHING


def test_an_unreadable_catalogue_chooses_nothing_and_says_so() -> None:
    offer = offered(a_follower(), catalogue=a_catalogue(published(1), published(1)))
    assert (offer.chosen, offer.reason) == (None, "CatalogueUnreadable")


def test_production_waits_for_staging_that_is_to_have_it_too() -> None:
    waiting = offered(a_follower(stage="production"), another("shop-stage", "staging"))
    assert (waiting.chosen, waiting.reason, waiting.target) == (None, "FleetOrder", 3)
    assert waiting.waits == "4.1.1-r3 (high) waits for shop-stage (staging), which has not begun"


def test_production_goes_on_once_staging_has_soaked() -> None:
    staging = another("shop-stage", "staging", image=on(3))
    assert staging.vms.image is not None
    assert number_of(offered(a_follower(stage="production"), staging)) == 3
    fresh = changed_view(staging, image=replace(staging.vms.image, reached_at=NOW - timedelta(seconds=2)))
    assert "soaks 3 s more" in offered(a_follower(stage="production"), fresh).waits


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"recycling": 1}, "rolls to it"),
        ({"paused": "lunch"}, "is paused: lunch"),
        ({"join_failures": 2}, "fails: 2 new VMs in a row did not join"),
        (
            {"conditions": {"TickFailing": ConditionView(True, "CloudFailed", "", NOW)}},
            "fails at each tick: CloudFailed",
        ),
    ],
)
def test_how_far_staging_is_is_told(changes: dict[str, Any], word: str) -> None:
    assert word in offered(a_follower(), another("shop-stage", "staging", image=on(3, reached=False), **changes)).waits


def test_who_is_not_to_have_it_is_not_waited_for() -> None:
    others = [
        another("pinned", "staging", policy="{pin: 1}", image=on(1)),
        another("other-version", "staging"),
        another("leaving", "staging", tombstone="asked for"),
    ]
    other = others[1].document
    assert other is not None
    spec = other.spec.model_copy(update={"kafka": other.spec.kafka.model_copy(update={"version": "4.2.0"})})
    others[1] = replace(others[1], document=other.model_copy(update={"spec": spec}))
    assert number_of(offered(a_follower(stage="production"), *others)) == 3


def test_a_pin_and_a_new_cluster_wait_for_nobody() -> None:
    staging = another("shop-stage", "staging")
    assert number_of(offered(a_follower("{pin: 3}", "production"), staging)) == 3
    assert number_of(offered(a_follower(stage="production", instances={}), staging)) == 3


def test_another_declaration_is_no_way_round_the_order() -> None:
    staging = another("shop-stage", "staging")
    assert offered(a_follower(stage="production", generation=2), staging).reason == "FleetOrder"
