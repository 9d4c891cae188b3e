"""What people may ask of leadership: who may be demoted, what it comes to, and what is refused."""

from dataclasses import replace

import pytest

from controlplane.cluster.commands import CommandRefused, DemoteBrokers, UndemoteBrokers
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import DemotionView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.demotions import demotion_asked, undemotion_asked
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from events import facts
from tests.builders import BEFORE, NOW, a_partition, a_snapshot, a_view

A, B, C = "brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1"
KAFKA = a_snapshot(a_partition("x-0", (1000, 1001)), a_partition("x-1", (1000,)), a_partition("x-2", (1001, 1000)))


def demote(view: ClusterView, *brokers: int, known: Lookups = NOTHING) -> CommandDecision:
    command = DemoteBrokers(name="orders", actor="person:anna", command_id="c1", reason="its disk", brokers=brokers)
    return demotion_asked(view, command, known)


def undemote(view: ClusterView, *brokers: int) -> CommandDecision:
    command = UndemoteBrokers(name="orders", actor="person:anna", command_id="c2", reason="", brokers=brokers)
    return undemotion_asked(view, command)


def demoted(**of: bool) -> ClusterView:
    return a_view(demotions={A: DemotionView(1000, "why", BEFORE, by_person=of.get("by_person", True))})


def test_what_changes_and_what_stays_is_counted() -> None:
    asked = demote(a_view(), 1000, 1000, known=Lookups(kafka=KAFKA))
    assert asked.fact == facts.BrokersDemoteRequested((A,), (1000,), "asked by anna: its disk")
    assert asked.sentence == (
        f"{A} will lead nothing until it is taken back: leaders to change 1, nothing is copied; "
        "of 1 partition no other replica in sync could lead: they stay (kedge undemote orders)"
    )


def test_one_that_is_demoted_already_is_told_and_not_asked_twice() -> None:
    assert demote(demoted(), 1000).fact is None
    both = demote(demoted(), 1000, 1001)
    assert both.fact == facts.BrokersDemoteRequested((B,), (1001,), "asked by anna: its disk")


def test_a_slow_one_becomes_a_persons() -> None:
    """Else it led again as soon as it was as fast as the others."""
    assert demote(demoted(by_person=False), 1000).fact is not None


@pytest.mark.parametrize(
    ("brokers", "code", "words"),
    [
        ((9,), "no-broker", "orders has no broker 9"),
        ((1000, 1001, 1002), "nobody-leads", "no broker of orders would be left to lead"),
    ],
)
def test_what_cannot_be_is_refused(brokers: tuple[int, ...], code: str, words: str) -> None:
    with pytest.raises(CommandRefused, match=words) as refused:
        demote(a_view(), *brokers)
    assert refused.value.code == code


def test_one_that_is_gone_or_on_its_way_is_refused() -> None:
    view = a_view()
    lost = replace(view, instances={**view.instances, A: replace(view.instances[A], lost_at=NOW)})
    with pytest.raises(CommandRefused, match="does not serve"):
        demote(lost, 1000)


def test_it_is_taken_back_by_whom_it_was_asked_for_alone() -> None:
    assert undemote(demoted(), 1000).fact == facts.BrokersUndemoteRequested((A,), "asked by anna")
    assert undemote(a_view(), 1000).fact is None
    with pytest.raises(CommandRefused, match="demoted as it is slow"):
        undemote(demoted(by_person=False), 1000)
