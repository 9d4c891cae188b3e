"""A pin of the metadata level that comes too late is refused; one that was there is left alone."""

from dataclasses import replace

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE
from planner.observed import FeatureSeen, KafkaSnapshot
from tests.builders import a_document, a_snapshot, a_view
from tests.changed_view import changed_view

FINALISED = {"metadata.version": 29}


def _on_4_2(**changes: object) -> KafkaClusterDocument:
    return a_document(version="4.2.0", **changes)


def _told(view: ClusterView, document: KafkaClusterDocument, snapshot: KafkaSnapshot | None = None) -> list[str]:
    return [problem.message for problem in admission_problems(view, document, positions=NOWHERE, snapshot=snapshot)]


def _runs_4_2() -> ClusterView:
    """Pinned at the level of 4.1, which is what Kedge knows to be finalised."""
    there = [replace(i, planned=replace(i.planned, kafka_version="4.2.0")) for i in a_view().instances.values()]
    return replace(a_view(*there), document=_on_4_2(config=', metadataVersion: "4.1"'))


def test_a_downgrade_below_a_level_that_somebody_raised_by_hand_is_refused() -> None:
    raised = replace(a_snapshot(), features={"metadata.version": FeatureSeen(29, 7, 29)})
    [message] = _told(_runs_4_2(), a_document(), raised)
    assert message == "metadata level 29 is finalised and Kafka 4.1.1 reads only up to 27"
    assert _told(_runs_4_2(), a_document(), a_snapshot()) == []


def test_a_downgrade_is_refused_while_nobody_knows_which_level_is_finalised() -> None:
    for unknown in (None, replace(a_snapshot(), features={})):
        [message] = _told(_runs_4_2(), a_document(), unknown)
        assert message == "Kafka 4.1.1 reads metadata levels up to 27, and the finalised one is not known"
        assert _told(_runs_4_2(), _on_4_2(config=', metadataVersion: "4.1"', brokers=6), unknown) == []


@pytest.mark.parametrize("pin", ["3.9", "4.0", "4.1"])
def test_a_pin_below_the_level_that_is_finalised_is_refused_since_it_keeps_no_way_back(pin: str) -> None:
    view = changed_view(a_view(), document=_on_4_2(), finalised=FINALISED)
    [message] = _told(view, _on_4_2(config=f', metadataVersion: "{pin}"'))
    assert message.startswith(f"metadata level 29 is finalised, and a pin at {pin} (")
    assert message.endswith("keeps no way back")


def test_a_pin_at_the_level_or_before_its_roll_is_taken() -> None:
    pinned = _on_4_2(config=', metadataVersion: "4.1"')
    assert _told(replace(a_view(), document=a_document()), pinned) == []
    at_it = changed_view(a_view(), document=_on_4_2(), finalised=FINALISED)
    assert _told(at_it, _on_4_2(config=', metadataVersion: "4.2"')) == []


def test_a_pin_that_was_accepted_once_is_accepted_again() -> None:
    pinned = _on_4_2(config=', metadataVersion: "4.1"')
    view = changed_view(a_view(), document=pinned, finalised=FINALISED)
    assert _told(view, _on_4_2(config=', metadataVersion: "4.1"', brokers=6)) == []
