"""Who waits for whom with a changed spec, in words; and what the fold keeps for that."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.folds.spec_order import changes_in_hand
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.spec_order import SpecChange
from controlplane.fleet.spec_order import SpecOrderCache, StageWait
from events import facts
from events.codec import encode
from events.envelope import Recorded
from events.ids import ClusterUid
from events.spec.conversion import to_data
from events.spec.model import KafkaClusterDocument
from tests.builders import NOW, a_document, a_view, an_instance
from tests.changed_view import changed_view

SOAK_S = 600.0


def test_two_clusters_that_get_the_same_have_the_same_change_in_hand() -> None:
    stage, shop = _cluster("stage", "staging"), _cluster("shop", "production", machine="medium")
    stage, shop = _declared(stage, version="4.2.0"), _declared(shop, version="4.2.0", machine="medium")
    assert changes_in_hand(stage) == changes_in_hand(shop) == {SpecChange("kafka.version", '"4.2.0"')}
    assert [str(c) for c in changes_in_hand(shop)] == ["kafka.version 4.2.0"]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"machine": "medium"}, {"pools.machine medium"}),
        ({"config": ", config: {num.partitions: 7}"}, {"kafka.config[num.partitions] 7"}),
        ({"config": ", config: {num.io.threads: 9}"}, set()),
        ({"config": ", metadataVersion: 4.1"}, {"kafka.metadataVersion 4.1"}),
        ({"heap": 512}, {"pools.heapMib 512"}),
        ({"brokers": 6}, set()),
        ({"soak": "10s"}, set()),
    ],
)
def test_what_disrupts_or_closes_a_way_back_is_taken_in_order_and_nothing_else(
    more: dict[str, Any], found: set[str]
) -> None:
    assert {str(c) for c in changes_in_hand(_declared(_cluster("shop", "production"), **more))} == found


def test_production_waits_until_staging_is_through_and_has_soaked() -> None:
    stage, shop = _both()
    assert _waits(shop, stage) == "kafka.version 4.2.0 waits for stage (staging), which has not begun"
    stage = _after(stage, facts.RecycleStarted(2, (), (), (), "4.2.0"))
    assert _waits(shop, stage) == "kafka.version 4.2.0 waits for stage (staging), which rolls to it"
    stage = _reached(stage)
    assert _waits(shop, stage) == "kafka.version 4.2.0 waits for stage (staging), which soaks 600 s more"
    assert _waits(shop, stage, NOW + timedelta(seconds=SOAK_S)) == ""


def test_staging_waits_for_nobody_in_production_and_peers_not_for_each_other() -> None:
    stage, shop = _both()
    peer = _declared(_cluster("other", "staging"), version="4.2.0")
    assert _waits(stage, shop, peer) == ""


def test_another_value_of_the_same_field_is_another_change() -> None:
    stage, shop = _both()
    assert _waits(_declared(_cluster("shop", "production"), version="4.3.0"), stage) == ""
    assert _waits(shop, stage) != ""


def test_what_staging_had_long_ago_holds_nobody_up_whatever_becomes_of_it() -> None:
    _, shop = _both()
    stage = _reached(_declared(_cluster("stage", "staging"), version="4.2.0"), NOW - timedelta(days=9))
    unhealthy = _after(stage, facts.ConditionChanged("Ailing", True, "GaveUp", "a broker"), NOW)
    lost = _after(stage, facts.InstanceLost("brokers-a-0.g1", "terminated"), NOW)
    busy = _declared(stage, version="4.2.0", machine="large")
    assert [_waits(shop, other) for other in (stage, unhealthy, lost, busy)] == [""] * 4


def test_staging_that_becomes_unhealthy_while_it_soaks_is_waited_for_and_soaks_anew() -> None:
    stage, shop = _both()
    later = NOW + timedelta(hours=2)
    unhealthy = _after(_reached(stage), facts.ConditionChanged("Ailing", True, "GaveUp", "a broker"), NOW)
    assert "which has it and is not well: Ailing, GaveUp" in _waits(shop, unhealthy, later)
    assert _wait(shop, unhealthy, at=later).fails
    well = _after(unhealthy, facts.ConditionChanged("Ailing", False, "Free", ""), later)
    assert "which soaks 600 s more" in _waits(shop, well, later)
    assert _waits(shop, well, later + timedelta(seconds=SOAK_S)) == ""


def test_a_vm_that_staging_loses_while_it_soaks_is_replaced_first() -> None:
    stage, shop = _both()
    lost = _after(_reached(stage), facts.InstanceLost("brokers-a-0.g1", "terminated"))
    assert "which has it and replaces brokers-a-0.g1" in _waits(shop, lost, NOW + timedelta(hours=1))


FAILING = {"TickFailing": ConditionView(True, "Unexpected", "each tick fails since noon", NOW)}


@pytest.mark.parametrize(
    ("stuck", "words"),
    [
        ({"paused": "over lunch"}, "is paused: over lunch"),
        ({"held": "it was adopted"}, "is held: it was adopted"),
        ({"join_failures": 2}, "fails: 2 new VMs in a row did not join"),
        ({"conditions": FAILING}, "fails at each tick: Unexpected"),
    ],
)
def test_staging_that_needs_a_person_is_told_as_such(stuck: dict[str, object], words: str) -> None:
    stage, shop = _both()
    found = _wait(shop, changed_view(stage, **stuck))
    assert found == StageWait(f"kafka.version 4.2.0 waits for stage (staging), which {words}", fails=True)


def test_blocked_is_a_failure_where_only_a_person_ends_it() -> None:
    stage, shop = _both()
    by_itself = _after(stage, facts.ConditionChanged("Blocked", True, "FleetBrake", "too many roll"))
    by_a_person = _after(stage, facts.ConditionChanged("Blocked", True, "RunRefused", "quota. Next: kedge resume"))
    assert not _wait(shop, by_itself).fails
    assert "is blocked: RunRefused" in _wait(shop, by_a_person).words


def test_what_staging_began_and_took_back_stops_who_was_declared_before() -> None:
    stage, shop = _both()
    stage = _after(stage, facts.RecycleStarted(2, (), (), (), "4.2.0"))
    back = _reached(_declared(stage, NOW + timedelta(minutes=1), generation=3), NOW + timedelta(minutes=1))
    later = NOW + timedelta(days=1)
    assert "which took kafka.version 4.2.0 back before it was reached" in _waits(shop, back, later)
    knows = _declared(_cluster("shop", "production"), NOW + timedelta(hours=1), version="4.2.0")
    assert _waits(knows, back, later) == ""
    again = _declared(back, later, generation=4, version="4.2.0")
    assert "which has not begun" in _waits(shop, again, later)
    assert _waits(shop, _reached(again, later), later + timedelta(seconds=SOAK_S)) == ""


def test_what_staging_never_began_may_be_taken_back_without_a_word() -> None:
    stage, shop = _both()
    assert _waits(shop, _declared(stage, generation=3)) == ""


def test_a_deleted_cluster_and_one_that_is_being_born_are_waited_for_by_nobody() -> None:
    stage, shop = _both()
    newborn = changed_view(_declared(_cluster("stage", "staging"), version="4.2.0"), spec_order=None, converged=0)
    for gone in (
        changed_view(stage, deleted=True),
        replace(stage, requests=replace(stage.requests, tombstone="asked for")),
        newborn,
    ):
        assert _waits(shop, gone) == ""


def test_who_is_through_is_not_asked_again_before_it_moves() -> None:
    stage, shop = _both()
    cache, later = SpecOrderCache(), NOW + timedelta(hours=1)
    through = _reached(stage)
    cache.note(through)
    assert cache.waits(shop, later) is None
    assert not cache._by_change
    old = _reached(_declared(through, later, generation=3))
    cache.note(_declared(old, later, generation=4, version="4.2.0"))
    found = cache.waits(shop, later)
    assert found is not None
    assert "which has not begun" in found.words


def test_whoever_is_through_may_move_after_the_last_one_that_was_not() -> None:
    stage, shop = _both()
    through, cache, later = _reached(stage), SpecOrderCache(), NOW + timedelta(hours=1)
    slow = _declared(_cluster("slow", "staging"), version="4.2.0")
    for one in (through, slow):
        cache.note(one)
    assert cache.waits(shop, later) is not None
    for one in (_after(slow, facts.ClusterDeletionRequested("slow", "not needed")), _declared(through, generation=3)):
        cache.note(one)
        assert cache.waits(shop, later) is None


def test_many_are_named_by_three() -> None:
    others = [_declared(_cluster(f"dev-{n}", "dev"), version="4.2.0") for n in range(5)]
    told = _waits(_both()[1], *others)
    assert told.count("(development)") == 3
    assert told.endswith(" and 2 more")


def _both() -> tuple[ClusterView, ClusterView]:
    """Staging and production, with the same version to come and nothing begun."""
    found = (_declared(_cluster(name, stage), version="4.2.0") for name, stage in _STAGES)
    stage, shop = found
    return stage, shop


_STAGES = (("stage", "staging"), ("shop", "production"))


def _cluster(name: str, stage: str, **spec: object) -> ClusterView:
    document = _document(name, stage, **spec)
    view = a_view(an_instance("brokers-a-0"), uid=ClusterUid(name), name=name, document=document, converged=0)
    return _reached(view, NOW - timedelta(days=30))


def _declared(view: ClusterView, at: datetime = NOW, *, generation: int = 2, **spec: object) -> ClusterView:
    assert view.document is not None
    stage = view.document.metadata.labels["stage"]
    document = _document(view.name, stage, **spec)
    return _after(view, facts.ClusterDeclared(view.uid, view.name, generation, to_data(document), "test"), at)


def _reached(view: ClusterView, at: datetime = NOW) -> ClusterView:
    return _after(view, facts.RecycleCompleted(view.generation), at)


def _document(name: str, stage: str, **spec: object) -> KafkaClusterDocument:
    return a_document(**{"soak": f"{SOAK_S:.0f}s", **spec}, name=f"{name}, labels: {{stage: {stage}}}")


def _after(view: ClusterView, fact: object, at: datetime = NOW) -> ClusterView:
    new, version = encode(fact, "e1"), view.version + 1
    after = evolve(view, Recorded(1, "s", version, "e", new.type, new.schema, new.data, "t", None, None, 1, at))
    assert not after.history.unreadable, after.history.unreadable
    return after


def _wait(view: ClusterView, *others: ClusterView, at: datetime = NOW) -> StageWait:
    found = _found(view, others, at)
    assert found is not None
    return found


def _waits(view: ClusterView, *others: ClusterView | datetime) -> str:
    at = next((o for o in others if isinstance(o, datetime)), NOW)
    found = _found(view, [o for o in others if isinstance(o, ClusterView)], at)
    return found.words if found is not None else ""


def _found(view: ClusterView, others: "tuple[ClusterView, ...] | list[ClusterView]", at: datetime) -> StageWait | None:
    cache = SpecOrderCache()
    for other in (view, *others):
        cache.note(other)
    return cache.waits(view, at)
