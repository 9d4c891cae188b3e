"""Disks that grow where they are: who is next, what the run is, and when it is over."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from agent.wire import LogDirReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.commands.previews.plan import preview
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.documents import document_for
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.growth import grown_step, growth_step
from events import facts
from events.spec.storage_rules import GROWS_IN_PLACE
from planner.rollout.desired import desired_nodes
from planner.rollout.diff import BornWith, Change, Incumbent, IncumbentDisks, node_changes
from providers.base import CloudVolume, RunKind
from tests.builders import NOW, a_document, a_situation, a_view
from tests.changed_view import changed_view

GIB = 2**30
KEY, VOLUME = "brokers-a-0.g1", "brokers-a-0.data.v1"
LARGER = a_document(broker_gib=200)
INTENT = IntentView("intent-9", "grow", (KEY,), NOW, (VOLUME,))


def _view(**changes: object) -> ClusterView:
    born = a_view()
    config = a_document().spec.kafka.config
    there = {
        key: replace(instance, start=replace(instance.start, born_with=config))
        for key, instance in born.instances.items()
    }
    view = changed_view(born, instances=MappingProxyType(there), document=LARGER, generation=2, recycling=2)
    return changed_view(view, **changes)


def _growing() -> ClusterView:
    sizes, intents = MappingProxyType({VOLUME: 200}), MappingProxyType({INTENT.id: INTENT})
    return _view(volume_sizes=sizes, intents=intents)


def test_brokers_are_asked_to_grow_one_after_the_other_under_intents_of_their_own() -> None:
    decision = growth_step(a_situation(_view()))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.GrowthRequested)
    assert (asked.key, asked.sizes) == (KEY, {VOLUME: 200})
    assert "disk 100 -> 200 GiB" in decision.sentence

    grown = changed_view(_view(), volume_sizes=MappingProxyType({VOLUME: 200}))
    after = growth_step(a_situation(grown))
    assert after is not None
    (second,) = after.events
    assert isinstance(second, facts.GrowthRequested)
    assert second.key == "brokers-b-0.g1"
    assert second.intent != asked.intent


def test_it_is_said_first_that_the_generation_is_worked_on() -> None:
    decision = growth_step(a_situation(_view(recycling=0)))
    assert decision is not None
    assert isinstance(decision.events[0], facts.RecycleStarted)


def test_nothing_grows_where_nothing_has_to() -> None:
    assert growth_step(a_situation(a_view())) is None


@pytest.mark.parametrize("changes", [{"phase": Phase.DRAINING}, {"lost_at": NOW}, {"bound": False}])
def test_who_is_on_its_way_out_or_in_is_left_for_later(changes: dict[str, object]) -> None:
    view = _view()
    there = {**view.instances, KEY: replace(view.instances[KEY], **changes)}  # type: ignore[arg-type]
    decision = growth_step(a_situation(replace(view, instances=MappingProxyType(there))))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.GrowthRequested)
    assert asked.key != KEY


def test_the_run_names_the_size_and_nothing_else_and_a_dead_vm_is_no_part_of_it() -> None:
    view = _growing()
    run = terraform_run(view, INTENT, installation_id="i", boot_data=lambda _: "", gone=frozenset())
    assert (run.kind, dict(run.grows)) == (RunKind.GROW, {f"volume/{VOLUME}": 200})
    assert not run.creates | run.deletes
    sizes = {v.key: v.size_gib for v in run.resources.volumes}
    assert sizes.pop(VOLUME) == 200
    assert set(sizes.values()) == {100}
    dead = terraform_run(view, INTENT, installation_id="i", boot_data=lambda _: "", gone=frozenset({KEY}))
    assert KEY not in {i.key for i in dead.resources.instances}
    assert f"instance/{KEY}" in dead.forget


def test_the_agent_is_told_the_new_size() -> None:
    document = document_for(_growing(), KEY, epoch=1)
    assert document is not None
    assert document.services[0].log_dirs[0].size_gib == 200


def _seen(cloud_gib: int, filesystem_gib: float | None) -> Situation:
    situation = a_situation(_growing())
    log_dirs = (
        ()
        if filesystem_gib is None
        else (LogDirReport(name="data", total_bytes=int(filesystem_gib * GIB), free_bytes=0, partitions=0),)
    )
    there = situation.seen.reports[KEY]
    services = tuple(s.model_copy(update={"log_dirs": log_dirs}) for s in there.report.services)
    told = replace(there, report=there.report.model_copy(update={"services": services}))
    assert situation.seen.inventory is not None
    volume = CloudVolume(VOLUME, "c0ffee", "a", cloud_gib, KEY)
    inventory = replace(situation.seen.inventory, volumes={VOLUME: volume})
    seen = replace(situation.seen, inventory=inventory, reports={**situation.seen.reports, KEY: told})
    return replace(situation, seen=seen)


@pytest.mark.parametrize(
    ("cloud_gib", "filesystem_gib", "reason"),
    [
        (100, 100, "VolumeGrows"),
        (200, 100, "FilesystemGrows"),
        (200, None, "FilesystemGrows"),
        (200, 186, ""),
        (200, 198, ""),
    ],
)
def test_it_is_over_once_the_cloud_and_the_file_system_say_so(
    cloud_gib: int, filesystem_gib: float | None, reason: str
) -> None:
    situation = _seen(cloud_gib, filesystem_gib)
    assert situation.seen.inventory is not None
    decision = grown_step(situation, INTENT, situation.seen.inventory, f"grow of {KEY}")
    assert (decision.wait.reason if decision.wait else "") == reason
    assert [type(e) for e in decision.events] == ([] if reason else [facts.GrowthCompleted])


def test_a_file_system_that_does_not_follow_keeps_nobody_from_being_mended() -> None:
    situation = _seen(200, None)
    lost = replace(situation.view.instances["brokers-b-0.g1"], lost_at=NOW)
    asked = ReplaceView("asked by anna: its agent is silent", new_disk=False, requested_at=NOW)
    for change in (
        {"instances": MappingProxyType({**situation.view.instances, lost.key: lost})},
        {"to_replace": MappingProxyType({KEY: asked})},
    ):
        waited_for = replace(situation, view=changed_view(situation.view, **change))
        assert waited_for.seen.inventory is not None
        decision = grown_step(waited_for, INTENT, waited_for.seen.inventory, f"grow of {KEY}")
        assert [type(e) for e in decision.events] == [facts.GrowthCompleted]


def test_the_ladder_grows_before_it_replaces() -> None:
    """Who is full needs the room now, and a roll takes hours."""
    (asked, *_) = decide(a_situation(_view())).events
    assert isinstance(asked, facts.GrowthRequested)


def test_the_plan_says_what_becomes_of_the_disks_before_anybody_says_yes() -> None:
    view = replace(_view(), document=a_document())
    larger = preview(view, LARGER, snapshot=None)
    (phase,) = larger.rollout.phases
    assert phase.name == "grow the disks of 3 nodes where they are, one at a time, without a restart"
    assert {step.reason for step in phase.steps} == {f"brokers-{z}-0: disk 100 -> 200 GiB" for z in "abc"}
    assert larger.rollout.bytes == 0
    path = "spec.pools[brokers].disk.sizeGib"
    assert larger.effects[path] == "grown in place, one node at a time; no restart"
    smaller = preview(view, a_document(broker_gib=50), snapshot=None)
    assert smaller.effects[path] == "brokers move to new VMs with new disks"
    assert {step.change for p in smaller.rollout.phases for step in p.steps} == {Change.REPLACE}


@pytest.mark.parametrize(("cloud", "change"), [("local", Change.GROW), ("azure", Change.REPLACE)])
def test_a_larger_disk_is_grown_where_its_cloud_can_and_else_filled_by_copying(cloud: str, change: Change) -> None:
    (node,) = [n for n in desired_nodes(LARGER) if n.node == "brokers-a-0"]
    want = replace(node, disks=replace(node.disks, grows=cloud in GROWS_IN_PLACE))
    have = Incumbent(
        "brokers-a-0",
        1,
        "a",
        0,
        "broker",
        1000,
        want.digest_with({}, 100),
        want.kafka_version,
        want.shape,
        lost=False,
        born=BornWith({}, disk_gib=100),
        disks=IncumbentDisks(100, "persistent"),
    )
    (found,) = node_changes([want], [have])
    assert (found.change, found.reason) == (change, "brokers-a-0: disk 100 -> 200 GiB")
