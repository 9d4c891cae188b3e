"""Ticks happen at an interval and when something rings, by the leader only."""

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from controlplane.converger.tick.scheduler import EVERYBODY, FEW, Bell, Scheduler
from controlplane.storage.lease import Lease, LostLeadership
from controlplane.storage.lease_holder import Candidate
from events.errors import StoreUnavailable
from events.ids import Epoch
from tests.fakes.leases import MemoryLeaseStore
from tests.waiting import until

WAIT_S = 10.0


@dataclass
class Ticks:
    """Counts, and may fail. `ticked` is set with each tick."""

    ticks: int = 0
    asked: list[Collection[str] | None] = field(default_factory=list)
    catch_ups: int = 0
    trouble: list[Exception] = field(default_factory=list)
    ticked: threading.Event = field(default_factory=threading.Event)
    hold: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.hold.set()

    def tick(self, *, only: Collection[str] | None = None) -> None:
        self.ticks += 1
        self.asked.append(only)
        self.ticked.set()
        assert self.hold.wait(WAIT_S)
        if self.trouble:
            raise self.trouble.pop()

    def catch_up(self) -> None:
        self.catch_ups += 1
        self.ticked.set()


def candidate(leases: MemoryLeaseStore, owner: str = "one") -> Candidate:
    return Candidate(leases, owner=owner, term_s=30.0)


def scheduler(ticks: Ticks, who: Candidate, bell: Bell, *, led: list[Epoch] | None = None) -> Scheduler:
    return Scheduler(ticks, who, bell, interval_s=3600, on_lead=(led if led is not None else []).append)


def test_the_leader_ticks_and_says_once_that_it_leads() -> None:
    ticks, led, leader = Ticks(), list[Epoch](), candidate(MemoryLeaseStore(longest_call_s=10.0))
    leader.step()
    beats = scheduler(ticks, leader, Bell(), led=led)
    beats.beat()
    beats.beat()
    assert (ticks.ticks, ticks.catch_ups, led) == (2, 0, [1])


def test_a_server_that_does_not_lead_reads_along() -> None:
    leases, ticks, led = MemoryLeaseStore(longest_call_s=10.0), Ticks(), list[Epoch]()
    candidate(leases, "leader").step()
    second = candidate(leases, "second")
    second.step()
    scheduler(ticks, second, Bell(), led=led).beat()
    assert (ticks.ticks, ticks.catch_ups, led) == (0, 1, [])


def test_a_new_epoch_is_announced_before_its_first_tick() -> None:
    leases, ticks, led = MemoryLeaseStore(longest_call_s=10.0), Ticks(), list[Epoch]()
    leader = candidate(leases)
    beats = scheduler(ticks, leader, Bell(), led=led)
    for _ in range(2):
        leader.step()
        beats.beat()
        leader.resign()
        beats.beat()
    assert (led, ticks.ticks, ticks.catch_ups) == ([1, 2], 2, 2)


def test_a_lost_lease_or_an_absent_database_ends_one_beat_and_no_more() -> None:
    ticks, leader = (
        Ticks(trouble=[LostLeadership("x"), StoreUnavailable("y")]),
        candidate(MemoryLeaseStore(longest_call_s=10.0)),
    )
    leader.step()
    beats = scheduler(ticks, leader, Bell())
    for _ in range(3):
        beats.beat()
    assert ticks.ticks == 3


def test_a_ring_ticks_long_before_the_interval() -> None:
    ticks, bell = Ticks(), Bell()
    beats = scheduler(ticks, candidate(MemoryLeaseStore(longest_call_s=10.0)), bell)
    beats.start()
    try:
        assert ticks.ticked.wait(WAIT_S)
        ticks.ticked.clear()
        bell.ring("some-uid")
        assert ticks.ticked.wait(WAIT_S)
    finally:
        beats.stop()


def test_a_ring_during_a_beat_is_answered_by_another_one() -> None:
    """What rang may have changed after the beat under way had looked."""
    ticks, bell = Ticks(), Bell()
    ticks.hold.clear()
    beats = scheduler(ticks, candidate(MemoryLeaseStore(longest_call_s=10.0)), bell)
    beats.start()
    try:
        assert ticks.ticked.wait(WAIT_S)
        ticks.ticked.clear()
        bell.ring()
        ticks.hold.set()
        assert ticks.ticked.wait(WAIT_S)
    finally:
        beats.stop()


def test_an_interval_beat_during_another_one_is_left_out() -> None:
    ticks, leader = Ticks(), candidate(MemoryLeaseStore(longest_call_s=10.0))
    leader.step()
    beats = scheduler(ticks, leader, Bell())
    ticks.hold.clear()
    first = threading.Thread(target=beats.beat)
    first.start()
    assert ticks.ticked.wait(WAIT_S)
    beats.beat()
    ticks.hold.set()
    first.join(WAIT_S)
    assert ticks.ticks == 1


