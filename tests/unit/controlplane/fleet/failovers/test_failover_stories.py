"""Stories of a pair, told by its states: planned, unplanned, cold, back again, and aborted at every step."""

from collections.abc import Iterable

import pytest

from controlplane.fleet.failovers.fold import IllegalStep, after, evolve
from controlplane.fleet.failovers.view import ABORTABLE, DoorState, PairState, PairView
from events import failover_facts as facts
from events.codec import encode
from events.envelope import Recorded
from events.spec.failover_model import KafkaFailoverDocument
from tests.builders import NOW
from tests.unit.controlplane.failover_samples import ABORTED, PLANNED


def told(story: Iterable[object], view: PairView | None = None) -> PairView:
    view = view or PairView()
    for fact in story:
        view = after(view, fact)
    return view


def states(story: Iterable[object], view: PairView | None = None) -> list[str]:
    """Each state as it is reached."""
    view, found = view or PairView(), list[str]()
    for fact in story:
        view = after(view, fact)
        found += [str(view.state)] if found[-1:] != [str(view.state)] else []
    return found


def doors(view: PairView) -> dict[str, str]:
    return {cluster: str(door.state) for cluster, door in view.doors.items()}


def test_a_planned_failover_and_its_way_back() -> None:
    assert states(PLANNED) == [
        "Seeding",
        "Standby",
        "Preparing",
        "Flipping",
        "Fencing",
        "Draining",
        "Aligning",
        "Promoting",
        "Reversing",
    ]
    view = told(PLANNED)
    assert (view.primary, view.standby, view.flow, view.order, view.names_lead_to) == ("us", "eu", None, None, "us")
    assert doors(view) == {"eu": "closed", "us": "open"}
    back = told((facts.CopyRequested({"orders-0": 4419}), facts.StandbySeeded("lag 0.1 s")), view)
    assert (back.state, back.flow) == (PairState.STANDBY, ("us", "eu"))


def test_an_unplanned_one_drains_nothing_and_a_dead_primary_is_proved_by_the_cloud() -> None:
    begun = told((*PLANNED[:4], facts.FailoverRequested("f1", False, "its region is gone"), *PLANNED[5:9]))
    fenced = after(begun, facts.DoorClosed("eu", 2, "inventory", "3 VMs gone"))
    assert fenced.state is PairState.PROMOTING
    assert told(PLANNED[13:], fenced).primary == "us"


def test_a_cold_pair_copies_nothing_and_is_seeded_again_behind_its_failover() -> None:
    cold = facts.FailoverDeclared("orders", "eu", "us", "cold")
    story = (cold, PLANNED[1], *PLANNED[3:10], *PLANNED[15:])
    assert states(story)[-3:] == ["Fencing", "Promoting", "Seeding"]
    with pytest.raises(IllegalStep, match="nothing is to be copied"):
        after(told((cold, PLANNED[1])), facts.CopyRequested({}))


@pytest.mark.parametrize("step", range(5, 16))
def test_before_the_promotion_every_step_is_aborted_and_the_primary_serves_again(step: int) -> None:
    begun = told(PLANNED[:step])
    assert begun.state in ABORTABLE
    abort = facts.FailoverAbortRequested("f1", begun.last_epoch + 1, "taken back")
    view = told((abort, facts.DoorOpened("eu", abort.epoch), *ABORTED[2:4]), begun)
    if begun.order is not None and begun.order.replicator_stops and begun.flow is not None:
        with pytest.raises(IllegalStep, match="the replicator was to stop"):
            after(view, ABORTED[4])
        view = after(view, facts.ReplicatorStopped("f1", "ended"))
    view = after(view, ABORTED[4])
    assert (view.state, view.primary, view.names_lead_to, view.order) == (PairState.SEEDING, "eu", "eu", None)
    assert doors(view) == {"eu": "open", "us": "closed"}


def test_behind_the_promotion_nothing_is_aborted() -> None:
    for step in (16, 17):
        view = told(PLANNED[:step])
        with pytest.raises(IllegalStep, match="the way back is a failback"):
            after(view, facts.FailoverAbortRequested("f1", view.last_epoch + 1, "too late"))
    with pytest.raises(IllegalStep, match="the pair is Reversing"):
        after(told(PLANNED), facts.FailoverAbortRequested("f1", 4, "too late"))


def test_an_answer_to_an_earlier_order_proves_nothing() -> None:
    """The old primary's agents tell late that they have closed a door that was to be opened again since."""
    aborting = told((*PLANNED[:9], facts.FailoverAbortRequested("f1", 3, "slow")))
    late = after(aborting, facts.DoorClosed("eu", 2, "agents", "late"))
    assert late.doors["eu"].state is DoorState.OPENING
    assert after(late, facts.DoorOpened("eu", 3)).doors["eu"].state is DoorState.OPEN


