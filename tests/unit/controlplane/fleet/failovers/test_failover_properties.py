"""What holds of a pair whatever comes in whatever order (F1, F2, F3): any order of any events, and seeds that walk
through what is legal."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from controlplane.fleet.failovers.fold import RULES, IllegalStep, after
from controlplane.fleet.failovers.view import PairState, PairView
from events import failover_facts as facts

CLUSTERS = ("eu", "us")
orders, clusters, epochs = st.sampled_from(["f1", "f2"]), st.sampled_from(CLUSTERS), st.integers(0, 6)
ANY = st.one_of(
    st.builds(facts.FailoverDeclared, st.just("p"), clusters, clusters, st.sampled_from(["cold", "warm"])),
    st.builds(facts.CopyRequested, st.just({})),
    st.builds(facts.ReplicatorPlaced, clusters, st.sampled_from(["", "a", "b"])),
    st.builds(facts.StandbySeeded, st.just("x")),
    st.builds(facts.FailoverRequested, orders, st.booleans(), st.just("x")),
    st.builds(facts.StandbyReady, orders, st.just("x")),
    st.builds(facts.NamesFlipRequested, orders, clusters),
    st.builds(facts.NamesFlipped, orders, clusters),
    st.builds(facts.DoorCloseRequested, orders, clusters, epochs),
    st.builds(facts.DoorClosed, clusters, epochs, st.sampled_from(["agents", "inventory"]), st.just("x")),
    st.builds(facts.PairDrained, orders, st.just(1)),
    st.builds(facts.OffsetsAlignRequested, orders),
    st.builds(facts.OffsetsAligned, orders, st.just({})),
    st.builds(facts.ReplicatorStopRequested, orders),
    st.builds(facts.ReplicatorStopped, orders, st.just("x")),
    st.builds(facts.DivergenceJudged, orders, st.sampled_from([{}, {"a-0": 3}])),
    st.builds(facts.PromotionRequested, orders, clusters, epochs),
    st.builds(facts.DoorOpened, clusters, epochs),
    st.builds(facts.PairPromoted, orders),
    st.builds(facts.FailoverAbortRequested, orders, epochs, st.just("x")),
    st.builds(facts.FailoverAborted, orders),
    st.just(facts.PairSpecChanged({}, "api", "", "")),
    st.just(facts.PairWithdrawn("x")),
    st.just(facts.PairUndeclared("4f2a")),
    st.builds(facts.EpochsMissed, clusters, st.just("a"), epochs),
)


def judge(before: PairView, view: PairView, fact: object, *, was_seeded: bool) -> None:
    """Raises AssertionError with the first property that does not hold behind that fact."""
    ajar = [cluster for cluster, door in view.doors.items() if not door.is_shut]
    if was_seeded:
        assert len(ajar) <= 1, f"F1: {ajar} after {fact}"
    if isinstance(fact, facts.PromotionRequested):
        assert before.order is not None
        assert before.doors[before.primary].is_shut
        assert before.doors[before.primary].epoch >= before.order.first_epoch, "F2: proved by something newer"
    if view.flow is not None:
        source, target = view.flow
        assert (source, target) == (view.primary, view.standby), "F3: one flow"
        assert view.doors[target].is_shut, f"F3: it writes behind an open door after {fact}"
    if isinstance(fact, facts.CopyRequested):
        assert not before.may_diverge, "F4: nothing is copied onto records that nobody else has"
    if view.replicator_at:
        assert view.flow is not None, "who copies has a flow"
        assert view.replicator_at in ("", before.replicator_at) or not before.replicator_at, "F3: one at a time"
    assert view.last_epoch >= before.last_epoch
    assert all(door.epoch <= view.last_epoch for door in view.doors.values())


@given(st.lists(ANY, max_size=40))
def test_no_order_of_events_opens_two_doors(story: list[object]) -> None:
    view, was_seeded = PairView(), False
    for fact in story:
        try:
            changed = after(view, fact)
        except IllegalStep:
            continue  # who records asks first; the fold of a stream that has it anyway stands still
        was_seeded = was_seeded or changed.state is PairState.STANDBY
        judge(view, changed, fact, was_seeded=was_seeded)
        view = changed


def candidates(view: PairView, random_: random.Random) -> list[object]:
    """Facts with every order, cluster and epoch that could matter now."""
    order = view.order.id if view.order is not None else f"f{view.last_epoch}"
    following, known = view.last_epoch + 1, range(view.last_epoch + 2)
    found: list[object] = [
        facts.FailoverDeclared("p", "eu", "us", random_.choice(("cold", "warm"))),
        facts.CopyRequested({}),
        *(facts.ReplicatorPlaced(cluster, key) for cluster in CLUSTERS for key in ("", "a", "b")),
        facts.StandbySeeded("x"),
        facts.FailoverRequested(order, random_.random() < 0.5, "x"),
        facts.StandbyReady(order, "x"),
        facts.PairDrained(order, 1),
        facts.OffsetsAlignRequested(order),
        facts.OffsetsAligned(order, {}),
        facts.ReplicatorStopRequested(order),
        facts.ReplicatorStopped(order, "x"),
        facts.DivergenceJudged(view.ended.id if view.ended is not None else order, {}),
        facts.PairPromoted(order),
        facts.FailoverAborted(order),
        facts.FailoverAbortRequested(order, following, "x"),
    ]
    for cluster in CLUSTERS:
        found += [facts.NamesFlipRequested(order, cluster), facts.NamesFlipped(order, cluster)]
        found += [
            facts.DoorCloseRequested(order, cluster, following),
            facts.PromotionRequested(order, cluster, following),
        ]
        found += [facts.DoorClosed(cluster, epoch, "agents", "x") for epoch in known]
        found += [facts.DoorOpened(cluster, epoch) for epoch in known]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_seeds_walk_through_all_states_and_never_open_two_doors(seed: int) -> None:
    random_, seen = random.Random(seed), Counter[object]()
    for _ in range(25):
        view, was_seeded = PairView(), False
        for _ in range(60):
            if not 0 <= view.last_epoch < 12:
                break
            legal = [
                (fact, changed) for fact in candidates(view, random_) if (changed := tried(view, fact)) is not None
            ]
            # Most steps lead on, a few are repeats and late answers, and an abort comes seldom.
            moving = [one for one in legal if one[1] != view and not _is_seldom(view, one[0])]
            fact, changed = random_.choice(moving if moving and random_.random() < 0.9 else legal)
            was_seeded = was_seeded or changed.state is PairState.STANDBY
            judge(view, changed, fact, was_seeded=was_seeded)
            seen[type(fact)] += 1
            seen[changed.state] += 1
            view = changed
            # Tried, not done: nothing follows these.
            for beside in (
                facts.PairSpecChanged({}, "api", "", ""),
                facts.PairWithdrawn("x"),
                facts.PairUndeclared("4f2a"),
                facts.EpochsMissed("eu", "a", 99),
            ):
                seen[type(beside)] += tried(view, beside) is not None
    assert {state for state in PairState if not seen[state]} == set()
    assert {rule for rule in RULES if not seen[rule]} == set()


def _is_seldom(view: PairView, fact: object) -> bool:
    """An abort, and an order in the place of one that is taken back."""
    return isinstance(fact, facts.FailoverAbortRequested) or (
        isinstance(fact, facts.FailoverRequested) and view.state is PairState.ABORTING
    )


def tried(view: PairView, fact: object) -> PairView | None:
    try:
        return after(view, fact)
    except IllegalStep:
        return None


def test_the_judge_sees_two_open_doors() -> None:
    view = PairView()
    for fact in (facts.FailoverDeclared("p", "eu", "us", "warm"), facts.DoorClosed("us", 1, "agents", "x")):
        view = after(view, fact)
    both = replace(view, doors=dict.fromkeys(CLUSTERS, view.doors["eu"]))
    with pytest.raises(AssertionError, match="F1"):
        judge(view, both, "x", was_seeded=True)
