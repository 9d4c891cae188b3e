"""Plans of failovers: their steps and point of no return, what may be lost, and what is refused."""

from dataclasses import replace

import pytest

from controlplane.fleet.failovers.fold import IllegalStep, after
from controlplane.fleet.failovers.losses import loss_of
from controlplane.fleet.failovers.orders import FailoverPlan, FailoverWish, plan_of
from controlplane.fleet.failovers.seen import (
    NOTHING_SEEN,
    CopySeen,
    DoorSeen,
    NamesSeen,
    PairSeen,
    ReplicatorsSeen,
    StandbyBuild,
)
from controlplane.fleet.failovers.steps import PairStep, PairWait, next_step
from controlplane.fleet.failovers.view import ABORTABLE, PairView
from controlplane.fleet.failovers.wanted import DoorOrder, wants_of
from events import failover_facts as facts
from tests.unit.controlplane.failover_samples import PLANNED
from tests.unit.controlplane.fleet.failovers.pair_world import declared

EMPTY = PairView()


def told(*story: object, mode: str = "warm") -> PairView:
    view = replace(EMPTY, declaration=declared(mode))
    for fact in story:
        view = after(view, fact)
    return view


COLD = told(facts.FailoverDeclared("p", "eu", "us", "cold"), facts.DoorClosed("us", 1, "agents", ""), mode="cold")
WAITING = told(*PLANNED[:4])
KEEPS_UP = PairSeen(replicators=ReplicatorsSeen(is_running=True), copy=CopySeen(0.2))
BEHIND = PairSeen(copy=CopySeen(12.0, {"orders-1": 40, "orders-0": 2}))


def plan(view: PairView, *, planned: bool = True, seen: PairSeen = NOTHING_SEEN, accepts: bool = False) -> FailoverPlan:
    return plan_of(view, seen, FailoverWish(planned, accepts, "orders-eu", "orders-us"), 3)


def codes(found: FailoverPlan) -> list[str]:
    return [refusal.code for refusal in found.refusals]


def waits(view: PairView, seen: PairSeen = NOTHING_SEEN, brokers: int | None = 3) -> str:
    found = next_step(view, seen, brokers)
    assert isinstance(found, PairWait), found
    return found.reason


def test_a_planned_failover_drains_and_aligns_before_its_point_of_no_return() -> None:
    steps = plan(WAITING).steps
    assert [step.what for step in steps] == [
        "orders-us is ready",
        "the pair's name is to lead to orders-us",
        "it does",
        "the door of orders-eu is to be closed",
        "the door of orders-eu is closed",
        "orders-us has every record",
        "offsets of groups are to be set",
        "they are",
        "the replicator is to end",
        "it has",
        "the door of orders-us is to be opened",
        "it is open: producers go on",
        "orders-us is the primary",
    ]
    (point,) = [n for n, step in enumerate(steps) if step.is_point_of_no_return]
    assert steps[point].what == "the door of orders-us is to be opened"
    assert all(step.undo.startswith("nothing: the way back") == (n >= point) for n, step in enumerate(steps))
    assert "{" not in "".join(step.what + step.proof + step.undo for step in steps)


def test_an_unplanned_one_and_a_cold_one_drain_nothing() -> None:
    unplanned = [step.what for step in plan(WAITING, planned=False).steps]
    assert "orders-us has every record" not in unplanned
    assert "the replicator is to end" in unplanned
    cold = [step.what for step in plan(COLD).steps]
    assert "the replicator is to end" not in cold
    assert cold[-1] == "orders-us is the primary"


def test_a_pair_that_is_not_seeded_is_told_its_plan_and_refused() -> None:
    found = plan(told(*PLANNED[:2]))
    assert (len(found.steps), codes(found)) == (13, ["failover-not-ready"])
    assert "Seeding" in found.refusals[0].message
    assert codes(plan(told(*PLANNED))) == ["failover-not-ready"], "the way back is not copied yet"
    assert codes(plan(told(*PLANNED[:7]))) == ["failover-in-hand"]
    left = [step.what for step in plan(told(*PLANNED[:7])).steps]
    assert (left[0], len(left)) == ("it does", 11), "what is left of the order in hand"
    assert codes(plan(replace(WAITING, unreadable="event 7"))) == ["history-unreadable"]


def test_a_planned_failover_of_a_warm_pair_loses_nothing() -> None:
    loss = loss_of(WAITING, NOTHING_SEEN, planned=True)
    assert (loss.is_nothing, loss.exceeds(0)) == (True, False)
    assert codes(plan(WAITING, seen=KEEPS_UP)) == []


