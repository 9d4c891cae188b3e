"""The one word of a cluster's state."""

from datetime import timedelta
from typing import Any

import pytest

from controlplane.api.presenters.conditions import status_word
from controlplane.cluster.view import ConditionView
from tests.builders import NOW, a_document, a_view

LATER, EARLIER = NOW + timedelta(seconds=1), NOW - timedelta(seconds=1)
BLOCKED = {"Blocked": ConditionView(True, "BrokerDown", "broker 1000 is down", EARLIER)}

FAILING = {"TickFailing": ConditionView(True, "Unexpected", "each tick fails", EARLIER)}


@pytest.mark.parametrize(
    ("overrides", "word"),
    [
        ({}, "Converged"),
        ({"generation": 2}, "Working"),
        ({"conditions": BLOCKED}, "Blocked"),
        ({"conditions": FAILING}, "Blocked"),
        ({"conditions": FAILING, "paused": "lunch"}, "Paused"),
        ({"paused": "lunch"}, "Paused"),
        ({"paused": "lunch", "paused_until": LATER}, "Paused"),
        ({"paused": "lunch", "paused_until": EARLIER}, "Converged"),
        ({"paused": "lunch", "paused_until": EARLIER, "generation": 2}, "Working"),
        ({"aborting": "oh", "paused": "oh", "paused_until": EARLIER}, "Paused"),
        ({"document": a_document(pause="true")}, "Paused"),
        ({"paused": "lunch", "tombstone": "gone"}, "Deleting"),
        ({"unreadable": "event 7"}, "Unreadable"),
    ],
)
def test_the_first_word_that_holds(overrides: dict[str, Any], word: str) -> None:
    assert status_word(a_view(**overrides), NOW) == word
