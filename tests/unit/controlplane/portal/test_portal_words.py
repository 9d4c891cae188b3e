"""Two words a cluster: is it what was asked for, and is it well."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.api.read_models.cluster_words import health_word, sync_word
from controlplane.cluster.view import ChaosView, ClusterView, ConditionView
from tests.builders import NOW, a_partition, a_snapshot, a_view
from tests.changed_view import changed_view

WELL = a_snapshot(a_partition())


def test_a_converged_cluster_is_synced_and_healthy() -> None:
    assert sync_word(a_view()).text == "Synced"
    assert health_word(a_view(), WELL, NOW).text == "Healthy"


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("", "Synced"),
        ("Synced", "Synced"),
        ("OutOfSync", "OutOfSync"),
        ("Refused", "OutOfSync"),
        ("Unknown", "Unknown"),
    ],
)
def test_a_cluster_is_no_more_in_sync_than_its_source(source: str, word: str) -> None:
    assert sync_word(a_view(), source).text == word


def test_a_declared_generation_that_is_not_reached_is_out_of_sync() -> None:
    view = changed_view(a_view(), generation=2, converged=1, recycling=2)
    assert sync_word(view).text == "OutOfSync"
    assert health_word(view, WELL, NOW).text == "Progressing"


def test_a_cluster_whose_ticks_fail_is_degraded_and_nobody_knows_whether_it_is_as_declared() -> None:
    failing = {"TickFailing": ConditionView(True, "Unexpected", "each tick fails since noon", NOW)}
    view = replace(a_view(), conditions=failing)
    assert (sync_word(view).text, sync_word(view).why) == (
        "Unknown",
        "it is not compared with its spec: TickFailing, Unexpected",
    )
    assert health_word(view, WELL, NOW).text == "Degraded"
    assert health_word(view, WELL, NOW).why == "TickFailing: each tick fails since noon"


def lost() -> ClusterView:
    view = a_view()
    first = view.brokers()[0]
    return replace(view, instances={**view.instances, first.key: replace(first, lost_at=NOW)})


FAULT = {"c": ChaosView("c", "pause", ("brokers-a-0.g1",), "asked by ada", NOW, 60.0)}
BLOCKED = {"Blocked": ConditionView(True, "MinIsrGate", "waits for orders-0", NOW)}


@pytest.mark.parametrize(
    ("view", "snapshot", "word"),
    [
        (changed_view(a_view(), unreadable="event 7"), WELL, "Unknown"),
        (lost(), WELL, "Degraded"),
        (a_view(), a_snapshot(a_partition(leader=-1)), "Degraded"),
        (a_view(), a_snapshot(a_partition(isr=(1000,))), "Degraded"),
        (a_view(), a_snapshot(a_partition(isr=(1000, 1001))), "Degraded"),
        (replace(a_view(), conditions=BLOCKED), WELL, "Degraded"),
        (changed_view(a_view(), chaos=FAULT), a_snapshot(a_partition(isr=(1000, 1001))), "Degraded"),
        (changed_view(a_view(), chaos=FAULT), WELL, "Healthy"),
        (changed_view(a_view(), paused="freeze"), WELL, "Suspended"),
        (changed_view(a_view(), held="adopted"), WELL, "Suspended"),
        (changed_view(a_view(), tombstone="asked for"), WELL, "Progressing"),
        (replace(a_view(), instances={}), WELL, "Missing"),
        (a_view(), None, "Unknown"),
        (a_view(), replace(WELL, at=NOW - timedelta(minutes=4)), "Unknown"),
    ],
)
def test_what_is_wrong_with_a_cluster_is_its_word(view: ClusterView, snapshot, word: str) -> None:  # type: ignore[no-untyped-def]
    found = health_word(view, snapshot, NOW)
    assert found.text == word
    assert found.why


def test_a_cluster_in_which_an_agent_finds_something_is_not_healthy() -> None:
    assert health_word(a_view(), WELL, NOW, ails=True).text == "Degraded"
    assert health_word(changed_view(a_view(), paused="freeze"), WELL, NOW, ails=True).text == "Suspended"
