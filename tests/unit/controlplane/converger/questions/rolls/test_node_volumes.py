"""Brokers with several disks: their volumes, documents, runs, rooms, and what a lost history makes of them."""

from dataclasses import replace

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.disks import with_volume_sizes
from controlplane.cluster.views.intents import IntentView
from controlplane.commands.admission.scale_down import room_after
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.rolls.node_volumes import directory_names
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.rolls.plan_ahead import with_arrivals
from events import facts
from planner.observed import LogDirSeen, LogDirsSeen
from planner.rollout.diff import Change
from tests.builders import BEFORE, a_document, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view
from tests.unit.controlplane.two_disks import a_broker, a_view_of_two

GIB = 1024**3
_FREE = {"data": 4, "data2": 5}


def test_directories_are_named_after_the_first_which_keeps_its_name() -> None:
    assert directory_names(1) == ("data",)
    assert directory_names(3) == ("data", "data2", "data3")


def test_a_new_vm_gets_a_volume_for_each_directory_with_an_id_of_its_own() -> None:
    view = changed_view(a_view_of_two(a_broker(digest="older")), generation=2, recycling=2)
    (asked,) = decide(a_situation(view)).events
    assert isinstance(asked, facts.SurgeRequested)
    (planned,) = asked.instances
    assert [(v.key, v.dir) for v in planned.volumes] == [
        ("brokers-a-0.data.v2", "data"),
        ("brokers-a-0.data2.v2", "data2"),
    ]
    assert len({v.directory_id for v in planned.volumes}) == 2


def test_its_document_names_all_of_them_in_their_order() -> None:
    broker = a_broker(phase=Phase.LAUNCHED, starts=1)
    document = document_for(a_view_of_two(broker), broker.key, epoch=1)
    assert document is not None
    (service,) = document.services
    assert [(d.name, d.volume, d.fresh) for d in service.log_dirs] == [
        ("data", "brokers-a-0.data.v1", True),
        ("data2", "brokers-a-0.data2.v1", True),
    ]


@pytest.mark.parametrize("kind", ["release", "bind"])
def test_both_pass_in_one_run(kind: str) -> None:
    old = a_broker(phase=Phase.FENCED if kind == "release" else Phase.RELEASED, bound=kind == "release")
    new = a_broker(
        generation=2, phase=Phase.LAUNCHED, handover=True, bound=False, volumes=old.planned.volumes, service_id=1000
    )
    about = old if kind == "release" else new
    view, intent = a_view_of_two(old, new), IntentView("i-1", kind, (about.key,), BEFORE)
    run = terraform_run(view, intent, installation_id="i", boot_data=lambda _: "", gone=frozenset())
    passed = run.deletes if kind == "release" else run.creates
    assert passed == {f"attachment/{about.key}.data", f"attachment/{about.key}.data2"}


def test_another_number_of_disks_moves_brokers_and_leaves_controllers() -> None:
    view = a_view_of_two(document=a_document(disks=", count: 3", strategy="reattach", max_unavailable=1))
    started, *_ = decide(a_situation(replace(view, generation=2))).events
    assert isinstance(started, facts.RecycleStarted)
    assert started.replace == ("brokers-a-0", "brokers-b-0", "brokers-c-0")


def test_a_handover_under_way_is_ended_with_the_disks_there_are() -> None:
    """The number changed while a broker was stopped for its successor: that successor takes what is there, and is
    replaced."""
    document = a_document(disks=", count: 3", strategy="reattach", max_unavailable=1)
    old = a_broker(phase=Phase.RELEASED, bound=False, handover=True)
    view = changed_view(a_view_of_two(old), document=document, generation=2, recycling=2)
    surge = next(e for e in decide(a_situation(view)).events if isinstance(e, facts.SurgeRequested))
    assert [v.dir for v in surge.instances[0].volumes] == ["data", "data2"]
    successor = an_instance("brokers-a-0", 2, service_id=1000)
    successor = replace(successor, planned=surge.instances[0], phase=Phase.JOINED, bound=True)
    after = replace(
        view, instances={**{k: i for k, i in view.instances.items() if k != old.key}, successor.key: successor}
    )
    change = next(c for c in pending_changes(after) if c.node == "brokers-a-0")
    assert (change.change, change.reason) == (Change.REPLACE, "brokers-a-0: disks 2 x 100 GiB -> 3 x 100 GiB")


def test_each_directory_is_as_small_as_the_agent_says_of_its_volume() -> None:
    broker = a_broker()
    seen = tuple(LogDirSeen(f"/data/vm/volumes/{n}/kafka", 50, 500 * GIB, 400 * GIB) for n in ("data", "data2"))
    kafka = a_snapshot(log_dirs={1000: LogDirsSeen(3, 100, 1000 * GIB, 800 * GIB, seen)})
    sizes = [{"name": n, "total_bytes": 10 * GIB, "free_bytes": f * GIB, "partitions": 1} for n, f in _FREE.items()]
    report = a_report(broker, log_dirs=sizes)
    dirs = with_volume_sizes(kafka, a_view_of_two(broker), {broker.key: report}).log_dirs[1000]
    assert (dirs.total_bytes, dirs.usable_bytes) == (20 * GIB, 9 * GIB)
    assert [(d.total_bytes, d.usable_bytes) for d in dirs.dirs] == [(10 * GIB, 4 * GIB), (10 * GIB, 5 * GIB)]


def test_a_broker_on_its_way_has_the_sum_of_its_disks() -> None:
    coming = a_broker(generation=2, phase=Phase.LAUNCHED, service_id=1003)
    seen = with_arrivals(a_view_of_two(a_broker(), coming), a_snapshot()).log_dirs[1003]
    assert (seen.total_bytes, seen.dirs) == (200 * GIB, ())


def test_more_and_smaller_disks_are_refused_where_the_largest_partition_fits_on_none_of_them() -> None:
    large = replace(a_partition("orders-0", (1000, 1001, 1002)), size_bytes=60 * GIB)
    kafka, view = a_snapshot(large), a_view(document=a_document())
    gate = room_after(view, a_document(broker_gib=50, disks=", count: 2"), kafka)
    assert not gate.open
    assert gate.reason == ("broker 1000 holds orders-0 with 60.0 GiB, and each new disk takes 45.0 GiB up to 90%")
    assert room_after(view, a_document(broker_gib=70, disks=", count: 2"), kafka).open
