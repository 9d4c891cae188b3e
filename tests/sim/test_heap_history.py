"""Clusters whose history was written before heaps could change in place: read as they were, and at rest."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from controlplane.cluster.fold import fold
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from events.envelope import Recorded
from planner.rollout.desired import desired_nodes
from planner.rollout.diff import Change
from tests.builders import a_document
from tests.sim.world import UID, World


def _lived() -> World:
    """Restarted for a setting, then rolled to another version and another heap, as heaps were changed then."""
    world = World()
    world.declare(a_document(heap=512, config=", config: {num.partitions: 3}"))
    world.converge(ticks=200)
    world.declare(a_document(heap=512, config=", config: {num.partitions: 6}"))
    world.converge(ticks=200)
    world.declare(a_document(heap=1024, config=", config: {num.partitions: 6}", version="4.2.0"))
    world.converge(ticks=900)
    return world


def _as_before(history: Iterable[Recorded]) -> list[Recorded]:
    return [replace(e, data={k: v for k, v in e.data.items() if k != "heap_mib"}) for e in history]


def _read(history: Iterable[Recorded]) -> ClusterView:
    view = fold(empty_view(UID), history)
    assert not view.history.unreadable
    return view


def test_a_history_without_the_field_is_read_as_it_was_and_nothing_is_to_be_done() -> None:
    history = _lived().history()
    restarts = [e for e in history if e.type == "restart.requested"]
    assert len(restarts) == 6
    assert all(e.data["heap_mib"] == 0 for e in restarts)
    old, new = _read(_as_before(history)), _read(history)
    assert old == new
    assert {c.change for c in pending_changes(old)} == {Change.KEEP}
    assert not has_work(old)
    for instance in old.alive():
        document = document_for(old, instance.key, epoch=1)
        assert document is not None
        assert document.services[0].heap_mib == instance.planned.heap_mib


def test_the_names_of_what_instances_were_made_with_are_those_of_earlier_releases() -> None:
    """Another name would be another VM: these were taken from a release that replaced VMs for a heap."""
    assert _digests() == ("9726aef01b2e", "92909b6ba998")
    assert _digests(heap=512) == ("9726aef01b2e", "3aa65c853920")
    assert _digests(heap=256, quorum_heap=128, config=", config: {num.partitions: 6}") == (
        "eb4ee51673c8",
        "779457841f18",
    )


def _digests(**spec: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.digest for n in desired_nodes(a_document(**spec))))
