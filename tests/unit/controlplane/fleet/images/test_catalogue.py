"""The catalogue's fold: what is there, what is withdrawn, and what it cannot read."""

import pytest

from controlplane.fleet.images.fold import urgency
from events import facts
from tests.unit.controlplane.fleet.images.catalogue_of import a_catalogue, flagged, published, withdrawn


def test_the_newest_version_and_revision_is_listed_first() -> None:
    catalogue = a_catalogue(published(1), published(2), published(1, kafka_version="4.10.0"))
    assert [r.name for r in catalogue.listed()] == ["4.10.0-r1", "4.1.1-r2", "4.1.1-r1"]
    assert [r.number for r in catalogue.of("4.1.1")] == [1, 2]


def test_what_is_withdrawn_stays_in_the_list_and_says_why() -> None:
    catalogue = a_catalogue(published(1), withdrawn(1))
    assert catalogue.revisions["4.1.1-r1"].withdrawn == "bad"


@pytest.mark.parametrize(
    "second", [published(1), withdrawn(2), published(2, security="dire"), facts.RecycleCompleted(1)]
)
def test_what_makes_no_sense_makes_the_catalogue_unreadable_and_nothing_is_folded_after_it(second: object) -> None:
    catalogue = a_catalogue(published(1), second, published(3))
    assert "event 2" in catalogue.unreadable
    assert catalogue.version == 3
    assert list(catalogue.revisions) == ["4.1.1-r1"]


def test_worse_is_more_urgent() -> None:
    assert urgency("critical") > urgency("high") > urgency("low") > urgency("") == 0
    assert a_catalogue(flagged(1, "low")).revisions["4.1.1-r1"].urgency == 1
