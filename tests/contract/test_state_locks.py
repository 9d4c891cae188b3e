"""Holds of Terraform states: who may take one from whom, by epoch, proof of death and lease, in database time."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from controlplane.storage.lease import SqlLeaseStore
from controlplane.storage.terraform_states.lock import this_process
from controlplane.storage.terraform_states.lock_rows import SqlStateLocks, StateHeld, StateNotHeld, TerraformLocked
from events.ids import Epoch
from tests.fakes.states import ELSEWHERE, KEY, OTHER_KEY, claim

FIRST = Epoch(1)

START = datetime(2026, 1, 1, tzinfo=UTC)
INFO = {"ID": "lock-1", "Operation": "OperationTypeApply", "Who": "kedge@host"}


class Time:
    """The database's clock, in the test's hands."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self, _connection: object) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def locks(engine: Engine, time: Time) -> SqlStateLocks:
    return SqlStateLocks(engine, now=time)


def test_what_is_taken_says_by_whom_and_what_is_given_back_is_free(locks: SqlStateLocks) -> None:
    assert locks.holder(KEY) is None
    taken = locks.take(KEY, claim("one"))
    assert locks.holder(KEY) == taken
    assert (taken.claim.run_id, taken.claim.process, taken.taken_at) == ("run-of-one", this_process(), START)
    locks.release(KEY, "one")
    assert locks.holder(KEY) is None
    assert locks.take(KEY, claim("two")).claim.hold_id == "two"


def test_another_machines_run_is_left_alone_until_its_lease_is_over(locks: SqlStateLocks, time: Time) -> None:
    locks.take(KEY, claim("one", epoch=1, process=ELSEWHERE, lease_s=60))
    time.pass_s(59)
    with pytest.raises(StateHeld, match=r"run-of-one of server server-1 .*lease lasts 1 s more"):
        locks.take(KEY, claim("two", epoch=2))
    time.pass_s(1)
    assert locks.take(KEY, claim("two", epoch=2)).claim.hold_id == "two"


def test_a_lease_that_is_renewed_is_not_over(locks: SqlStateLocks, time: Time) -> None:
    locks.take(KEY, claim("one", epoch=1, process=ELSEWHERE, lease_s=60))
    for _ in range(5):
        time.pass_s(50)
        assert locks.renew(KEY, "one", FIRST)
    with pytest.raises(StateHeld):
        locks.take(KEY, claim("two", epoch=2))


def test_the_same_epoch_does_not_outwait_itself(locks: SqlStateLocks, time: Time) -> None:
    """One epoch is one server: its own run is over when it says so, not when a clock does."""
    locks.take(KEY, claim("one", epoch=1, lease_s=60))
    time.pass_s(3600)
    with pytest.raises(StateHeld, match="not proved to be over"):
        locks.take(KEY, claim("two", epoch=1))
    assert locks.take(KEY, claim("two", epoch=1), proved_dead="one").claim.hold_id == "two"


def test_a_hold_that_is_proved_dead_is_broken_at_once_but_no_other(locks: SqlStateLocks) -> None:
    locks.take(KEY, claim("one", epoch=1, process=ELSEWHERE))
    with pytest.raises(StateHeld):
        locks.take(KEY, claim("two", epoch=2), proved_dead="an earlier one")
    assert locks.take(KEY, claim("two", epoch=2), proved_dead="one").claim.epoch == 2


def test_an_earlier_epoch_takes_nothing_from_a_later_one_not_even_what_is_free(
    locks: SqlStateLocks, time: Time
) -> None:
    locks.take(KEY, claim("two", epoch=2, process=ELSEWHERE))
    time.pass_s(3600)
    with pytest.raises(StateHeld, match="epoch 1 is over"):
        locks.take(KEY, claim("one", epoch=1), proved_dead="two")
    locks.release(KEY, "two")
    with pytest.raises(StateHeld, match="epoch 1 is over"):
        locks.take(KEY, claim("one", epoch=1))
    assert locks.take(OTHER_KEY, claim("one", epoch=1)), "each state for itself"


def test_a_server_whose_lease_went_to_another_one_neither_takes_nor_renews(
    engine: Engine, locks: SqlStateLocks
) -> None:
    leases = SqlLeaseStore(engine, longest_call_s=10)
    first = leases.acquire("converge", "server-1", term_s=30)
    assert first is not None
    locks.take(KEY, claim("one", epoch=1))
    assert locks.renew(KEY, "one", FIRST)
    leases.release(first)
    assert leases.acquire("converge", "server-2", term_s=30)
    assert not locks.renew(KEY, "one", FIRST)
    with pytest.raises(StateHeld, match="epoch 1 is over"):
        locks.take(OTHER_KEY, claim("another", epoch=1))


def test_whose_hold_was_broken_renews_releases_and_locks_nothing(locks: SqlStateLocks) -> None:
    locks.take(KEY, claim("one", epoch=1, process=ELSEWHERE))
    locks.take(KEY, claim("two", epoch=2), proved_dead="one")
    assert not locks.renew(KEY, "one", FIRST)
    locks.release(KEY, "one")
    with pytest.raises(StateNotHeld, match="run-of-two of server server-2 does"):
        locks.lock(KEY, "one", INFO)
    held = locks.holder(KEY)
    assert held is not None
    assert held.claim.hold_id == "two"


def test_terraforms_lock_is_within_the_hold_and_ends_with_it(locks: SqlStateLocks) -> None:
    locks.take(KEY, claim("one"))
    locks.lock(KEY, "one", INFO)
    locks.lock(KEY, "one", INFO)  # the answer to the first was lost
    with pytest.raises(TerraformLocked) as locked:
        locks.lock(KEY, "one", {**INFO, "ID": "lock-2"})
    assert locked.value.lock == INFO
    with pytest.raises(TerraformLocked):
        locks.unlock(KEY, "one", "lock-2")
    locks.unlock(KEY, "one", "lock-1")
    locks.unlock(KEY, "one", "lock-1")
    locks.lock(KEY, "one", {**INFO, "ID": "lock-2"})
    locks.release(KEY, "one")
    locks.take(KEY, claim("two"))
    held = locks.holder(KEY)
    assert held is not None
    assert held.lock == {}


def test_a_process_is_proved_dead_on_its_own_machine_only() -> None:
    here = this_process()
    assert not here.is_proved_dead(here)
    assert not ELSEWHERE.is_proved_dead(here)
    reused = type(here)(here.machine, here.pid, here.start_ticks + 1)
    assert reused.is_proved_dead(here), "the pid is somebody else's by now"
