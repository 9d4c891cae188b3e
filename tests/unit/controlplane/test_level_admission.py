"""A pin of the metadata level that comes too late is refused; one that was there is left alone."""

from dataclasses import replace

import pytest

from controlplane.admission import admission_problems
from controlplane.view import ClusterView
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE
from tests.builders import a_document, a_view

FINALISED = {"metadata.version": 29}


def _on_4_2(**changes: object) -> KafkaClusterDocument:
    return a_document(version="4.2.0", **changes)


def _told(view: ClusterView, document: KafkaClusterDocument) -> list[str]:
    return [problem.message for problem in admission_problems(view, document, positions=NOWHERE, snapshot=None)]


@pytest.mark.parametrize("pin", ["3.9", "4.0", "4.1"])
def test_a_pin_below_the_level_that_is_finalised_is_refused_since_it_keeps_no_way_back(pin: str) -> None:
    view = replace(a_view(), document=_on_4_2(), finalised=FINALISED)
    [message] = _told(view, _on_4_2(config=f', metadataVersion: "{pin}"'))
    assert message.startswith(f"metadata level 29 is finalised, and a pin at {pin} (")
    assert message.endswith("keeps no way back")


def test_a_pin_at_the_level_or_before_its_roll_is_taken() -> None:
    pinned = _on_4_2(config=', metadataVersion: "4.1"')
    assert _told(replace(a_view(), document=a_document()), pinned) == []
    at_it = replace(a_view(), document=_on_4_2(), finalised=FINALISED)
    assert _told(at_it, _on_4_2(config=', metadataVersion: "4.2"')) == []


def test_a_pin_that_was_accepted_once_is_accepted_again() -> None:
    pinned = _on_4_2(config=', metadataVersion: "4.1"')
    view = replace(a_view(), document=pinned, finalised=FINALISED)
    assert _told(view, _on_4_2(config=', metadataVersion: "4.1"', brokers=6)) == []
