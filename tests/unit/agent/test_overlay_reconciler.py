"""What becomes of a document's overlay: what fails is told and tried again, and only `off` takes anything away."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from agent.overlay.choice import Choice, PathState
from agent.overlay.network import Overlay
from agent.overlay.reconciler import (
    TRY_EVERY_S,
    OverlayReconciler,
    OverlayStatus,
    OverlayWork,
    overlay_report,
)
from agent.pace import overlay_said
from agent.tools import ToolFailed
from agent.wire import OverlayPeerReport, OverlayReport
from tests.unit.agent.overlay_cases import overlay, peer

OFF = overlay(state="off", peers=())


@dataclass
class Clock:
    s: float = 1000.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.s)

    def monotonic_s(self) -> float:
        return self.s


@dataclass
class FakeMember:
    """Does what it is asked, and takes all the time it is given for probes."""

    clock: Clock
    fails: Exception | None = None
    turn_fails: Exception | None = None
    done: list[str] = field(default_factory=list)
    choices: Mapping[str, Choice] = field(default_factory=dict)
    probes: bool = False
    turns_left: int = 1000

    def public_key(self, epoch: int) -> str:
        return f"key-{epoch}" if self.done else ""

    def keep(self, wanted: Overlay) -> None:
        self.done.append(f"keep {len(wanted.peers)}")
        if self.fails:
            raise self.fails
        self.probes = True

    def turn(self, most_s: float) -> bool:
        self.turns_left -= 1
        if self.turns_left <= 0:
            raise RuntimeError("a mistake of ours")
        if self.probes:
            self.clock.s += most_s
        if self.turn_fails:
            raise self.turn_fails
        return self.probes

    def remove(self, gone: Overlay) -> None:
        self.done.append("remove")
        if self.fails:
            raise self.fails
        self.probes = False

    def leave(self) -> None:
        self.done.append("leave")
        self.probes = False


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def member(clock: Clock) -> FakeMember:
    return FakeMember(clock)


def work_of(member: FakeMember, inability: Callable[[], str] = str) -> OverlayWork:
    return OverlayWork(member, inability, member.clock.monotonic_s)


def test_what_is_kept_is_probed_and_told_with_its_key(member: FakeMember) -> None:
    work = work_of(member)
    assert work.step(overlay())
    assert (work.status.of, work.status.kept, work.status.problem) == (overlay(), True, "")
    assert work.status.public_key == "key-1"
    began_s = member.clock.s
    assert work.step(overlay())
    assert member.done == ["keep 2", "keep 2"], "the member looks for itself whether there is anything to do"
    assert member.clock.s - began_s == pytest.approx(1.0)


@pytest.mark.parametrize(
    "failure", [ToolFailed("wg is not on this VM"), OSError("no such device"), KeyError("dst"), ValueError("no JSON")]
)
def test_what_fails_is_told_and_tried_again_after_a_while_and_what_was_there_goes_on(
    member: FakeMember, failure: Exception
) -> None:
    work = work_of(member, lambda: "no wg")
    work.step(overlay())
    member.fails = failure
    assert work.step(overlay(peers=(peer(1),))), "the overlay of before is probed, and its peers are answered"
    assert not work.status.kept
    assert work.status.problem == str(failure)
    assert work.status.unable == "no wg"
    work.step(overlay(peers=(peer(1),)))
    assert member.done == ["keep 2", "keep 1"], "not at each step"
    member.clock.s += TRY_EVERY_S
    member.fails = None
    work.step(overlay(peers=(peer(1),)))
    assert (work.status.kept, work.status.problem, work.status.unable) == (True, "", "")


def test_another_document_is_tried_at_once_though_the_one_before_failed(member: FakeMember) -> None:
    work = work_of(member)
    member.fails = ToolFailed("no")
    assert not work.step(overlay()), "nothing is there to be probed: who calls waits a moment"
    member.fails = None
    assert work.step(overlay(peers=()))
    assert work.status.kept


def test_a_path_that_cannot_be_taken_is_told_and_the_overlay_is_there(member: FakeMember) -> None:
    work = work_of(member)
    member.turn_fails = ToolFailed("brokers-b-1.g1: ip failed")
    assert not work.step(overlay()), "who calls waits a moment"
    assert (work.status.kept, work.status.problem) == (True, "brokers-b-1.g1: ip failed")
    member.turn_fails = None
    assert work.step(overlay())
    assert work.status.problem == ""


def test_what_stays_wrong_is_told_once_and_without_a_gap(member: FakeMember, caplog: pytest.LogCaptureFixture) -> None:
    work, seen = work_of(member), []
    member.turn_fails = ToolFailed("ip failed")
    turn = member.turn

    def turned(most_s: float) -> bool:
        seen.append(work.status.problem)
        return turn(most_s)

    member.turn = turned  # type: ignore[method-assign]
    for _ in range(3):
        work.step(overlay())
    assert seen == ["", "ip failed", "ip failed"]
    assert [record.message for record in caplog.records] == ["the overlay is not as it should be: ip failed"]


def test_off_takes_it_away_once_and_tries_until_it_is_gone(member: FakeMember) -> None:
    work = work_of(member)
    work.step(overlay())
    member.fails = ToolFailed("busy")
    work.step(OFF)
    assert (work.status.kept, work.status.problem) == (False, "busy")
    member.fails = None
    member.clock.s += TRY_EVERY_S
    for _ in range(3):
        assert not work.step(OFF)
    assert work.status.kept
    assert member.done == ["keep 2", "remove", "remove"]


def test_a_thread_that_ended_says_so_and_the_next_one_makes_all_sure_again(member: FakeMember) -> None:
    work = work_of(member)
    work.step(overlay())
    work.end("it has ended")
    assert (work.status.kept, work.status.problem) == (False, "it has ended")
    work.step(overlay())
    assert (work.status.kept, work.status.problem) == (True, "")
    assert member.done == ["keep 2", "leave", "keep 2"]


class Threads:
    """What a thread would do, done when the test says so."""

    def __init__(self) -> None:
        self.begun: list[Callable[[], None]] = []

    def start(self, work: Callable[[], None]) -> threading.Thread:
        self.begun.append(work)
        return threading.Thread()


def test_nothing_begins_before_a_document_names_an_overlay_and_none_ends_for_one_that_does_not(
    member: FakeMember,
) -> None:
    """Unknown is not off."""
    news, threads = threading.Event(), Threads()
    one = OverlayReconciler(work_of(member), member.clock, news.set, threads.start)
    assert one.follow(None) is None
    assert threads.begun == []
    assert one.follow(overlay()) == OverlayReport(peers=_unknown())
    assert one.follow(None) == OverlayReport(peers=_unknown())
    (run,) = threads.begun
    member.turns_left = 5
    with pytest.raises(RuntimeError):
        run()
    assert news.is_set()
    assert member.done == [*["keep 2"] * 5, "leave"], "and nothing was taken away"


def _unknown() -> tuple[OverlayPeerReport, ...]:
    return tuple(OverlayPeerReport(node=one.node, generation=1) for one in overlay().peers)


def test_a_thread_that_ends_is_told_and_another_one_begins_later(member: FakeMember) -> None:
    threads = Threads()
    one = OverlayReconciler(work_of(member), member.clock, lambda: None, threads.start)
    one.follow(overlay())
    member.turns_left = 1
    with pytest.raises(RuntimeError):
        threads.begun[0]()
    said = one.follow(overlay())
    assert said is not None
    assert "the thread that keeps the overlay has ended" in said.problem
    assert not said.kept
    assert len(threads.begun) == 1
    member.clock.s += 300
    one.follow(overlay())
    assert len(threads.begun) == 2


def test_the_report_says_how_each_peer_is_reached(clock: Clock) -> None:
    private = PathState(answers=(True, False, True), is_up=True, rtt_s=0.0123)
    choices = {"brokers-b-1.g1": Choice({"private": private, "public": PathState()}, "private", since_s=clock.s - 90)}
    status = OverlayStatus(overlay(), kept=True, public_key="k", choices=choices)
    said = overlay_report(overlay(), status, clock)
    assert said.peers == (
        OverlayPeerReport(
            node="brokers-b-1",
            generation=1,
            path="private",
            up=True,
            since=clock.now() - timedelta(seconds=90),
            rtt_ms=12.3,
            lost=1,
        ),
        OverlayPeerReport(node="brokers-b-2", generation=1),
    )
    assert (said.epoch, said.public_key, said.kept) == (1, "k", True)


def test_what_was_kept_of_another_document_is_not_this_one(clock: Clock) -> None:
    status = OverlayStatus(overlay(), kept=True, public_key="k")
    assert overlay_report(overlay(peers=()), status, clock) == OverlayReport()


def test_measurements_alone_are_no_news() -> None:
    def said(**changes: object) -> list[object]:
        one = OverlayPeerReport(node="b", generation=1, path="private", up=True, rtt_ms=1.0).model_copy(update=changes)
        return overlay_said(OverlayReport(kept=True, peers=(one,)))

    assert said(rtt_ms=9.0, lost=3) == said()
    assert said(up=False) != said()
    assert said(path="public") != said()
    assert overlay_said(None) != overlay_said(OverlayReport())
