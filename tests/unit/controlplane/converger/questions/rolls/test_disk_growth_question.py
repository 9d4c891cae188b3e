"""Which disks grow by themselves: by measured figures alone, a whole pool at once, never past the bound."""

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.plan import preview
from controlplane.converger.conditions.disk_growth import disk_growth_held
from controlplane.converger.questions.rolls.disk_growth import pool_growths
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.growth import growth_step
from events import facts
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen
from planner.rollout.windows import Freeze
from tests.builders import NOW, a_document, a_situation, a_snapshot, a_view
from tests.changed_view import changed_view

GIB = 2**30
GROW = ", grow: {above: 80, to: 500}"
SPEC = a_document(disks=GROW)


def a_growing_view(**changes: Any) -> ClusterView:
    born, config = a_view(), a_document().spec.kafka.config
    there = {k: replace(i, start=replace(i.start, born_with=config)) for k, i in born.instances.items()}
    return changed_view(changed_view(born, instances=MappingProxyType(there), document=SPEC), **changes)


def filled(percent: dict[int, float], *, age_s: float = 0.0) -> KafkaSnapshot:
    """Metadata of a cluster whose brokers (1000 to 1002) have 100 GiB each; one that is missing has not told."""
    dirs = {b: LogDirsSeen(1, 0, 100 * GIB, int((100 - share) * GIB)) for b, share in percent.items()}
    return replace(a_snapshot(), log_dirs=dirs, at=NOW - timedelta(seconds=age_s))


def seen(view: ClusterView, kafka: KafkaSnapshot | None, **changes: Any) -> Situation:
    situation = a_situation(view)
    return replace(situation, seen=replace(situation.seen, kafka=kafka), **changes)


EVEN = {1000: 50.0, 1001: 50.0, 1002: 50.0}
FULL = {**EVEN, 1001: 85.0}


def test_one_full_broker_makes_the_disks_of_its_pool_larger() -> None:
    decision = growth_step(seen(a_growing_view(), filled(FULL)))
    assert decision is not None
    (decided,) = decision.events
    assert isinstance(decided, facts.GrowthDecided)
    assert (decided.pool, decided.before_gib, decided.size_gib) == ("brokers", 100, 140)
    assert decided.reason == "broker 1001 (85% full); disk.grow.above is 80%, at most 500 GiB"


def test_what_was_decided_is_carried_out_as_if_the_spec_said_it() -> None:
    view = changed_view(a_growing_view(recycling=1), grown_pools=MappingProxyType({"brokers": 140}))
    decision = growth_step(seen(view, filled(FULL)))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.GrowthRequested)
    assert (asked.key, set(asked.sizes.values())) == ("brokers-b-0.g1", {140})  # the fullest first
    assert asked.reason == "brokers-b-0: disk 100 -> 140 GiB"


@pytest.mark.parametrize("kafka", [filled(EVEN), filled({}), filled(FULL, age_s=60), None])
def test_nothing_grows_that_is_not_known_to_be_full_now(kafka: KafkaSnapshot | None) -> None:
    assert growth_step(seen(a_growing_view(), kafka)) is None


def test_nothing_grows_where_the_spec_says_nothing() -> None:
    situation = seen(a_view(), filled({**EVEN, 1001: 99.0}))
    assert growth_step(situation) is None
    assert disk_growth_held(situation) is None


def test_the_fullest_directory_of_a_broker_counts() -> None:
    one = LogDirSeen("/data", 0, 100 * GIB, 12 * GIB)
    other = LogDirSeen("/data2", 0, 100 * GIB, 90 * GIB)
    kafka = filled(EVEN)
    both = LogDirsSeen(2, 0, 200 * GIB, 102 * GIB, (one, other))
    (growth,) = pool_growths(seen(a_growing_view(), replace(kafka, log_dirs={**kafka.log_dirs, 1002: both}))) or ()
    assert [(broker, round(share, 2)) for broker, share in growth.full] == [(1002, 0.88)]


def test_a_broker_that_has_not_told_grows_nothing_and_is_named() -> None:
    situation = seen(a_growing_view(), filled({1000: 50.0, 1001: 50.0}))
    assert growth_step(situation) is None
    told = disk_growth_held(situation)
    assert told is not None
    assert (told.status, told.reason) == (True, "FiguresUnknown")
    assert "broker 1002" in told.message


def test_metadata_nobody_could_read_for_minutes_is_told() -> None:
    late, young = (seen(a_growing_view(), filled(EVEN, age_s=age)) for age in (400, 60))
    told = disk_growth_held(late)
    assert told is not None
    assert told.reason == "FiguresUnknown"
    assert disk_growth_held(young) is None


