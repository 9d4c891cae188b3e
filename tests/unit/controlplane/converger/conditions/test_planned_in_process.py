"""A plan that Spark was to make and the server made itself is told, with the reason, while it is in hand."""

from dataclasses import replace

import pytest

from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.plans import PlanView
from controlplane.converger.conditions.planned_in_process import PLANNED_IN_PROCESS, planned_in_process
from events import facts
from tests.builders import NOW, a_drain, a_situation, a_view
from tests.changed_view import changed_view

AWAY = "the worker is starting"


def planned_by(engine: str, *, told: bool = False) -> ClusterView:
    drain = replace(a_drain(), plan=PlanView("ab", engine, 3, 10, 1))
    view = changed_view(a_view(), drain=drain)
    known = {PLANNED_IN_PROCESS: ConditionView(True, "NotOnSpark", "why", NOW)} if told else {}
    return replace(view, conditions=known)


def said(view: ClusterView, why: str | None) -> facts.ConditionChanged | None:
    return planned_in_process(replace(a_situation(view), why_not_spark=why))


def test_a_plan_the_server_made_in_place_of_spark_is_told_with_the_reason() -> None:
    found = said(planned_by("in-process"), AWAY)
    assert found is not None
    assert (found.status, found.reason) == (True, "NotOnSpark")
    assert found.message.startswith(
        "the plan of the drain was made by the server itself, since Spark gave none: the worker is starting. "
    )


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (planned_by("spark"), ""),
        (planned_by("in-process"), None),  # as the settings have it
        (a_view(), AWAY),
    ],
    ids=["on spark", "without spark by the settings", "nothing planned"],
)
def test_what_is_as_it_was_asked_for_is_not_told(view: ClusterView, why: str | None) -> None:
    assert said(view, why) is None


@pytest.mark.parametrize(
    "view", [planned_by("spark", told=True), replace(planned_by("x", told=True), moves=a_view().moves)]
)
def test_it_is_over_with_a_plan_of_sparks_and_with_the_move(view: ClusterView) -> None:
    found = said(view, AWAY)
    assert found is not None
    assert not found.status
