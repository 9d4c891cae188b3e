"""`ListingRefused` tells of places that do not permit us to list what is there, whatever a cluster has in hand."""

from dataclasses import replace
from datetime import timedelta

from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.cluster.view import ConditionView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.conditions.listing_refused import LISTING_REFUSED
from controlplane.converger.situation.decision import Decision, Wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.networking import network_step
from events import facts
from tests.builders import BEFORE, a_situation, a_view
from tests.changed_view import changed_view

PLACE = "local/default/local-1"
WORDS = "ec2:DescribeInstances is not allowed: {place}: listing: no (UnauthorizedOperation, request {request})"


def told(situation: Situation) -> list[facts.ConditionChanged]:
    return [c for c in condition_changes(situation, Decision("at rest")) if c.type == LISTING_REFUSED]


def refused(request: int = 1, **seen: object) -> Situation:
    return a_situation(a_view(), refused={PLACE: WORDS.format(place=PLACE, request=request)}, **seen)


def known(message: str, status: bool = True) -> dict[str, ConditionView]:
    return {LISTING_REFUSED: ConditionView(status, "NotPermitted", message, BEFORE)}


def test_it_names_the_place_what_is_lacking_and_what_to_do() -> None:
    (found,) = told(refused())
    assert (found.status, found.reason) == (True, "NotPermitted")
    for words in (f"{PLACE} does not permit Kedge to list", "ec2:DescribeInstances", "docs/clouds/policies"):
        assert words in found.message


def test_the_same_refusal_in_other_words_is_no_change_and_another_place_is_one() -> None:
    (first,) = told(refused(1))
    again = refused(2)
    assert told(replace(again, view=replace(again.view, conditions=known(first.message)))) == []
    assert told(replace(again, view=replace(again.view, conditions=known("aws/production/eu-west-1 does not")))) != []


def test_it_is_over_with_a_listing_that_is_let_in_and_never_told_of_one_that_always_was() -> None:
    view = replace(a_view(), conditions=known(f"{PLACE} does not permit Kedge"))
    (over,) = told(a_situation(view))
    assert not over.status
    assert told(a_situation(a_view())) == []


def test_a_network_that_may_not_be_made_is_told_at_once_with_what_tries_it_now_and_one_that_failed_later() -> None:
    view = changed_view(a_view(), converged=0)
    situation = a_situation(view)
    repair = "kedge networks repair default --account production --region r"
    failed = NetworkAwaited("waits for the network default: being made; try 1 failed: CloudUnavailable: 500")
    refused = NetworkAwaited(
        "waits for the network default: being made; try 1 failed: NotPermitted: ec2:CreateVpc is not allowed",
        lacks_permission=True,
        next_try_at=situation.now + timedelta(minutes=5),
        next_command=repair,
    )
    lacking = network_step(a_situation(view, networks=(failed, refused)))
    assert lacking is not None
    assert lacking.wait == Wait(WaitReason.PERMISSION_MISSING, repair, 0)
    assert "ec2:CreateVpc" in lacking.sentence
    assert lacking.sentence.endswith("Next try in 5 min")
    waiting = network_step(a_situation(view, networks=(failed,)))
    assert waiting is not None
    assert waiting.wait == Wait(WaitReason.NETWORK_MISSING, "kedge networks", 60)