def test_a_planned_failover_whose_copy_does_not_keep_up_is_refused() -> None:
    """It would hold producers until it is aborted."""
    for seen, why in (
        (NOTHING_SEEN, "how far the copy is behind is not known"),
        (replace(KEEPS_UP, copy=CopySeen(31.0)), "31.0 s behind, and 30 s are allowed"),
        (replace(KEEPS_UP, replicators=ReplicatorsSeen()), "no VM copies yet"),
    ):
        found = plan(WAITING, seen=seen)
        assert codes(found) == ["failover-not-ready"]
        assert why in found.refusals[0].message
    assert codes(plan(WAITING, planned=False, accepts=True)) == []


def test_an_unplanned_one_names_what_the_standby_has_not() -> None:
    loss = loss_of(WAITING, BEHIND, planned=False)
    assert loss.lines[:3] == (
        "up to 12.0 s of acknowledged writes, and what was in flight",
        "orders-0: 2 records",
        "orders-1: 40 records",
    )
    assert (loss.exceeds(12), loss.exceeds(11)) == (False, True)
    many = PairSeen(copy=CopySeen(1.0, {f"t-{n:02}": 5 for n in range(30)}))
    assert "10 more partitions: 50 records" in loss_of(WAITING, many, planned=False).lines


def test_what_nobody_knows_is_no_small_loss() -> None:
    for seen in (NOTHING_SEEN, PairSeen(copy=CopySeen())):
        loss = loss_of(WAITING, seen, planned=False)
        assert loss.lines[0].startswith("unknown")
        assert loss.exceeds(10**9)
    assert codes(plan(WAITING, planned=False)) == ["failover-loses"]
    assert codes(plan(WAITING, planned=False, accepts=True)) == []
    assert codes(plan(WAITING, planned=False, seen=BEHIND)) == [], "12 s of the 60 s that are allowed"


def test_a_cold_standby_gets_no_record_whoever_asks() -> None:
    for planned in (True, False):
        loss = loss_of(COLD, NOTHING_SEEN, planned=planned)
        assert "every record stays on the old primary" in loss.lines[0]
        assert not loss.is_nothing
    assert codes(plan(COLD, planned=False)) == ["failover-not-ready", "failover-loses"]


def test_an_answer_to_an_earlier_order_proves_nothing() -> None:
    fencing = told(*PLANNED[:9])
    late = PairSeen(doors={"eu": DoorSeen(1, True, "agents", "before")})
    assert "not proved shut by order 2" in waits(fencing, late)
    found = next_step(fencing, PairSeen(doors={"eu": DoorSeen(2, True, "agents", "3 VMs")}), 3)
    assert found == PairStep(facts.DoorClosed("eu", 2, "agents", "3 VMs"))


@pytest.mark.parametrize(
    ("standby", "left"),
    [
        (StandbyBuild(2, 12, (), True), "2 of 3 brokers"),
        (StandbyBuild(3, 12, ("a", "b"), True), "2 topics without leaders"),
        (StandbyBuild(3, 12, (), False), "producer ids"),
        (None, "not known"),
    ],
)
def test_a_standby_that_is_not_ready_is_waited_for(standby: StandbyBuild | None, left: str) -> None:
    waiting = after(COLD, facts.StandbySeeded("2 brokers"))
    asked = after(waiting, facts.FailoverRequested("f1", True, "drill"))
    assert left in waits(asked, PairSeen(standby=standby))
    assert "the primary's are not" in waits(asked, PairSeen(standby=StandbyBuild(3, 12, (), True)), None)


def test_producers_that_are_held_too_long_are_let_go_on() -> None:
    for story in (PLANNED[:9], PLANNED[:10], PLANNED[:12]):
        view = told(*story)
        found = next_step(view, PairSeen(pause_s=61.0), 3)
        assert isinstance(found, PairStep)
        assert isinstance(found.fact, facts.FailoverAbortRequested), view.state
        assert view.state in ABORTABLE
        assert after(view, found.fact).state == "Aborting"
    unproved = next_step(told(*PLANNED[:14]), PairSeen(pause_s=61.0), 3)
    assert isinstance(unproved, PairStep)
    assert isinstance(unproved.fact, facts.FailoverAbortRequested), "a silent VM holds nobody for ever"
    late = next_step(told(*PLANNED[:15]), PairSeen(pause_s=61.0), 3)
    assert late == PairStep(facts.PromotionRequested("f1", "us", 3)), "what waits for nobody is ended, not taken back"


