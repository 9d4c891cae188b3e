"""A volume holds data once a service was started on it, not once it was attached (case 3 of issue 27)."""

from dataclasses import replace

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.folds.volumes import is_unused, was_started
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.documents import document_for
from controlplane.converger.tick.cluster_tick import new_events
from events import facts
from events.envelope import Recorded
from tests.builders import BEFORE, NODES, NOW, a_view, an_instance
from tests.changed_view import changed_view

_A, _SUCCESSOR = "controllers-a-0", "controllers-a-0.g2"


def _founding(*instances: InstanceView, controllers: int = 3, **overrides: object) -> ClusterView:
    """Founded, and nobody has joined: each node has its first VM, unless it is among `instances`."""
    nodes = (*NODES[:3], *NODES[3 : 3 + controllers])
    first = [an_instance(node, 1, Phase.LAUNCHED) for node in nodes]
    view = a_view(*first, *instances, converged=0, without={f"{n}.g1" for n in NODES if n not in nodes}, **overrides)
    founding = view.quorum.founding
    assert founding is not None
    return replace(view, quorum=replace(view.quorum, founding=replace(founding, voters=founding.voters[:controllers])))


def _handed_over(started: bool | None, **successor: object) -> ClusterView:
    """Its first VM was stopped, and its next one has the volume and the address."""
    old = an_instance(_A, 1, Phase.RELEASED, bound=False, started=started)
    return _founding(old, an_instance(_A, 2, Phase.LAUNCHED, bound=True, **successor))


def _told(view: ClusterView, key: str = _SUCCESSOR) -> tuple[bool, bool]:
    """(fresh, founder) of its document."""
    document = document_for(view, key, epoch=1)
    assert document is not None
    (service,) = document.services
    return service.log_dirs[0].fresh, service.founder


def test_a_volume_that_no_service_was_started_on_is_new_to_whoever_gets_it_next() -> None:
    assert _told(_handed_over(started=False)) == (True, True)


@pytest.mark.parametrize("started", [True, None], ids=["started", "nobody knows"])
def test_a_volume_that_a_service_was_started_on_or_may_have_been_is_never_formatted(started: bool | None) -> None:
    assert _told(_handed_over(started)) == (False, False)


def test_nor_once_it_has_joined() -> None:
    view = _handed_over(started=False)
    successor = replace(view.instances[_SUCCESSOR], phase=Phase.JOINED)
    assert not _told(replace(view, instances={**view.instances, _SUCCESSOR: successor}))[0]


def test_all_who_had_it_count_and_who_never_had_it_does_not() -> None:
    first = an_instance(_A, 1, Phase.RETIRED, bound=False, fenced_at=BEFORE, started=False)
    unbound = an_instance(_A, 2, Phase.RETIRED, bound=False)
    third = an_instance(_A, 3, Phase.LAUNCHED, bound=True)
    view = _founding(first, unbound, third)
    assert is_unused(view, third, third.planned.volumes[0]), "the second was never bound"
    served = replace(unbound, departure=replace(unbound.departure, fenced_at=BEFORE, started=True))
    view = _founding(first, served, third)
    assert not is_unused(view, third, third.planned.volumes[0])


def test_of_a_volume_whose_past_is_not_known_nothing_is_formatted() -> None:
    successor = an_instance(_A, 2, Phase.LAUNCHED, bound=True, adopted=True)
    view = _founding(successor)
    there = {k: i for k, i in view.instances.items() if k != f"{_A}.g1"}
    assert not is_unused(replace(view, instances=there), successor, successor.planned.volumes[0])


def test_a_vm_that_is_told_another_configuration_may_still_format_its_own_new_volume() -> None:
    view = _founding(an_instance(_A, 1, Phase.LAUNCHED, starts=2, reconfigured=1))
    assert _told(view, f"{_A}.g1") == (True, True)
    assert _told(_founding(an_instance(_A, 1, Phase.LAUNCHED, starts=2)), f"{_A}.g1")[0] is False


# --- the fold ------------------------------------------------------------------------------------------------------


def _after(view: ClusterView, fact: object) -> ClusterView:
    (new,) = new_events("c", view.version, [fact])
    version = view.version + 1
    return evolve(
        view, Recorded(1, "c", version, new.event_id, new.type, new.schema, new.data, "t", None, None, 1, NOW)
    )


def _fenced(view: ClusterView, proof: str, started: bool | None) -> bool | None:
    return was_started(view, facts.NodeFenced(f"{_A}.g1", proof, started))


def test_the_agents_word_counts_whatever_else_is_known() -> None:
    assert _fenced(_founding(), "agent", True) is True
    assert _fenced(a_view(), "agent", False) is False


def test_in_an_old_history_nothing_is_lost_where_nobody_ever_joined() -> None:
    assert _fenced(_founding(), "agent", None) is False
    assert _fenced(_founding(controllers=1), "inventory", None) is False


@pytest.mark.parametrize("proof", ["inventory", "silence"])
def test_one_of_three_that_vanished_may_have_voted(proof: str) -> None:
    assert _fenced(_founding(), proof, None) is None


def test_in_an_old_history_a_volume_holds_data_once_anybody_joined() -> None:
    joined = an_instance("brokers-b-0", 1, served_at=BEFORE)
    assert _fenced(_founding(joined), "agent", None) is None
    retired = an_instance("brokers-b-0", 1, Phase.RETIRED, served_at=BEFORE)
    assert _fenced(_founding(retired), "agent", None) is None, "also once that one is gone"


def test_a_cluster_that_was_adopted_or_reached_a_spec_has_a_past() -> None:
    assert _fenced(_founding(an_instance("brokers-b-0", 1, Phase.LAUNCHED, adopted=True)), "agent", None) is None
    assert _fenced(changed_view(_founding(), converged=1), "agent", None) is None


def test_the_word_of_a_stopped_agent_is_folded() -> None:
    stopping = an_instance(_A, 1, Phase.FENCING)
    view = _founding(stopping)
    after = _after(view, facts.NodeFenced(f"{_A}.g1", "agent", False))
    assert after.instances[f"{_A}.g1"].departure.started is False
    back = _after(after, facts.FenceReverted(f"{_A}.g1", "named again"))
    assert back.instances[f"{_A}.g1"].departure.started is None, "it may run from here on"


def test_a_vm_that_joined_is_not_told_another_configuration_like_this() -> None:
    event = facts.InstanceReconfigured("brokers-a-0.g1", 2, {}, {}, "x")
    view = a_view()
    assert "has not joined" in _after(view, event).history.unreadable


def test_who_is_told_another_configuration_and_who_waits_for_it_have_as_long_as_the_first_time() -> None:
    first = an_instance(_A, 1, Phase.LAUNCHED, told={"a": "1", "b": "2"})
    view = _founding(replace(first, start=replace(first.start, config={"a": "1"})))
    event = facts.InstanceReconfigured(f"{_A}.g1", 2, {"a": "3"}, {"a": "3", "b": None}, "a=3", 64)
    after = _after(view, event)
    told = after.instances[f"{_A}.g1"]
    assert (
        told.start.count,
        told.start.reconfigured,
        dict(told.start.config or {}),
        dict(told.settings),
        told.jvm.heap_mib,
    ) == (
        2,
        1,
        {"a": "3"},
        {"a": "3"},
        64,
    )
    assert {i.since for i in after.instances.values()} == {NOW}
