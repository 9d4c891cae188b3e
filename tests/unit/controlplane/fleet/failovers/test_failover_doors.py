"""When it is proved that nobody gets in at a cluster's door, and what its agents are told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.door.order import wrong_door
from agent.wire import DoorReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.views.instances import InstanceView
from controlplane.fleet.failovers.doors import ShutOrder, door_document, shut_proof
from controlplane.fleet.failovers.wanted import DoorOrder
from tests.builders import BEFORE, NOW, a_report, an_instance

ORDERED = NOW - timedelta(seconds=20)
ORDER = ShutOrder("p1", 4, ORDERED)
SHUT = DoorReport(pair="p1", state="shut", epoch=4, in_force=True, connections=0)
ONE, TWO = an_instance("brokers-a-0"), an_instance("brokers-b-0")


def said(instance: InstanceView, door: DoorReport | None, **more: Any) -> ReportSeen:
    seen = a_report(instance, **more)
    return replace(seen, report=seen.report.model_copy(update={"door": door}))


def test_each_agents_word_of_this_order_proves_it() -> None:
    found = shut_proof(ORDER, [ONE, TWO], {one.key: said(one, SHUT) for one in (ONE, TWO)}, NOW)
    assert found.is_proved
    assert str(found) == "no client gets in at any VM"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"epoch": 3}, "its door is shut by an order of epoch 3, and this one is of epoch 4"),
        ({"epoch": 5}, "its door is shut by an order of epoch 5"),
        ({"pair": "p0"}, "by an order of another pair (p0)"),
        ({"state": "open"}, "its door is open"),
        ({"state": "none"}, "its door is none"),
        ({"in_force": False, "problem": "nft is not on this VM"}, "has not taken the rules: nft is not on this VM"),
        ({"in_force": False}, "nobody knows why"),
        ({"connections": None}, "nobody can count"),
        ({"connections": 1}, "1 connection of clients still stand"),
    ],
)
def test_any_other_word_is_no_proof_and_says_why(changes: dict[str, Any], why: str) -> None:
    report = said(ONE, SHUT.model_copy(update=changes))
    found = shut_proof(ORDER, [ONE, TWO], {ONE.key: report, TWO.key: said(TWO, SHUT)}, NOW)
    assert not found.is_proved
    assert found.lacking.keys() == {ONE.key}
    assert why in str(found)


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (None, "has said nothing yet"),
        (said(ONE, SHUT, received_at=ORDERED), "nothing since the order"),
        (said(ONE, SHUT, received_at=BEFORE - timedelta(hours=1)), "has been silent for"),
        (said(ONE, None), "tells nothing of a door"),
    ],
    ids=["never heard", "not since the order", "silent", "an agent of before"],
)
def test_silence_is_no_proof(report: ReportSeen | None, why: str) -> None:
    reports = {ONE.key: report} if report is not None else {}
    assert why in shut_proof(ORDER, [ONE], reports, NOW).lacking[ONE.key]


def test_a_vm_that_speaks_after_a_listing_called_it_gone_is_not_gone() -> None:
    lost = replace(ONE, lost_at=NOW - timedelta(seconds=10))
    assert not shut_proof(ORDER, [lost], {ONE.key: said(ONE, None)}, NOW).is_proved
    assert shut_proof(ORDER, [lost], {ONE.key: said(ONE, None, received_at=NOW - timedelta(seconds=11))}, NOW).is_proved


def test_a_vm_that_the_inventory_calls_gone_lets_nobody_in() -> None:
    assert shut_proof(ORDER, [replace(ONE, lost_at=BEFORE)], {}, NOW).is_proved
    assert shut_proof(ORDER, [an_instance("brokers-a-0", 1, Phase.RETIRED)], {}, NOW).is_proved


def test_a_vm_on_its_way_counts_once_it_may_have_been_made() -> None:
    planned = an_instance("brokers-c-0", 1, Phase.REQUESTED)
    assert shut_proof(ORDER, [planned], {}, NOW).is_proved
    assert not shut_proof(ORDER, [an_instance("brokers-c-0", 1, Phase.LAUNCHED)], {}, NOW).is_proved
    told = {planned.key: said(planned, None)}
    assert not shut_proof(ORDER, [planned], told, NOW).is_proved, "nobody listed it, and it spoke"


def test_others_are_counted() -> None:
    assert str(shut_proof(ORDER, [ONE, TWO], {}, NOW)).endswith("said nothing yet, and of 1 other VM")


@pytest.mark.parametrize(("is_open", "word"), [(True, "open"), (False, "shut")])
def test_agents_are_told_what_is_ordered(is_open: bool, word: str) -> None:
    ordered = DoorOrder(is_open, 4)
    told = door_document("p1", ordered, [9096, 9092, 9096], ["10.1.0.0/24", "10.0.0.0/24", "10.1.0.0/24"])
    assert (told.pair, told.state, told.epoch) == ("p1", word, 4)
    assert (told.ports, told.members) == ((9092, 9096), ("10.0.0.0/24", "10.1.0.0/24"))
    assert wrong_door(told) == ""


@pytest.mark.parametrize(
    ("changes", "is_heard_open"),
    [
        ({"state": "open", "epoch": 3}, True),
        ({"connections": 2}, True),
        ({"in_force": False, "connections": None, "problem": "nft is not on this VM"}, True),
        ({"connections": None}, False),
    ],
)
def test_an_agent_that_says_that_clients_get_in_is_not_one_that_proves_nothing(
    changes: dict[str, Any], is_heard_open: bool
) -> None:
    """Against the first no person's word counts; for the second it is asked for."""
    found = shut_proof(ORDER, [ONE], {ONE.key: said(ONE, SHUT.model_copy(update=changes))}, NOW)
    assert found.lacking.keys() == {ONE.key}
    assert (ONE.key in found.heard_open) == is_heard_open


def test_what_an_agent_said_before_the_order_is_no_word_against_a_persons() -> None:
    before = said(ONE, SHUT.model_copy(update={"state": "open", "epoch": 3}), received_at=ORDERED)
    assert shut_proof(ORDER, [ONE], {ONE.key: before}, NOW).heard_open == frozenset()