def test_a_name_is_flipped_once_every_answer_of_before_is_over() -> None:
    asked = told(*PLANNED[:7])
    assert "still kept" in waits(asked, PairSeen(names=NamesSeen("us", False)))
    assert "not every name server" in waits(asked, PairSeen(names=NamesSeen("eu", True)))
    found = next_step(asked, PairSeen(names=NamesSeen("us", True)), 3)
    assert found == PairStep(facts.NamesFlipped("f1", "us"))


def test_behind_an_unplanned_failover_a_person_says_what_becomes_of_the_old_records() -> None:
    story = [
        f for f in PLANNED if not isinstance(f, facts.PairDrained | facts.OffsetsAligned | facts.OffsetsAlignRequested)
    ]
    story[4] = facts.FailoverRequested("f1", False, "its region is gone")
    view = told(*story)
    assert view.may_diverge
    assert "its brokers have not told; if they never will, withdraw the pair" in waits(view, PairSeen(seeds={}))
    assert not told(*PLANNED).may_diverge
    found = next_step(view, PairSeen(seeds={}, only_there={"orders-0": 12, "orders-1": 1}), 3)
    assert found == PairStep(facts.DivergenceJudged("f1", {"orders-0": 12, "orders-1": 1}))
    torn = after(view, facts.DivergenceJudged("f1", {"orders-0": 12, "orders-1": 1}))
    words = waits(torn, PairSeen(seeds={}, only_there={"orders-0": 12, "orders-1": 1}))
    assert "up to 12 records of orders-0, and of 1 more partitions that the new one has not: withdraw" in words


def test_an_old_primary_that_has_nothing_of_its_own_is_copied_to_again_behind_an_unplanned_failover() -> None:
    story = [
        f for f in PLANNED if not isinstance(f, facts.PairDrained | facts.OffsetsAligned | facts.OffsetsAlignRequested)
    ]
    story[4] = facts.FailoverRequested("f1", False, "its region is gone")
    view = told(*story)
    with pytest.raises(IllegalStep, match="may have records that the primary has not"):
        after(view, facts.CopyRequested({}))
    whole = after(view, facts.DivergenceJudged("f1", {}))
    assert not whole.may_diverge
    seen = PairSeen(standby=StandbyBuild(3, 12, (), True), replicators=ReplicatorsSeen(), seeds={"orders-0": 7})
    assert next_step(whole, seen, 3) == PairStep(facts.CopyRequested({"orders-0": 7}))


def test_how_much_was_copied_is_waited_for_seconds_only_by_clients_of_an_unplanned_failover() -> None:
    story = (*PLANNED[:4], facts.FailoverRequested("f1", False, "gone"), *PLANNED[5:10])
    view = told(*story, facts.ReplicatorStopRequested("f1"))
    ended = PairSeen(replicators=ReplicatorsSeen(), pause_s=3.0)
    assert "how much was copied is not known yet" in waits(view, ended)
    words = "every process of it has ended"
    assert next_step(view, replace(ended, pause_s=15.0), 3) == PairStep(facts.ReplicatorStopped("f1", words))
    ends = {"orders": facts.TopicEnds("x", (5,), (5,))}
    found = next_step(view, replace(ended, ends=ends), 3)
    assert found == PairStep(facts.ReplicatorStopped("f1", words, ends))
    planned = told(*PLANNED[:13], facts.ReplicatorStopRequested("f1"))
    assert next_step(planned, ended, 3) == PairStep(facts.ReplicatorStopped("f1", words))
    seen = PairSeen(standby=StandbyBuild(3, 12, (), True), replicators=ReplicatorsSeen(), seeds={"orders-0": 7})
    found = next_step(told(*PLANNED), seen, 3)
    assert found == PairStep(facts.CopyRequested({"orders-0": 7}))


def test_what_is_wanted_follows_from_the_events_alone() -> None:
    wants = wants_of(told(*PLANNED[:15]), 3)
    assert wants.doors == {"eu": DoorOrder(False, 2), "us": DoorOrder(False, 1)}
    assert (wants.names_lead_to, wants.copies, wants.brokers) == ("us", None, None)
    assert wants_of(told(*PLANNED[:14]), 3).copies is None, "it is to end"
    assert wants_of(told(*PLANNED[:13]), 3).copies == ("eu", "us")
    assert wants_of(COLD, 3).brokers == 2
    growing = after(after(COLD, facts.StandbySeeded("")), facts.FailoverRequested("f1", True, ""))
    assert (wants_of(growing, 3).brokers, wants_of(growing, None).brokers) == (3, None)
    assert wants_of(replace(WAITING, unreadable="x"), 3).doors == {}
