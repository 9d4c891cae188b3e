"""What follows from a view, or from a situation, alone is worked out once for each copy of it."""

from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once
from tests.builders import a_situation, a_view


def test_an_answer_is_worked_out_once_for_a_view_and_anew_for_a_changed_copy() -> None:
    asked: list[str] = []

    @once
    def name_of(view: ClusterView) -> str:
        asked.append(view.name)
        return view.name

    view = a_view()
    renamed = replace(view, name="renamed")
    assert [name_of(view), name_of(view), name_of(renamed), name_of(view)] == [
        view.name,
        view.name,
        "renamed",
        view.name,
    ]
    assert asked == [view.name, "renamed"]


def test_an_answer_of_nothing_is_kept_too() -> None:
    asked: list[str] = []

    @once
    def nothing_of(view: ClusterView) -> None:
        asked.append(view.name)

    view = a_view()
    nothing_of(view)
    nothing_of(view)
    assert asked == [view.name]


def test_what_was_asked_of_a_view_makes_it_no_other_view() -> None:
    asked, fresh = a_view(), a_view()
    assert not {i.key for i in asked.brokers()} & {i.key for i in asked.controllers()}
    assert asked == fresh


def test_the_same_is_so_of_a_situation_and_what_was_asked_makes_it_no_other_one() -> None:
    asked: list[bool] = []

    @once
    def is_for_repairs(situation: Situation) -> bool:
        asked.append(situation.repairs_only)
        return situation.repairs_only

    situation, fresh = a_situation(view := a_view()), a_situation(view)
    changed = replace(situation, repairs_only=True)
    answers = [is_for_repairs(s) for s in (situation, situation, changed, replace(changed, repairs_only=False))]
    assert answers == [False, False, True, False]
    assert asked == [False, True, False]
    assert (situation, repr(situation)) == (fresh, repr(fresh))
