"""The stories of the fleet's order: a changed spec goes through staging before production, and what stops it there."""

from collections.abc import Callable

import pytest

from controlplane.cluster.view import ConditionView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.stages import FAILS, STAGE_WAITS
from events import facts
from events.spec.model import KafkaClusterDocument
from tests.builders import a_document
from tests.sequences.recorded import recorded_as
from tests.sim.imagefleet import ImageFleet
from tests.sim.world import World

OLD, NEW = "num.partitions: 3", "num.partitions: 7"


def version_goes_through_staging_first() -> ImageFleet:
    """One commit raises the version of both. Production is declared first and waits all the same: until staging is on
    it and has soaked. A VM it loses meanwhile is replaced. A third cluster, whose change is another one, waits for
    nobody."""
    fleet = _fleet(stage="staging", shop="production", ledger="production")
    stage, shop, ledger = fleet.worlds.values()
    shop.declare(_document("shop", "production", version="4.2.0"))
    stage.declare(_document("stage", "staging", version="4.2.0", soak="400s"))
    ledger.declare(_document("ledger", "production", f"{{{NEW}}}"))
    fleet.run(until=lambda f: len(_made(stage)) > 1 and _is_reached(ledger))
    told = _told(shop)
    assert (told.status, told.reason) == (True, WaitReason.FLEET_ORDER)
    assert told.message == "kafka.version 4.2.0 waits for stage (staging), which rolls to it"
    assert STAGE_WAITS not in ledger.view().conditions
    assert "Blocked" not in {name for name, c in shop.view().conditions.items() if c.status}
    shop.machines.power_cut("brokers-b-0.g1")
    fleet.run(until=lambda f: len(_made(shop)) > 0)
    assert not _is_reached(stage)
    fleet.run(until=lambda f: _is_reached(stage))
    assert len(_made(shop)) == 1, "the one that was lost"
    fleet.run(until=lambda f: _is_reached(shop))
    assert sorted(_made(shop))[1] >= _reached_s(stage) + 400.0
    assert not _told(shop).status
    fleet.watch(20)
    return fleet


def setting_that_fails_in_staging_goes_no_further() -> ImageFleet:
    """Staging's canary does not come back: production has the names and what to do. Staging takes the change back, and
    production goes on waiting until it is taken back there, too."""
    fleet = _fleet(stage="staging", shop="production")
    stage, shop = fleet.worlds.values()
    stage.machines.fatal["num.partitions"] = "7"
    stage.declare(_document("stage", "staging", f"{{{NEW}}}", join_deadline="20s"))
    shop.declare(_document("shop", "production", f"{{{NEW}}}"))
    fleet.run(until=lambda f: _told(shop).reason == FAILS)
    assert "stage (staging), which is blocked: RestartReverted. Next: " in _told(shop).message
    assert "kedge roll shop --now" in _told(shop).message
    stage.declare(_document("stage", "staging", f"{{{OLD}}}"))
    fleet.run(until=lambda f: _is_reached(stage))
    fleet.watch(20)
    assert "which took kafka.config[num.partitions] 7 back before it was reached" in shop.sentence()
    assert _starts(shop) == {1}
    shop.declare(_document("shop", "production", f"{{{OLD}}}"))
    fleet.run(until=lambda f: _is_reached(shop))
    assert _starts(shop) == {1}
    assert not _told(shop).status
    return fleet


def person_lets_production_go_first() -> ImageFleet:
    """Staging is paused with the change in hand: production says so, and goes on once a person lets it."""
    fleet = _fleet(stage="staging", shop="production")
    stage, shop = fleet.worlds.values()
    stage.declare(_document("stage", "staging", f"{{{NEW}}}"))
    stage.person(facts.ClusterPaused("over lunch", None))
    shop.declare(_document("shop", "production", f"{{{NEW}}}"))
    fleet.watch(30)
    assert "waits for stage (staging), which is paused: over lunch" in shop.sentence()
    assert (_told(shop).reason, _starts(shop)) == (FAILS, {1})
    shop.person(facts.WindowWaived(shop.view().generation, "asked by anna: the fix cannot wait"))
    fleet.run(until=lambda f: _is_reached(shop))
    assert 2 in _starts(shop)
    assert _starts(stage) == {1}
    assert not _told(shop).status
    return fleet


STORIES = (
    version_goes_through_staging_first,
    setting_that_fails_in_staging_goes_no_further,
    person_lets_production_go_first,
)


@pytest.mark.parametrize("told", STORIES, ids=lambda s: s.__name__)
def test_the_story_is_told_as_recorded(told: Callable[[], ImageFleet]) -> None:
    recorded_as(told.__name__, told().story)


def _fleet(**stages: str) -> ImageFleet:
    return ImageFleet(**{name: _document(name, stage) for name, stage in stages.items()})


def _document(name: str, stage: str, config: str = f"{{{OLD}}}", **more: object) -> KafkaClusterDocument:
    labels = f", labels: {{stage: {stage}}}"
    return a_document(**{"controllers": 1, **more, "name": name + labels, "config": f", config: {config}"})


def _told(world: World) -> ConditionView:
    return world.view().conditions.get(STAGE_WAITS) or ConditionView(False, "", "", world.clock())


def _made(world: World) -> list[float]:
    """Seconds at which VMs were asked for, those of the birth left out."""
    asked = [r for r in world.history() if r.type == "surge.requested"]
    born = next(r for r in world.history() if r.type == "recycle.completed").position
    return [world.seconds - (world.clock() - r.recorded_at).total_seconds() for r in asked if r.position > born]


def _reached_s(world: World) -> float:
    last = [r for r in world.history() if r.type == "recycle.completed"][-1]
    return world.seconds - (world.clock() - last.recorded_at).total_seconds()


def _is_reached(world: World) -> bool:
    view = world.view()
    return view.roll.converged == view.generation and not view.roll.recycling


def _starts(world: World) -> set[int]:
    return {i.start.count for i in world.view().alive()}
