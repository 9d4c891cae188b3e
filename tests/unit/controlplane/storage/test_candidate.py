"""Who may act, and from when: a lease, our own clock, and a kernel lock that proves a death."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controlplane.runtime.process_lock import LeaderLock
from controlplane.storage.lease import Lease, LostLeadership
from controlplane.storage.lease_holder import Candidate
from events.errors import StoreUnavailable
from tests.fakes.leases import MemoryLeaseStore

TERM_S = 30.0


@dataclass
class Time:
    """The database's clock and every process's own, in step."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    monotonic_s: float = 1000.0

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.monotonic_s += seconds


class Flaky(MemoryLeaseStore):
    """A lease store whose database goes away."""

    is_away = False

    def acquire(self, duty: str, owner: str, *, term_s: float) -> Lease | None:
        self._fail()
        return super().acquire(duty, owner, term_s=term_s)

    def renew(self, lease: object) -> object:  # type: ignore[override]
        self._fail()
        return super().renew(lease)  # type: ignore[arg-type]

    def is_current(self, duty: str, epoch: object) -> bool:  # type: ignore[override]
        self._fail()
        return super().is_current(duty, epoch)  # type: ignore[arg-type]

    def _fail(self) -> None:
        if self.is_away:
            raise StoreUnavailable("away")


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def leases(time: Time) -> Flaky:
    return Flaky(longest_call_s=10.0, clock=time)


def candidate(leases: MemoryLeaseStore, time: Time, owner: str, lock: Path | None = None) -> Candidate:
    return Candidate(
        leases,
        owner=owner,
        term_s=TERM_S,
        lock=LeaderLock(lock) if lock else None,
        monotonic_s=lambda: time.monotonic_s,
    )


def test_the_first_candidate_acts_at_once(leases: Flaky, time: Time) -> None:
    one = candidate(leases, time, "one")
    with pytest.raises(LostLeadership):
        one.epoch()
    one.step()
    assert (one.may_act, one.epoch(), one.held_epoch()) == (True, 1, 1)


def test_a_second_candidate_waits_for_the_lease_to_be_given_back(leases: Flaky, time: Time) -> None:
    one, two = candidate(leases, time, "one"), candidate(leases, time, "two")
    one.step()
    assert two.step() <= 1.0
    assert not two.may_act
    with pytest.raises(LostLeadership):
        two.epoch()
    one.resign()
    two.step()
    assert (two.may_act, two.epoch()) == (True, 2)


def test_a_candidate_that_renews_keeps_its_epoch(leases: Flaky, time: Time) -> None:
    one, two = candidate(leases, time, "one"), candidate(leases, time, "two")
    one.step()
    for _ in range(20):
        time.pass_s(one.step())
        two.step()
    assert (one.epoch(), two.held_epoch()) == (1, None)


def test_a_successor_of_a_silent_leader_waits_out_its_longest_call(leases: Flaky, time: Time) -> None:
    one, two = candidate(leases, time, "one"), candidate(leases, time, "two")
    one.step()
    time.pass_s(TERM_S)
    two.step()
    assert (two.held_epoch(), two.may_act) == (2, False)
    with pytest.raises(LostLeadership):
        two.epoch()
    time.pass_s(10.0)
    assert two.epoch() == 2


def test_a_leader_that_was_stopped_for_longer_than_its_term_acts_no_more(leases: Flaky, time: Time) -> None:
    one, two = candidate(leases, time, "one"), candidate(leases, time, "two")
    one.step()
    time.pass_s(TERM_S)
    two.step()
    assert not one.may_act
    with pytest.raises(LostLeadership):
        one.epoch()
    assert one.held_epoch() is None


def test_the_database_is_asked_at_every_act(leases: Flaky, time: Time) -> None:
    """Another server took the lease though our own clock says it is ours: the database is right."""
    one = candidate(leases, time, "one")
    one.step()
    time.now += timedelta(seconds=TERM_S)
    candidate(leases, time, "two").step()
    assert one.may_act
    with pytest.raises(LostLeadership):
        one.epoch()


