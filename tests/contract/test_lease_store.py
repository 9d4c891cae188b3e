"""Leases: one holder, epochs that only rise, and a successor that waits out everything its predecessor may still do."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.storage.lease import LeaseStore, SqlLeaseStore
from events.engine import build_engine
from events.ids import Epoch
from tests.fakes.leases import MemoryLeaseStore
from tests.present import present

FIRST = Epoch(1)

TERM_S = 15.0
CALL_S = 5.0
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Wristwatch:
    def __init__(self) -> None:
        self.now = START

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def watch() -> Wristwatch:
    return Wristwatch()


@pytest.fixture
def leases(engine_or_memory: Engine | None, watch: Wristwatch) -> LeaseStore:
    if engine_or_memory is None:
        return MemoryLeaseStore(longest_call_s=CALL_S, clock=lambda: watch.now)
    return SqlLeaseStore(engine_or_memory, longest_call_s=CALL_S, now=lambda _: watch.now)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_the_first_owner_gets_epoch_one_and_may_act_at_once(leases: LeaseStore) -> None:
    lease = present(leases.acquire("converge", "a", term_s=TERM_S))
    assert (lease.owner, lease.epoch, lease.acts_after, lease.expires_at) == ("a", 1, START, after(15))
    assert leases.is_current("converge", FIRST)


def test_while_it_is_held_nobody_else_gets_it(leases: LeaseStore, watch: Wristwatch) -> None:
    leases.acquire("converge", "a", term_s=TERM_S)
    watch.pass_(14.9)
    assert leases.acquire("converge", "b", term_s=TERM_S) is None
    assert leases.is_current("converge", FIRST)


def test_who_follows_sees_the_lease_while_it_is_held(leases: LeaseStore, watch: Wristwatch) -> None:
    assert leases.held("converge") is None
    lease = leases.acquire("converge", "a", term_s=TERM_S)
    assert leases.held("converge") == lease
    assert leases.held("gitsync") is None
    watch.pass_(15)
    assert leases.held("converge") is None, "it is over"
    leases.release(present(leases.acquire("converge", "b", term_s=TERM_S)))
    assert leases.held("converge") is None, "it was given back"


def test_duties_are_held_apart(leases: LeaseStore) -> None:
    leases.acquire("converge", "a", term_s=TERM_S)
    assert present(leases.acquire("gitsync", "b", term_s=TERM_S)).epoch == 1


def test_its_owner_acquires_it_again_at_the_same_epoch(leases: LeaseStore, watch: Wristwatch) -> None:
    first = present(leases.acquire("converge", "a", term_s=TERM_S))
    watch.pass_(5)
    again = present(leases.acquire("converge", "a", term_s=TERM_S))
    assert (again.epoch, again.acts_after, again.renewed_at) == (first.epoch, first.acts_after, after(5))


def test_a_successor_gets_the_next_epoch_and_waits_a_term_and_a_call_after_the_last_renewal(
    leases: LeaseStore, watch: Wristwatch
) -> None:
    lease = present(leases.acquire("converge", "a", term_s=TERM_S))
    watch.pass_(10)
    leases.renew(lease)
    watch.pass_(15)
    successor = present(leases.acquire("converge", "b", term_s=TERM_S))
    assert (successor.epoch, successor.renewed_at) == (2, after(25))
    assert successor.acts_after == after(10 + TERM_S + CALL_S)
    assert leases.time() == after(25)


def test_long_after_the_last_renewal_there_is_nothing_left_to_wait_for(leases: LeaseStore, watch: Wristwatch) -> None:
    leases.acquire("converge", "a", term_s=TERM_S)
    watch.pass_(1000)
    assert present(leases.acquire("converge", "b", term_s=TERM_S)).acts_after == after(1000)


def test_after_a_release_the_next_owner_acts_at_once_with_a_new_epoch(leases: LeaseStore, watch: Wristwatch) -> None:
    leases.release(present(leases.acquire("converge", "a", term_s=TERM_S)))
    watch.pass_(1)
    assert not leases.is_current("converge", FIRST)
    successor = present(leases.acquire("converge", "b", term_s=TERM_S))
    assert (successor.epoch, successor.acts_after) == (2, after(1))


def test_its_own_last_owner_gets_a_new_epoch_after_a_release(leases: LeaseStore) -> None:
    leases.release(present(leases.acquire("converge", "a", term_s=TERM_S)))
    assert present(leases.acquire("converge", "a", term_s=TERM_S)).epoch == 2


def test_a_release_before_the_wait_is_over_does_not_shorten_the_wait_for_the_one_before(
    leases: LeaseStore, watch: Wristwatch
) -> None:
    leases.acquire("converge", "paused", term_s=TERM_S)
    watch.pass_(15)
    leases.release(present(leases.acquire("converge", "short", term_s=TERM_S)))
    third = present(leases.acquire("converge", "third", term_s=TERM_S))
    assert (third.epoch, third.acts_after) == (3, after(TERM_S + CALL_S))


def test_a_paused_owner_that_wakes_up_after_a_successor_has_lost_everything(
    leases: LeaseStore, watch: Wristwatch
) -> None:
    paused = present(leases.acquire("converge", "a", term_s=TERM_S))
    watch.pass_(20)
    leases.acquire("converge", "b", term_s=TERM_S)
    assert not leases.is_current("converge", paused.epoch)
    assert leases.renew(paused) is None
    leases.release(paused)  # must not take it from b
    assert leases.is_current("converge", Epoch(2))
    assert leases.acquire("converge", "a", term_s=TERM_S) is None


def test_an_expired_lease_is_not_current_but_its_owner_may_renew_it_while_nobody_took_it(
    leases: LeaseStore, watch: Wristwatch
) -> None:
    lease = present(leases.acquire("converge", "a", term_s=TERM_S))
    watch.pass_(16)
    assert not leases.is_current("converge", FIRST)
    assert present(leases.renew(lease)).epoch == 1
    assert leases.is_current("converge", FIRST)


def test_a_renewal_after_a_release_is_refused(leases: LeaseStore) -> None:
    lease = present(leases.acquire("converge", "a", term_s=TERM_S))
    leases.release(lease)
    assert leases.renew(lease) is None


def test_nobody_holds_a_duty_that_was_never_taken(leases: LeaseStore) -> None:
    assert not leases.is_current("converge", Epoch(0))
    assert not leases.is_current("converge", FIRST)


def test_a_term_too_short_for_the_calls_is_refused(leases: LeaseStore) -> None:
    with pytest.raises(ValueError, match="too short"):
        leases.acquire("converge", "a", term_s=14)


def test_of_many_first_owners_at_once_exactly_one_wins(leases: LeaseStore) -> None:
    with ThreadPoolExecutor(12) as pool:
        won = list(pool.map(lambda name: leases.acquire("converge", f"owner-{name}", term_s=TERM_S), range(12)))
    assert [lease.epoch for lease in won if lease is not None] == [1]


def test_of_many_successors_at_once_exactly_one_gets_the_next_epoch(leases: LeaseStore, watch: Wristwatch) -> None:
    leases.acquire("converge", "a", term_s=TERM_S)
    watch.pass_(20)
    with ThreadPoolExecutor(12) as pool:
        won = list(pool.map(lambda name: leases.acquire("converge", f"owner-{name}", term_s=TERM_S), range(12)))
    assert [lease.epoch for lease in won if lease is not None] == [2]


def test_without_a_clock_of_ours_leases_are_measured_by_the_database(engine: Engine) -> None:
    leases = SqlLeaseStore(engine, longest_call_s=CALL_S)
    before = leases.time()
    lease = present(leases.acquire("converge", "a", term_s=TERM_S))
    assert before <= lease.renewed_at <= leases.time()
    assert leases.is_current("converge", FIRST)
    second = build_engine(engine.url.render_as_string(hide_password=False))
    assert SqlLeaseStore(second, longest_call_s=CALL_S).acquire("converge", "b", term_s=TERM_S) is None
    second.dispose()
