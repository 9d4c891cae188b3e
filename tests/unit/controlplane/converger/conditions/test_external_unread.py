"""`ExternalUnread` tells that a watched cluster that speaks TLS does not let Kedge in any more, and why."""

from dataclasses import replace
from datetime import timedelta

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.external import ExternalView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.conditions.external import EXTERNAL_UNREAD
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from events import facts
from tests.builders import NOW, a_situation, a_snapshot, a_view
from tests.external_clusters import an_external_document

WHY = "client properties `orders`: the file cannot be read: FileNotFoundError"


def theirs(name: str = "orders") -> ClusterView:
    return replace(a_view(document=an_external_document(client_properties=name)), external=ExternalView("c", {}))


def told(situation: Situation) -> list[facts.ConditionChanged]:
    return [c for c in condition_changes(situation, Decision("at rest")) if c.type == EXTERNAL_UNREAD]


def unread_for(minutes: int, view: ClusterView) -> Situation:
    seen = replace(a_snapshot(), at=NOW - timedelta(minutes=minutes))
    return a_situation(view, kafka=seen, missing={"kafka": WHY})


def test_what_cannot_be_read_for_minutes_is_told_with_the_reason() -> None:
    (change,) = told(unread_for(4, theirs()))
    assert (change.status, change.reason) == (True, "NotLetIn")
    assert WHY in change.message
    assert told(unread_for(2, theirs())) == []


def test_a_server_that_has_not_asked_yet_tells_nothing_and_one_that_asked_in_vain_does() -> None:
    assert told(a_situation(theirs(), kafka=None)) == []
    assert len(told(a_situation(theirs(), kafka=None, missing={"kafka": WHY}))) == 1


def test_clusters_that_name_no_properties_are_told_of_as_ever() -> None:
    assert told(unread_for(4, theirs(""))) == []