def test_disks_that_were_changed_a_moment_ago_rest_and_it_is_said_until_when() -> None:
    aws = _on_aws(SPEC)
    for ago, grows in ((5, False), (7, True)):
        at = MappingProxyType({"brokers-b-0.data.v1": NOW - timedelta(hours=ago)})
        view = changed_view(a_growing_view(document=aws), volumes_grown_at=at)
        (growth,) = pool_growths(seen(view, filled(FULL))) or ()
        assert growth.rests_until is None if grows else growth.rests_until == NOW + timedelta(hours=1)
    view = a_growing_view(volumes_grown_at=MappingProxyType({"brokers-b-0.data.v1": NOW - timedelta(minutes=5)}))
    situation = seen(view, filled(FULL))
    assert growth_step(situation) is None
    told = disk_growth_held(situation)
    assert told is not None
    assert (told.status, told.reason) == (True, "CoolDown")
    assert "disks grow to 140 GiB at 2026-01-01 12:05 UTC" in told.message


def test_at_the_bound_a_person_is_told_what_to_do() -> None:
    view = a_growing_view(grown_pools=MappingProxyType({"brokers": 500}), volume_sizes=_sizes(500))
    situation = seen(view, filled(FULL))
    assert growth_step(situation) is None
    told = disk_growth_held(situation)
    assert told is not None
    assert (told.status, told.reason) == (True, "AtLimit")
    assert "each disk has 500 GiB, where disk.grow.to is 500. Raise `to`, add brokers" in told.message


def test_a_spec_that_asks_for_more_than_the_bound_itself_is_left_alone() -> None:
    larger = a_document(broker_gib=600, disks=GROW)
    view = a_growing_view(document=larger, volume_sizes=_sizes(600))
    assert growth_step(seen(view, filled(FULL))) is None


def test_a_freeze_holds_no_growth_and_is_named() -> None:
    freeze = Freeze(NOW - timedelta(hours=1), NOW + timedelta(hours=1), "black friday", frozenset({"orders"}))
    decision = growth_step(seen(a_growing_view(), filled(FULL), freezes=(freeze,)))
    assert decision is not None
    (decided,) = decision.events
    assert isinstance(decided, facts.GrowthDecided)
    assert "waits for no freeze: " in decided.reason
    assert "black friday" in decided.reason


def test_who_is_on_its_way_out_does_not_count() -> None:
    view = a_growing_view()
    leaving = replace(view.instances["brokers-b-0.g1"], phase=Phase.DRAINING)
    view = replace(view, instances=MappingProxyType({**view.instances, leaving.key: leaving}))
    assert growth_step(seen(view, filled(FULL))) is None


def test_a_later_spec_with_a_smaller_size_is_no_shrink_and_the_plan_says_so() -> None:
    view = a_growing_view(grown_pools=MappingProxyType({"brokers": 140}), volume_sizes=_sizes(140))
    for gib in (50, 120):
        plan = preview(view, a_document(broker_gib=gib, disks=GROW), snapshot=None)
        assert not plan.rollout.phases
        said = "changes nothing: the disks have grown to 140 GiB by themselves, and none shrinks"
        assert plan.effects["spec.pools[brokers].disk.sizeGib"] == said
    larger = preview(view, a_document(broker_gib=300, disks=GROW), snapshot=None)
    assert {s.reason for p in larger.rollout.phases for s in p.steps} == {
        f"brokers-{z}-0: disk 140 -> 300 GiB" for z in "abc"
    }


def test_the_plan_says_what_growing_means() -> None:
    begins = preview(a_view(), SPEC, snapshot=None)
    said = begins.effects["spec.pools[brokers].disk.grow"]
    assert said == (
        "once a broker of the pool is more than 80 % full all its disks (100 GiB) grow in place, up to 500 GiB each; "
        "nothing shrinks them again"
    )
    assert not begins.rollout.phases
    view = a_growing_view(grown_pools=MappingProxyType({"brokers": 140}), volume_sizes=_sizes(140))
    ends = preview(view, a_document(), snapshot=None)
    assert ends.effects["spec.pools[brokers].disk.grow"] == (
        "the disks grow no more by themselves and keep their 140 GiB"
    )
    assert not ends.rollout.phases


def _on_aws(document: KafkaClusterDocument) -> KafkaClusterDocument:
    """The same, as if its brokers were there."""
    pools = tuple(
        pool.model_copy(update={"place": pool.place.model_copy(update={"cloud": "aws"})}) if pool.is_broker else pool
        for pool in document.spec.pools
    )
    return document.model_copy(update={"spec": document.spec.model_copy(update={"pools": pools})})


def _sizes(gib: int) -> MappingProxyType[str, int]:
    return MappingProxyType({f"brokers-{z}-0.data.v1": gib for z in "abc"})
