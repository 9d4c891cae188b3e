"""The latency brake: bounded, monotone in the figures, lets go again, still under constant figures."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from planner.latency_brake import (
    BrakeLimits,
    BrakeState,
    BrokerLoad,
    Concerned,
    Figure,
    Judgement,
    judged,
)

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
LIMITS = BrakeLimits()
WELL = BrokerLoad(
    at=NOW,
    produce_p99_ms=10.0,
    produce_mean_ms=2.0,
    request_queue=0.0,
    handlers_busy=0.2,
    disk_busy=0.3,
    disk_wait_ms=4.0,
)
BEFORE = {1: WELL, 2: WELL}
SLOW = replace(WELL, produce_p99_ms=60.0, produce_mean_ms=20.0)


def since(load: BrokerLoad, *, seconds: int = 300, until: datetime = NOW) -> list[BrokerLoad]:
    """The same figures every 5 s up to `until`."""
    return [replace(load, at=until - timedelta(seconds=s)) for s in range(seconds, -1, -5)]


def seen(one: BrokerLoad, other: BrokerLoad = WELL, *, before: dict[int, BrokerLoad] | None = None) -> Concerned:
    return Concerned({1: since(one), 2: since(other)}, BEFORE if before is None else before)


def one(load: BrokerLoad, state: BrakeState = BrakeState()) -> Judgement:  # noqa: B008 - frozen
    return judged(state, seen(load), LIMITS, NOW)


def run(load: BrokerLoad, state: BrakeState, *, minutes: int) -> list[float]:
    """The shares of every tick of 10 s while these figures stay."""
    shares = []
    for step in range(minutes * 6):
        now = NOW + timedelta(seconds=10 * step)
        looks = {1: since(load, seconds=70, until=now)}
        share = judged(state, Concerned(looks, BEFORE), LIMITS, now).share
        softly = state.is_soft and share > state.share
        state = BrakeState(share, now, is_soft=softly) if share != state.share else state
        shares.append(share)
    return shares


@pytest.mark.parametrize(
    ("load", "figure"),
    [
        (SLOW, Figure.PRODUCE),
        (replace(WELL, request_queue=101.0), Figure.QUEUE),
        (replace(WELL, handlers_busy=0.96), Figure.HANDLERS),
        (replace(WELL, disk_busy=0.97, disk_wait_ms=80.0), Figure.DISK),
        (replace(WELL, lagging=1), Figure.LAG),
    ],
)
def test_a_figure_over_its_limit_halves_the_rate(load: BrokerLoad, figure: Figure) -> None:
    found = one(load)

    assert found.share == 0.5
    assert found.worst is not None
    assert found.worst.figure is figure
    assert found.worst.broker == 1


def test_the_worst_figure_is_told_with_its_limit_and_what_it_was_before() -> None:
    assert str(one(SLOW).worst) == "produce p99 of broker 1 is 60 ms, limit 20 ms, 10 ms before the moves"


def test_a_disk_that_is_busy_and_answers_at_once_is_not_over_its_limit() -> None:
    assert one(replace(WELL, disk_busy=1.0, disk_wait_ms=5.0)).worst is None


def test_a_latency_that_was_always_high_is_no_reason_to_brake() -> None:
    usual = replace(WELL, produce_p99_ms=200.0)
    raised = replace(WELL, produce_p99_ms=290.0)

    assert judged(BrakeState(), seen(raised, before={1: usual, 2: usual}), LIMITS, NOW).worst is None


def test_without_a_figure_of_before_a_latency_presses_nothing() -> None:
    assert judged(BrakeState(), seen(SLOW, before={}), LIMITS, NOW) == Judgement(1.0)


def test_a_broker_that_was_not_produced_to_is_held_to_the_slowest_of_the_others() -> None:
    before = {2: replace(WELL, produce_p99_ms=30.0)}

    found = judged(BrakeState(), seen(SLOW, before=before), LIMITS, NOW)

    assert found.worst is not None
    assert found.worst.limit == pytest.approx(45.0)


def test_replicas_that_were_out_of_sync_before_are_not_the_moves_doing() -> None:
    lagging = replace(WELL, lagging=3)

    assert judged(BrakeState(), seen(lagging, before={1: lagging}), LIMITS, NOW).worst is None


def test_min_isr_in_danger_presses_to_the_floor_at_once() -> None:
    endangered = replace(WELL, lagging=2, endangered=1)

    found = one(endangered, BrakeState(0.5, NOW - timedelta(seconds=2)))

    assert found.share == LIMITS.floor
    assert found.worst is not None
    assert found.worst.figure is Figure.MIN_ISR


def test_it_presses_again_only_once_figures_are_of_the_time_after() -> None:
    assert one(SLOW, BrakeState(0.5, NOW - timedelta(seconds=20))).share == 0.5
    assert one(SLOW, BrakeState(0.5, NOW - timedelta(seconds=31))).share == 0.25


def test_a_p99_of_what_has_passed_does_not_press_again() -> None:
    passed = replace(SLOW, produce_mean_ms=2.0)
    a_minute, six_minutes = NOW - timedelta(minutes=1), NOW - timedelta(minutes=6)

    assert one(passed, BrakeState(0.5, a_minute)).share == 0.5
    assert one(passed, BrakeState(0.5, six_minutes)).share == 0.25


def test_silent_agents_neither_press_nor_release() -> None:
    old = {1: since(SLOW, until=NOW - timedelta(minutes=2)), 2: since(WELL)}
    for share in (1.0, 0.5):
        found = judged(BrakeState(share, NOW - timedelta(hours=1)), Concerned(old, BEFORE), LIMITS, NOW)
        assert found == Judgement(share, None, (1,))


def test_a_broker_whose_agent_never_told_figures_is_judged_by_metadata_alone() -> None:
    old = since(BrokerLoad(at=NOW))
    pressed = BrakeState(0.5, NOW - timedelta(hours=1))

    assert judged(pressed, Concerned({1: old}), LIMITS, NOW).share > 0.5
    lagging = Concerned({1: since(BrokerLoad(at=NOW, lagging=1))})
    assert judged(BrakeState(), lagging, LIMITS, NOW).share == 0.5


def test_one_that_is_over_its_limit_counts_though_another_is_silent() -> None:
    looks: dict[int, list[BrokerLoad]] = {1: since(SLOW), 2: []}

    found = judged(BrakeState(), Concerned(looks, BEFORE), LIMITS, NOW)

    assert (found.share, found.unknown) == (0.5, (2,))


def test_what_is_known_since_a_moment_only_releases_nothing() -> None:
    looks = {1: since(WELL, seconds=30), 2: since(WELL)}

    assert judged(BrakeState(0.5, NOW - timedelta(hours=1)), Concerned(looks, BEFORE), LIMITS, NOW).share == 0.5


def test_a_gap_in_the_figures_releases_nothing() -> None:
    gap = [x for x in since(WELL) if not 10 < (NOW - x.at).total_seconds() < 50]

    found = judged(BrakeState(0.5, NOW - timedelta(hours=1)), Concerned({1: gap}, BEFORE), LIMITS, NOW)

    assert found.share == 0.5


def test_under_constant_strain_it_goes_down_to_the_floor_and_stays() -> None:
    shares = run(SLOW, BrakeState(), minutes=20)

    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == LIMITS.floor


def test_moves_that_begin_softly_reach_the_plan_in_two_steps_where_nobody_feels_them() -> None:
    shares = run(WELL, BrakeState(0.25, NOW, is_soft=True), minutes=1)

    assert shares == [0.25, 0.25, 0.5, 0.5, 1.0, 1.0]


def test_a_soft_beginning_ends_with_the_first_figure_over_its_limit() -> None:
    shares = run(SLOW, BrakeState(0.5, NOW - timedelta(minutes=1), is_soft=True), minutes=3)

    assert shares[0] == 0.25
    assert shares[-1] == LIMITS.floor
    assert run(WELL, BrakeState(0.25, NOW), minutes=1)[-1] == 0.25, "and then it rises as ever"


def test_a_figure_near_its_limit_holds_a_soft_beginning() -> None:
    near = replace(WELL, produce_p99_ms=18.0, produce_mean_ms=18.0)

    assert set(run(near, BrakeState(0.25, NOW, is_soft=True), minutes=5)) == {0.25}


def test_where_agents_tell_nothing_a_soft_beginning_goes_on_all_the_same() -> None:
    silent = Concerned({1: [], 2: since(WELL)}, BEFORE)

    def share(after_s: int) -> float:
        return judged(BrakeState(0.25, NOW - timedelta(seconds=after_s), is_soft=True), silent, LIMITS, NOW).share

    assert (share(59), share(60)) == (0.25, 0.5)
    assert judged(BrakeState(0.25, NOW - timedelta(hours=1)), silent, LIMITS, NOW).share == 0.25


def test_once_all_is_well_it_lets_go_again() -> None:
    shares = run(WELL, BrakeState(LIMITS.floor, NOW), minutes=20)

    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert shares.index(1.0) >= 10 * 6, "in steps, not at once"


RATIOS = st.floats(0, 5)
LOADS = st.builds(
    lambda p99, mean, queue, handlers, busy, wait, lag, danger: BrokerLoad(
        at=NOW,
        produce_p99_ms=p99 * 20,
        produce_mean_ms=mean * 2,
        request_queue=queue * 100,
        handlers_busy=min(1.0, handlers),
        disk_busy=min(1.0, busy),
        disk_wait_ms=wait * 50,
        lagging=lag,
        endangered=min(lag, danger),
    ),
    *[RATIOS] * 6,
    st.integers(0, 2),
    st.integers(0, 2),
)
STATES = st.builds(
    lambda share, ago: BrakeState(share, NOW - timedelta(seconds=ago)),
    st.floats(LIMITS.floor, 1.0),
    st.integers(0, 900),
)


@given(LOADS, STATES)
def test_the_share_stays_between_the_floor_and_the_plan(load: BrokerLoad, state: BrakeState) -> None:
    assert LIMITS.floor <= one(load, state).share <= 1.0


@given(LOADS, LOADS, STATES)
def test_worse_figures_never_give_a_higher_share(one_load: BrokerLoad, other: BrokerLoad, state: BrakeState) -> None:
    worse = BrokerLoad(
        at=NOW,
        produce_p99_ms=max(one_load.produce_p99_ms or 0, other.produce_p99_ms or 0),
        produce_mean_ms=max(one_load.produce_mean_ms or 0, other.produce_mean_ms or 0),
        request_queue=max(one_load.request_queue or 0, other.request_queue or 0),
        handlers_busy=max(one_load.handlers_busy or 0, other.handlers_busy or 0),
        disk_busy=max(one_load.disk_busy or 0, other.disk_busy or 0),
        disk_wait_ms=max(one_load.disk_wait_ms or 0, other.disk_wait_ms or 0),
        lagging=max(one_load.lagging, other.lagging),
        endangered=max(one_load.endangered, other.endangered),
    )

    assert one(worse, state).share <= one(one_load, state).share


@settings(max_examples=50)
@given(LOADS, STATES)
def test_under_constant_figures_it_never_swings(load: BrokerLoad, state: BrakeState) -> None:
    shares = run(load, state, minutes=6)

    assert shares in (sorted(shares), sorted(shares, reverse=True))


@given(LOADS, st.floats(0, 1))
def test_without_limits_reached_nothing_is_slowed(load: BrokerLoad, part: float) -> None:
    calm = replace(WELL, request_queue=part * 100, disk_wait_ms=(load.disk_wait_ms or 0), disk_busy=part * 0.9)

    assert one(calm).share == 1.0
