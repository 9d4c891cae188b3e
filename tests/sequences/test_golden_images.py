"""The stories of the image catalogue: who rolls to a published revision, after whom, and what stops the rest."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from controlplane.converger.conditions.images import IMAGE
from events import facts
from planner.rollout.windows import Freeze
from tests.sequences.recorded import recorded_as
from tests.sim.imagefleet import ImageFleet, a_follower

# Worlds begin on Thursday, 2026-01-01 at midnight UTC.
NIGHT = ", windows: [{days: [thu], start: '03:00', duration: 2h}]"
OPENS_S = 3 * 3600.0


def _critical(fleet: ImageFleet) -> str:
    return fleet.publish(security="critical", reason="CVE-2026-1")


def security_roll_goes_staging_first() -> ImageFleet:
    """Three clusters: staging rolls and soaks, then production; the pinned one is left alone."""
    fleet = ImageFleet(
        stage=a_follower("stage", "staging"),
        shop=a_follower("shop", "production"),
        ledger=a_follower("ledger", "production", "{follow: all, pin: 1}"),
    )
    first = fleet.publish()
    fleet.run(until=lambda f: f.are_on(first, "ledger"))
    assert fleet.revisions("stage") == fleet.revisions("shop") == {""}, "they follow security, and it was not flagged"
    second = _critical(fleet)
    fleet.run(until=lambda f: f.worlds["stage"].view().roll.recycling > 0)
    assert "shop" not in {name for name, w in fleet.worlds.items() if w.view().roll.recycling}
    told = fleet.worlds["shop"].view().conditions[IMAGE]
    assert (told.status, told.reason) == (True, "FleetOrder")
    assert "waits for stage (staging)" in told.message
    fleet.run(until=lambda f: f.are_on(second, "stage", "shop"))
    assert min(fleet.began("shop")) > max(fleet.began("stage")) + 5
    assert fleet.revisions("ledger") == {first}
    assert fleet.revisions("shop") == {second}
    assert not fleet.worlds["shop"].view().conditions[IMAGE].status
    fleet.watch(20)
    return fleet


def failing_revision_stops_the_rest() -> ImageFleet:
    """Staging's VMs of the revision never boot: it stops after two, production never begins and says why; once it is
    withdrawn and a better one is out, both roll to that."""
    fleet = ImageFleet(stage=a_follower("stage", "staging"), shop=a_follower("shop", "production"))
    stage = fleet.worlds["stage"]
    stage.machines.stillborn.update({"brokers-a-0"})
    bad = _critical(fleet)
    fleet.run(until=lambda f: f.worlds["stage"].view().roll.join_failures == 1)
    stage.machines.stillborn.update({"brokers-a-0"})
    fleet.run(until=lambda f: "no VM that joined" in stage.sentence())
    fleet.watch(50)
    assert fleet.began("shop") == []
    assert "waits for stage (staging), which fails: 2 new VMs in a row did not join" in fleet.worlds["shop"].sentence()
    assert fleet.brake.failed_images[bad] == 2
    fleet.withdraw(bad, "its VMs do not boot")
    fleet.watch(5)
    assert fleet.began("shop") == []
    good = _critical(fleet)
    stage.person(facts.ClusterResumed("another image"))
    fleet.run(until=lambda f: f.are_on(good, "stage", "shop"))
    assert bad not in fleet.revisions("stage") | fleet.revisions("shop")
    return fleet


def failing_revision_trips_the_brake_within_a_stage() -> ImageFleet:
    """Two clusters of one stage: one's VMs never boot, and the other, which waits for its window, begins no roll."""
    fleet = ImageFleet(shop=a_follower("shop", "production"), ledger=a_follower("ledger", "production", windows=NIGHT))
    shop, ledger = fleet.worlds["shop"], fleet.worlds["ledger"]
    shop.machines.stillborn.update({"brokers-a-0"})
    bad = _critical(fleet)
    fleet.run(until=lambda f: shop.view().roll.join_failures == 1)
    shop.machines.stillborn.update({"brokers-a-0"})
    fleet.run(until=lambda f: "no VM that joined" in shop.sentence())
    fleet.put_forward(OPENS_S + 60)
    fleet.watch(30)
    assert f"2 replacements with image {bad} failed in the fleet" in ledger.sentence()
    assert fleet.began("ledger") == []
    return fleet


def image_roll_waits_for_its_window() -> ImageFleet:
    """A flagged revision waits for the window of a cluster whose spec says nothing else."""
    fleet = ImageFleet(shop=a_follower("shop", "production", windows=NIGHT))
    name = _critical(fleet)
    fleet.watch(40)
    assert fleet.began("shop") == []
    assert fleet.worlds["shop"].view().conditions["WaitsForWindow"].status
    fleet.put_forward(OPENS_S - 5)
    fleet.run(until=lambda f: f.are_on(name, "shop"))
    assert min(fleet.began("shop")) >= OPENS_S
    return fleet


def critical_revision_opens_a_freeze_where_the_spec_says_so() -> ImageFleet:
    """Under a freeze `critical: at-once` begins with a critical revision, and with no lesser one."""
    policy = "{follow: security, critical: at-once}"
    fleet = ImageFleet(
        shop=a_follower("shop", "production", policy), ledger=a_follower("ledger", "production", "{follow: security}")
    )
    sale = Freeze(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC), "winter sale")
    fleet.freeze(sale)
    high = fleet.publish(security="high", reason="CVE-2026-2")
    fleet.watch(40)
    assert fleet.began("shop") == fleet.began("ledger") == []
    critical = _critical(fleet)
    fleet.run(until=lambda f: f.are_on(critical, "shop"))
    assert fleet.began("ledger") == []
    assert high not in fleet.revisions("shop")
    return fleet


def withdrawn_in_mid_roll_goes_no_further() -> ImageFleet:
    """The VM in hand is finished, the next one is not made; a lost VM gets what it had. The next revision goes on."""
    fleet = ImageFleet(shop=a_follower("shop", "production"))
    shop = fleet.worlds["shop"]
    bad = _critical(fleet)
    fleet.run(until=lambda f: bool(f.began("shop")))
    fleet.withdraw(bad, "it loses its network")
    fleet.run(until=lambda f: "not rolling on" in shop.sentence())
    assert len(fleet.began("shop")) == 1
    assert fleet.revisions("shop") == {"", bad}
    good = _critical(fleet)
    fleet.run(until=lambda f: f.are_on(good, "shop"))
    assert fleet.revisions("shop") == {good}
    return fleet


STORIES = (
    security_roll_goes_staging_first,
    failing_revision_stops_the_rest,
    failing_revision_trips_the_brake_within_a_stage,
    image_roll_waits_for_its_window,
    critical_revision_opens_a_freeze_where_the_spec_says_so,
    withdrawn_in_mid_roll_goes_no_further,
)


@pytest.mark.parametrize("told", STORIES, ids=lambda s: s.__name__)
def test_the_story_is_told_as_recorded(told: Callable[[], ImageFleet]) -> None:
    recorded_as(told.__name__, told().story)
