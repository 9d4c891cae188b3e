"""When sources are looked at: by the leader alone, one look at a time, one bad source harms no other."""

import threading

from controlplane.runtime.polling import Poller
from events.errors import StoreUnavailable
from tests.unit.controlplane.api.portal_house import Lead


class Source:
    """Counts its looks."""

    def __init__(self, error: Exception | None = None) -> None:
        self.polls = 0
        self.polled = threading.Event()
        self._error = error

    def poll(self) -> None:
        self.polls += 1
        self.polled.set()
        if self._error is not None:
            raise self._error


def a_poller(**sources: Source) -> tuple[Poller, Lead]:
    lead = Lead()
    return Poller(sources, dict.fromkeys(sources, 3600.0), leadership=lead, stop=threading.Event()), lead


def test_only_the_leader_looks() -> None:
    source = Source()
    poller, lead = a_poller(teams=source)
    lead.epoch = None
    poller.poll("teams")
    assert source.polls == 0
    lead.epoch = 4  # type: ignore[assignment]
    poller.poll("teams")
    assert source.polls == 1


def test_an_error_of_one_look_ends_there() -> None:
    broken, dark = Source(RuntimeError("boom")), Source(StoreUnavailable("away"))
    poller, _ = a_poller(broken=broken, dark=dark)
    for name in ("broken", "dark", "broken"):
        poller.poll(name)
    assert (broken.polls, dark.polls) == (2, 1)


def test_a_look_has_a_note_of_what_it_saw_where_it_went_well_and_none_of_the_one_before_where_not() -> None:
    source, note = Source(), "3 of 3"
    poller = Poller(
        {"teams": source, "others": Source()},
        {"teams": 3600.0, "others": 3600.0},
        leadership=Lead(),
        stop=threading.Event(),
        notes={"teams": lambda: note},
    )
    for name in ("teams", "others"):
        poller.poll(name)
    assert [look.note for look in poller.last_polls()] == ["3 of 3", ""]
    source._error = StoreUnavailable("away")
    poller.poll("teams")
    assert [(look.problem, look.note) for look in poller.last_polls()] == [("away", ""), ("", "")]


def test_a_ring_during_a_look_is_answered_by_another_one_after_it() -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)

    class Slow(Source):
        at_once = most_at_once = 0

        def poll(self) -> None:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            super().poll()
            begun.release()
            go_on.wait(10)
            self.at_once -= 1

    slow = Slow()
    poller, _ = a_poller(teams=slow)
    poller.start()
    assert begun.acquire(timeout=10)
    poller.ring("teams")
    # Until the ring has its thread: it waits for the look under way.
    waiting = threading.Thread(target=poller.poll, args=("teams",))
    waiting.start()
    go_on.set()
    assert begun.acquire(timeout=10)
    waiting.join(10)
    poller.stop()
    assert slow.polls >= 2
    assert slow.most_at_once == 1


def test_it_looks_at_the_start_and_when_somebody_rings_and_never_after_the_stop() -> None:
    source = Source()
    poller, _ = a_poller(teams=source)
    poller.start()
    assert source.polled.wait(10)
    source.polled.clear()
    assert poller.ring("teams")
    assert source.polled.wait(10)
    assert not poller.ring("others")
    poller.stop()
    before = source.polls
    poller.poll("teams")
    assert source.polls == before


def test_without_sources_nothing_is_started() -> None:
    poller, _ = a_poller()
    poller.start()
    poller.stop()
    assert not poller.ring("teams")