def test_no_beat_begins_after_the_stop() -> None:
    ticks, bell = Ticks(), Bell()
    beats = scheduler(ticks, candidate(MemoryLeaseStore(longest_call_s=10.0)), bell)
    beats.start()
    assert ticks.ticked.wait(WAIT_S)
    beats.stop()
    seen = ticks.ticks
    bell.ring()
    beats.beat()
    assert ticks.ticks == seen


def test_a_bell_rung_often_rings_once() -> None:
    bell = Bell()
    assert not bell.wait(0)
    bell.ring("a")
    bell.ring("b")
    assert bell.wait(0)
    assert not bell.wait(0)


def test_a_bell_says_who_rang_and_forgets_it() -> None:
    bell = Bell()
    bell.ring("a")
    bell.ring("b")
    bell.ring("a")
    assert bell.wait(0) == {"a", "b"}
    assert bell.wait(0) == frozenset()


def _answered(*rung: str) -> Collection[str] | None:
    """What the tick after these rings was asked for; the first tick of a server is always one of all."""
    ticks, bell = Ticks(), Bell()
    beats = scheduler(ticks, candidate(MemoryLeaseStore(longest_call_s=10.0)), bell)
    beats.start()
    try:
        assert ticks.ticked.wait(WAIT_S)
        ticks.hold.clear()
        ticks.ticked.clear()
        bell.ring("busy")
        assert ticks.ticked.wait(WAIT_S)
        for uid in rung:
            bell.ring(uid)
        ticks.ticked.clear()
        ticks.hold.set()
        assert ticks.ticked.wait(WAIT_S)
    finally:
        beats.stop()
    assert ticks.asked[0] is None
    return ticks.asked[2]


def test_only_the_clusters_that_rang_are_ticked() -> None:
    assert _answered("a", "b") == {"a", "b"}


def test_a_ring_without_a_name_is_for_everybody() -> None:
    assert _answered("a", EVERYBODY) is None


def test_when_many_rang_all_are_ticked() -> None:
    assert _answered(*(str(n) for n in range(FEW + 1))) is None


def test_the_first_tick_of_an_epoch_is_one_of_all() -> None:
    ticks, leader = Ticks(), candidate(MemoryLeaseStore(longest_call_s=10.0))
    leader.step()
    beats = scheduler(ticks, leader, Bell())
    beats.beat(only={"a"})
    beats.beat(only={"a"})
    assert ticks.asked == [None, {"a"}]


def test_a_ring_that_cannot_wait_ends_the_rest_and_is_still_to_be_answered() -> None:
    bell = Bell()
    threading.Timer(0.05, lambda: bell.ring("a", at_once=True)).start()
    began = time.monotonic()
    bell.rest(WAIT_S)
    assert time.monotonic() - began < WAIT_S / 2
    assert bell.wait(0) == {"a"}


def test_other_rings_gather_while_the_bell_rests() -> None:
    bell = Bell()
    bell.ring("a", at_once=True)
    assert bell.wait(0) == {"a"}
    bell.ring("b")
    began = time.monotonic()
    bell.rest(0.1)
    assert time.monotonic() - began >= 0.1
    assert bell.wait(0) == {"b"}


def test_an_error_nobody_foresaw_does_not_end_the_thread_that_answers_the_bell() -> None:
    ticks, bell = Ticks(trouble=[OSError(24, "Too many open files")]), Bell()
    beats = scheduler(ticks, candidate(MemoryLeaseStore(longest_call_s=10.0)), bell)
    beats.start()
    try:
        assert ticks.ticked.wait(WAIT_S)
        until(lambda: not ticks.trouble, "the trouble is over", timeout_s=WAIT_S)
        ticks.ticked.clear()
        bell.ring(at_once=True)
        assert ticks.ticked.wait(WAIT_S), "the next ring is heard"
    finally:
        beats.stop()


def test_a_lease_is_asked_for_again_after_an_error_nobody_foresaw() -> None:
    class FullTable(MemoryLeaseStore):
        fails = 1

        def acquire(self, duty: str, owner: str, *, term_s: float) -> Lease | None:
            if self.fails:
                self.fails -= 1
                raise OSError(24, "Too many open files")
            return super().acquire(duty, owner, term_s=term_s)

    who, stop = candidate(FullTable(longest_call_s=10.0)), threading.Event()
    thread = threading.Thread(target=who.run, args=(stop,), daemon=True)
    thread.start()
    try:
        until(lambda: who.may_act, "it may act", timeout_s=WAIT_S)
    finally:
        stop.set()
        thread.join(WAIT_S)
