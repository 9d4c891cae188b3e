"""What the converger's log tells of the event log."""

import logging
from datetime import timedelta

import pytest

from controlplane.storage.lease import LostLeadership
from tests.unit.controlplane.converger.tick.test_converger_fleet import GOOD, Fleet


def events_told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.cluster, r.event) for r in caplog.records if hasattr(r, "event") and hasattr(r, "cluster")]


@pytest.fixture
def fleet() -> Fleet:
    return Fleet(GOOD)


def test_what_was_recorded_before_the_server_started_is_not_told(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        fleet.tick()
    assert "cluster.declared" not in [event for _, event in events_told(caplog)]


def test_what_is_recorded_is_told_once_by_the_server_that_leads(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    fleet.tick()
    fleet.now += timedelta(seconds=1)
    fleet.declare(GOOD)
    with caplog.at_level(logging.INFO):
        fleet.tick()
        fleet.converger.catch_up()
    assert events_told(caplog).count((GOOD, "cluster.declared")) == 1


def test_a_server_that_does_not_lead_tells_nothing(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    fleet.tick()
    fleet.leads = False
    with pytest.raises(LostLeadership):
        fleet.tick()
    fleet.now += timedelta(seconds=1)
    fleet.declare(GOOD)
    with caplog.at_level(logging.INFO):
        fleet.converger.catch_up()
    assert fleet.converger.position == fleet.store.head(), "it folds them all the same"
    assert events_told(caplog) == []
