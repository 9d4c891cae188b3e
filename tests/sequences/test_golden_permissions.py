"""The stories of credentials that are good and lack a permission, told and compared as those of rolls are."""

from collections.abc import Callable

import pytest

from events import facts
from providers.aws.errors import from_code
from providers.errors import NotPermitted
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World

RUN_INSTANCES = from_code(
    "UnauthorizedOperation",
    "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/kedge is not authorized to "
    "perform: ec2:RunInstances on resource: arn:aws:ec2:eu-west-1:123456789012:instance/* because no identity-based "
    "policy allows the ec2:RunInstances action. Encoded authorization failure message: p1EyykaD2fI3csh",
)
LISTING = NotPermitted("local/default/local-1: listing: no identity-based policy allows it", "ec2:DescribeInstances")
"""The place of the simulated cluster is named, as each cloud's inventory does."""


def permission_is_missing_and_given(world: World) -> None:
    """Told at once, with what is lacking; three tries in an hour, and the next one after it was given goes through."""
    world.declare(a_document())
    world.converge()
    world.refuse_runs = RUN_INSTANCES
    world.declare(a_document(brokers=6))
    world.run(until=lambda w: "Blocked" in w.view().conditions and w.view().conditions["Blocked"].status, ticks=10)
    blocked = world.view().conditions["Blocked"]
    assert blocked.reason == "PermissionMissing"
    for words in ("ec2:RunInstances is not allowed", "in local/default/local-1", "Next: kedge resume orders"):
        assert words in blocked.message
    for _ in range(1500):
        world.tick()
    assert failed(world) == 3
    world.refuse_runs = None
    world.disturbed()
    world.converge(ticks=1500)
    assert len(world.view().alive()) == 9


def permission_is_given_and_a_person_resumes(world: World) -> None:
    """Nobody has to wait for the next try."""
    world.declare(a_document())
    world.converge()
    world.refuse_runs = RUN_INSTANCES
    world.declare(a_document(brokers=6))
    for _ in range(400):
        world.tick()
    world.refuse_runs = None
    world.person(facts.ClusterResumed("the role may make VMs"))
    world.converge(ticks=60)
    assert failed(world) == 2


def listing_is_not_permitted(world: World) -> None:
    """Of a cluster at rest it is told at once, and nothing looks gone; over with the first listing that is let in."""
    world.declare(a_document())
    world.converge()
    world.machines.refuse_listings = LISTING
    world.disturbed()
    for _ in range(600):
        world.tick()
    told = world.view().conditions["ListingRefused"]
    assert (told.status, told.reason) == (True, "NotPermitted")
    assert "local/default/local-1 does not permit Kedge to list what is there: ec2:DescribeInstances" in told.message
    assert not any(i.lost for i in world.view().alive())
    world.machines.refuse_listings = None
    world.disturbed()
    world.converge()
    assert not world.view().conditions["ListingRefused"].status


def failed(world: World) -> int:
    return sum(r.type == "run.failed" for r in world.history())


STORIES = (permission_is_missing_and_given, permission_is_given_and_a_person_resumes, listing_is_not_permitted)


@pytest.mark.parametrize("scenario", STORIES)
def test_the_story_is_as_recorded(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
