"""What a service was told of its heap: by a restart, by its revert, and by restarts that are about something else."""

from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_for
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW, a_view

A = "brokers-a-0.g1"


def _after(*told: object) -> ClusterView:
    view = a_view()
    for number, fact in enumerate(told, start=1):
        new = encode(fact, f"e{number}")
        version = view.version + 1
        at = Recorded(number, "c", version, new.event_id, new.type, new.schema, new.data, "c", None, None, 1, NOW)
        view = evolve(view, at)
        assert not view.history.unreadable
    return view


def _restart(start: int, *, heap_mib: int = 0, generation: int = 1) -> facts.RestartRequested:
    return facts.RestartRequested(A, generation, start, {}, {}, heap_mib > 0, "because", heap_mib)


def _heap(view: ClusterView) -> int:
    document = document_for(view, A, epoch=1)
    assert document is not None
    return document.services[0].heap_mib


DONE = facts.RestartCompleted(A)


def _not_back(start: int) -> facts.RestartRevertRequested:
    return facts.RestartRevertRequested(A, start, "not back")


def test_a_restart_tells_another_heap_and_what_was_planned_stays_on_record() -> None:
    view = _after(_restart(2, heap_mib=1024))
    assert (_heap(view), view.instances[A].planned.heap_mib) == (1024, 256)
    assert view.settings.restarts[A].new_settings


def test_a_restart_about_something_else_keeps_the_heap() -> None:
    assert _heap(_after(_restart(2, heap_mib=1024), DONE, _restart(3), DONE)) == 1024


def test_who_does_not_come_back_gets_the_heap_it_had_last_not_the_one_it_was_born_with() -> None:
    view = _after(_restart(2, heap_mib=1024), DONE, _restart(3, heap_mib=8192), _not_back(4))
    assert _heap(view) == 1024
    assert view.settings.restarts[A].new_settings


def test_a_canary_that_falls_while_it_is_watched_gets_its_heap_back() -> None:
    assert _heap(_after(_restart(2, heap_mib=1024), DONE, _not_back(3))) == 256


def test_a_revert_of_a_restart_that_brought_nothing_says_so() -> None:
    view = _after(_restart(2), _not_back(3))
    assert not view.settings.restarts[A].new_settings


def test_what_an_earlier_spec_asked_for_says_nothing_against_the_one_in_force() -> None:
    """The spec in force is generation 1 here; a restart was still in hand for the one before."""
    assert _after(_restart(2, heap_mib=1024), _not_back(3)).settings.restart_refusal == (A, "not back")
    assert _after(_restart(2, heap_mib=1024, generation=0), _not_back(3)).settings.restart_refusal is None


def test_a_cure_that_does_not_help_says_nothing_against_other_restarts() -> None:
    """A rolling restart that somebody had asked for waited for a person to resume the cluster."""
    cure = facts.HealingRequested(A, "brokers-a-0", "wrong_identity", "restart", "a fresh process")
    assert _after(cure, _restart(2), _not_back(3)).settings.restart_refusal is None
    assert _after(_restart(2), _not_back(3)).settings.restart_refusal == (A, "not back")