@pytest.mark.parametrize(
    ("before", "fact", "why"),
    [
        (0, PLANNED[3], "no pair was declared"),
        (1, PLANNED[0], "declared before"),
        (1, PLANNED[2], "the standby's door is not shut"),
        (2, PLANNED[3], "nothing is copied to it"),
        (3, PLANNED[4], "the pair is Seeding"),
        (5, PLANNED[4], "the pair is Preparing"),
        (5, facts.StandbyReady("f0", "x"), "f0 is not the order in hand"),
        (6, facts.NamesFlipRequested("f1", "eu"), "lead elsewhere"),
        (6, PLANNED[7], "was not to lead there"),
        (8, facts.DoorCloseRequested("f1", "us", 2), "the primary's door"),
        (8, facts.DoorCloseRequested("f1", "eu", 1), "its epoch is 1, after 1"),
        (9, facts.DoorClosed("eu", 9, "agents", "x"), "no order has that epoch"),
        (9, facts.DoorClosed("ap", 1, "agents", "x"), "ap is not of the pair"),
        (9, facts.DoorOpened("ap", 1), "ap is not of the pair"),
        (9, facts.DoorOpened("eu", 9), "no order has that epoch"),
        (11, PLANNED[12], "nobody was to align them"),
        (13, PLANNED[14], "nobody was to stop it"),
        (13, PLANNED[15], "the replicator may still write"),
        (15, facts.PromotionRequested("f1", "eu", 3), "the standby that is promoted"),
        (15, PLANNED[13], "nothing is copied"),
        (16, facts.PromotionRequested("f1", "us", 4), "and once"),
        (16, PLANNED[17], "its door is not open"),
        (16, "something", "knows no str"),
    ],
)
def test_what_is_not_legal_says_why(before: int, fact: object, why: str) -> None:
    with pytest.raises(IllegalStep, match=why):
        after(told(PLANNED[:before]), fact)


def test_a_cluster_is_no_pair_with_itself() -> None:
    with pytest.raises(IllegalStep, match="does not take over from itself"):
        after(PairView(), facts.FailoverDeclared("orders", "eu", "eu", "warm"))


def test_the_primarys_door_reopens_first_and_then_its_name_and_then_it_is_aborted() -> None:
    aborting = told((*PLANNED[:10], ABORTED[0]))
    with pytest.raises(IllegalStep, match="the primary's door is not open"):
        after(aborting, ABORTED[4])
    with pytest.raises(IllegalStep, match="does not lead to the primary yet"):
        after(after(aborting, ABORTED[1]), ABORTED[4])


def test_what_cannot_be_placed_freezes_the_pair_as_it_stands() -> None:
    view = PairView()
    for version, fact in enumerate((*PLANNED[:9], PLANNED[15], *PLANNED[9:]), 1):
        view = evolve(view, recorded(fact, version))
    assert view.unreadable.startswith("event 10 (failover.promotion_requested): the pair is Fencing")
    assert (view.version, view.state) == (19, PairState.FENCING)
    assert doors(view) == {"eu": "closing", "us": "closed"}


def test_an_event_of_a_later_release_freezes_it_too() -> None:
    later = Recorded(1, "failover-orders", 1, "e", "failover.teleported", 1, {}, "converger", None, None, 1, NOW)
    assert "teleported" in evolve(PairView(), later).unreadable


def recorded(fact: object, version: int) -> Recorded:
    new = encode(fact, f"e{version}")
    return Recorded(
        version, "failover-orders", version, "e", new.type, new.schema, new.data, "converger", None, None, 1, NOW
    )


def test_a_pair_is_withdrawn_at_rest_alone_and_for_ever() -> None:
    waiting = told(PLANNED[:2])
    over = after(waiting, facts.PairWithdrawn("orders-us is given up"))
    assert (over.is_withdrawn, doors(over)) == (True, {})
    for fact in (*PLANNED[:5], facts.PairWithdrawn("again"), facts.PairSpecChanged({}, "api", "", "")):
        with pytest.raises(IllegalStep):
            after(over, fact)
    with pytest.raises(IllegalStep, match="an order is in hand"):
        after(told(PLANNED[:6]), facts.PairWithdrawn("x"))
    copied = after(told((*PLANNED[:3], facts.ReplicatorPlaced("us", "brokers-a-0.g1"))), facts.PairWithdrawn("x"))
    assert (copied.flow, copied.copies, copied.replicator_at) == (None, None, ""), "nothing is copied behind it"


def test_documents_of_a_pair_are_counted_and_the_last_one_is_in_force() -> None:
    first = KafkaFailoverDocument.model_validate(
        {
            "metadata": {"name": "orders"},
            "spec": {"clusters": ["a", "b"], "bootstrap": {"dns": "o.example"}, "mode": "cold", "standby": {"size": 3}},
        }
    )
    data = first.model_dump(mode="json", by_alias=True)
    larger = {**data, "spec": {**data["spec"], "standby": {"size": 5}}}
    view = evolve(PairView(), recorded(facts.FailoverDeclared("orders", "eu", "us", "cold", data, "api", "p.yaml"), 1))
    view = evolve(view, recorded(facts.PairSpecChanged(larger, "api", "p.yaml", ""), 2))
    assert view.declaration is not None
    assert view.declaration.document.spec.standby is not None
    assert (view.declaration.generation, view.declaration.document.spec.standby.size) == (2, 5)
    assert (view.declaration.path, view.unreadable) == ("p.yaml", "")
    strange = evolve(view, recorded(facts.PairSpecChanged({"kind": "?"}, "api", "", ""), 3))
    assert "failover.spec_changed" in strange.unreadable