def test_nothing_is_done_while_the_database_is_away_and_the_lease_survives_a_short_absence(
    leases: Flaky, time: Time
) -> None:
    one = candidate(leases, time, "one")
    one.step()
    leases.is_away = True
    time.pass_s(one.step())
    with pytest.raises(StoreUnavailable):
        one.epoch()
    leases.is_away = False
    one.step()
    assert one.epoch() == 1


def test_a_lease_that_was_lost_is_asked_for_again_under_the_next_epoch(leases: Flaky, time: Time) -> None:
    one, two = candidate(leases, time, "one"), candidate(leases, time, "two")
    one.step()
    time.pass_s(TERM_S)
    two.step()
    one.step()
    two.resign()
    one.step()
    time.pass_s(10.0)
    assert one.epoch() == 3


def test_a_dead_leader_of_the_same_home_is_succeeded_at_once(leases: Flaky, time: Time, tmp_path: Path) -> None:
    lock = LeaderLock(tmp_path / "lock")
    dead = Candidate(leases, owner="dead", term_s=TERM_S, lock=lock, monotonic_s=lambda: time.monotonic_s)
    dead.step()
    lock.give_back()  # what the kernel does with a process, however it ends
    successor = candidate(leases, time, "successor", tmp_path / "lock")
    successor.step()
    assert (successor.may_act, successor.epoch()) == (True, 2)


def test_a_leader_that_lives_is_not_buried(leases: Flaky, time: Time, tmp_path: Path) -> None:
    one, two = (candidate(leases, time, n, tmp_path / "lock") for n in ("one", "two"))
    one.step()
    two.step()
    assert (one.epoch(), two.held_epoch()) == (1, None)


def test_a_leader_of_another_home_is_not_buried(leases: Flaky, time: Time, tmp_path: Path) -> None:
    one = candidate(leases, time, "one", tmp_path / "lock-1")
    two = candidate(leases, time, "two", tmp_path / "lock-2")
    one.step()
    two.step()
    assert (one.epoch(), two.held_epoch()) == (1, None)


def test_an_old_name_in_the_lock_gives_nobody_elses_lease_back(leases: Flaky, time: Time, tmp_path: Path) -> None:
    lock = LeaderLock(tmp_path / "lock")
    assert lock.take()
    lock.name_leader("long gone", 1)
    lock.give_back()
    one = candidate(leases, time, "one")
    one.step()
    two = candidate(leases, time, "two", tmp_path / "lock")
    two.step()
    assert (one.epoch(), two.held_epoch()) == (1, None)


def test_a_lock_that_holds_nonsense_names_nobody(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("{half")
    lock = LeaderLock(tmp_path / "lock")
    assert lock.last_leader() is None
    assert lock.take()
    assert lock.last_leader() is None
    lock.name_leader("me", 7)
    assert lock.last_leader() == ("me", 7)
    other = LeaderLock(tmp_path / "lock")
    assert not other.take()
    lock.give_back()
    assert other.take()


def test_ten_minutes_without_a_database_end_the_right_to_act_and_it_comes_back_alone(leases: Flaky, time: Time) -> None:
    leader = candidate(leases, time, "one")
    leader.step()
    assert leader.epoch() == 1
    leases.is_away = True
    for second in range(600):
        time.pass_s(1)
        leader.step()
        assert leader.may_act == (second + 1 < TERM_S), "its own clock ends the term, whatever the database knows"
        with pytest.raises((LostLeadership, StoreUnavailable)):
            leader.epoch()
    leases.is_away = False
    leader.step()
    assert leader.may_act
    assert leader.epoch() == 1, "nobody else has led meanwhile"


def test_a_lock_that_cannot_name_its_leader_keeps_nobody_from_leading(
    leases: Flaky, time: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = candidate(leases, time, "one", lock=tmp_path / "leader.lock")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LeaderLock, "name_leader", full)
    leader.step()
    assert leader.epoch() == 1
