"""Losses of a listing that are not believed: too many at once, or of who spoke since; and a person's word on them."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.steps.rolls.arrivals import loss_step
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import BEFORE, NODES, NOW, a_report, a_situation, a_view, an_instance, an_inventory


def told(view: ClusterView, *events: object) -> ClusterView:
    """The view after these events."""
    for event in events:
        new, version = encode(event, "e1"), view.version + 1
        view = evolve(view, Recorded(1, "s", version, "e", new.type, new.schema, new.data, "t", None, None, 1, NOW))
        assert not view.history.unreadable, view.history.unreadable
    return view


def in_racks(view: ClusterView, racks: str) -> set[str]:
    return {i.key for i in view.alive() if i.planned.rack in racks}


def after_queries(view: ClusterView, gone: Collection[str], queries: int = 3) -> tuple[ClusterView, str]:
    """The view after so many ticks with that listing, and why the last one waited ("" where it did not)."""
    waits = ""
    for _ in range(queries):
        decision = loss_step(a_situation(view, inventory=an_inventory(view, gone=gone)))
        waits = decision.wait.reason if decision and decision.wait else ""
        view = told(view, *(decision.events if decision else ()))
    return view, waits


def lost(view: ClusterView) -> set[str]:
    return {i.key for i in view.alive() if i.lost}


def confirmed(view: ClusterView, keys: Collection[str]) -> ClusterView:
    return told(view, facts.LossesConfirmed(tuple(sorted(keys)), (), "asked by anna: fire"))


TWO_RACKS = [f"{n}.g1" for n in NODES if "-c-" in n]
ONE_RACK = [f"{n}.g1" for n in NODES if "-a-" not in n]


@pytest.mark.parametrize(
    ("without", "racks", "words"),
    [
        ((), "ab", "4 VMs are gone, and with them all of racks a and b"),
        ((), "abc", "6 VMs are gone, and with them all of racks a and b and c"),
        (TWO_RACKS, "ab", "4 VMs are gone, and with them all of racks a and b"),
        (ONE_RACK, "a", "2 VMs are gone, and with them all of rack a"),
    ],
    ids=["two of three racks", "all three", "both of two", "the only one"],
)
def test_a_listing_that_loses_too_much_freezes_the_cluster(without: Collection[str], racks: str, words: str) -> None:
    """With one or two racks it was believed, whatever their agents said."""
    view = a_view(without=without)
    gone = in_racks(view, racks)
    view, waits = after_queries(view, gone)
    assert waits == "ListingLostRacks"
    assert (view.vms.losses.doubted, lost(view)) == (tuple(sorted(gone)), set())
    decision = decide(a_situation(view, inventory=an_inventory(view, gone=gone)))
    assert words in decision.sentence
    assert [type(e) for e in decision.events] == [facts.ConditionChanged]
    assert decision.wait is not None
    named = " ".join(f"--rack {rack}" for rack in racks)
    assert decision.wait.next_command == f"kedge confirm-loss orders {named}"
    assert not decision.effects


def test_a_second_rack_after_a_recorded_first_one_freezes_too() -> None:
    view = a_view(*(an_instance(n, lost_at=BEFORE) for n in NODES if "-a-" in n))
    view, waits = after_queries(view, in_racks(view, "ab"))
    assert waits == "ListingLostRacks"
    assert view.vms.losses.doubted == tuple(sorted(in_racks(view, "b"))), "what is recorded as lost is not in doubt"


@pytest.mark.parametrize("racks", ["a", "b"])
def test_one_rack_of_two_is_believed(racks: str) -> None:
    view = a_view(without=TWO_RACKS)
    gone = in_racks(view, racks)
    view, _ = after_queries(view, gone)
    assert lost(view) == gone


def test_a_vm_that_is_all_of_its_cluster_is_believed() -> None:
    """Of one VM nobody can tell a wrong listing from a VM that died."""
    view = a_view(without=[f"{n}.g1" for n in NODES if n != "brokers-a-0"])
    view, _ = after_queries(view, {"brokers-a-0.g1"})
    assert lost(view) == {"brokers-a-0.g1"}


def test_a_vm_whose_agent_reported_after_the_listing_is_not_lost() -> None:
    view = a_view()
    gone = {"brokers-a-0.g1"}
    listing = an_inventory(view, gone=gone, at=NOW - timedelta(seconds=2))
    since = a_report(view.instances["brokers-a-0.g1"], received_at=NOW - timedelta(seconds=1))
    before = replace(since, received_at=listing.at)
    assert loss_step(a_situation(view, inventory=listing, reports={"brokers-a-0.g1": since})) is None
    decision = loss_step(a_situation(view, inventory=listing, reports={"brokers-a-0.g1": before}))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.InstanceLost]


def test_a_listing_that_shows_them_again_ends_the_doubt() -> None:
    view, _ = after_queries(a_view(), in_racks(a_view(), "ab"))
    view, waits = after_queries(view, ())
    assert (waits, view.vms.losses.doubted, lost(view)) == ("", (), set())


def test_vms_a_person_confirms_are_lost_and_no_others() -> None:
    view = a_view()
    gone = in_racks(view, "ab")
    view, _ = after_queries(view, gone)
    view = confirmed(view, in_racks(view, "a"))
    half, waits = after_queries(view, gone)
    assert (lost(half), waits) == (in_racks(view, "a"), "ListingLostRacks"), "a word on a says nothing of b"
    whole, waits = after_queries(confirmed(half, in_racks(view, "b")), gone)
    assert (lost(whole), waits, whole.vms.losses.doubted) == (gone, "", ())


def test_after_two_confirmed_racks_one_vm_of_the_third_is_lost_as_usual() -> None:
    view = a_view()
    gone = in_racks(view, "ab")
    view, _ = after_queries(view, gone)
    view, _ = after_queries(confirmed(view, gone), gone)
    view, _ = after_queries(view, {*gone, "brokers-c-0.g1"})
    assert lost(view) == {*gone, "brokers-c-0.g1"}


def test_after_two_confirmed_racks_the_third_is_not_believed() -> None:
    view = a_view()
    gone = in_racks(view, "ab")
    view, _ = after_queries(view, gone)
    view, _ = after_queries(confirmed(view, gone), gone)
    view, waits = after_queries(view, in_racks(view, "abc"))
    assert (lost(view), waits) == (gone, "ListingLostRacks")


def test_a_confirmed_vm_that_is_shown_again_has_to_be_confirmed_anew() -> None:
    view = a_view()
    gone = in_racks(view, "ab")
    view, _ = after_queries(view, gone)
    view, _ = after_queries(confirmed(view, in_racks(view, "a")), ())
    assert (view.vms.losses.confirmed, lost(view)) == (frozenset(), set())
    view, waits = after_queries(view, gone)
    assert (waits, lost(view)) == ("ListingLostRacks", set())


def test_a_confirmed_vm_whose_agent_speaks_is_not_lost() -> None:
    view = a_view()
    gone = in_racks(view, "ab")
    view, _ = after_queries(view, gone)
    view = confirmed(view, gone)
    listing = an_inventory(view, gone=gone, at=NOW - timedelta(seconds=2))
    since = {k: a_report(view.instances[k], received_at=NOW) for k in gone}
    decision = loss_step(a_situation(view, inventory=listing, reports=since))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.LossesDoubted]


def test_all_of_two_racks_confirmed_and_shown_again_have_to_be_confirmed_anew() -> None:
    view = a_view()
    gone = in_racks(view, "ab")
    view, _ = after_queries(view, gone)
    view, _ = after_queries(confirmed(view, gone), ())
    assert view.vms.losses.confirmed == frozenset()
