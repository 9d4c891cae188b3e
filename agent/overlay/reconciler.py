"""Keeps the overlay as the last document that named one says: a thread of its own, beside the converger.

What fails is told and tried again; it ends neither the agent nor what the kernel has. A document without an overlay
changes nothing: only one that says `off` takes away what was made.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from agent.duty import Duty
from agent.overlay.choice import Choice, PathState
from agent.overlay.from_wire import overlay_of, vm_name
from agent.overlay.keys import KeyUnusable
from agent.overlay.network import Overlay
from agent.tools import ToolFailed
from agent.wire_overlay import OverlayDocument, OverlayPeer, OverlayPeerReport, OverlayReport

_log = logging.getLogger(__name__)

TRY_EVERY_S = 10.0
STEP_S = 1.0
"""So long paths are probed before it is looked whether there is another document, and each tunnel."""
_PAUSE_S = 0.2
_ENDED = "the thread that keeps the overlay has ended, its traceback is in agent.out; another one begins in 5 minutes"


class KeepsOverlay(Protocol):
    """`agent.overlay.member.OverlayMember` is one."""

    @property
    def choices(self) -> Mapping[str, Choice]: ...
    def public_key(self, epoch: int) -> str: ...
    def keep(self, wanted: Overlay) -> None: ...
    def turn(self, most_s: float) -> bool: ...
    def remove(self, gone: Overlay) -> None: ...
    def leave(self) -> None: ...


class OverlayClock(Protocol):
    def now(self) -> datetime: ...
    def monotonic_s(self) -> float: ...


@dataclass(frozen=True, slots=True)
class OverlayStatus:
    """What has become of document `of`; None before the first."""

    of: OverlayDocument | None = None
    unable: str = ""
    problem: str = ""
    kept: bool = False
    public_key: str = ""
    choices: Mapping[str, Choice] = field(default_factory=dict)


class OverlayWork:
    """The thread's part. `inability` tells why the VM can have no overlay, "" where it can."""

    def __init__(self, member: KeepsOverlay, inability: Callable[[], str], monotonic: Callable[[], float]) -> None:
        self._member, self._inability, self._monotonic = member, inability, monotonic
        self._wanted: Overlay | None = None
        self._failed_s = float("-inf")
        self._keep_problem, self._turn_problem = "", ""
        self.status = OverlayStatus()

    def step(self, document: OverlayDocument) -> bool:
        """Makes it so, and probes for a second. False: there is nothing to probe, wait before the next one."""
        if document != self.status.of or self._wanted is None:
            self._wanted, self._failed_s = overlay_of(document), float("-inf")
            self._keep_problem, self._turn_problem = "", ""
            self.status = replace(self.status, of=document, kept=False)
        if not self._keep_problem or self._monotonic() - self._failed_s >= TRY_EVERY_S:
            self._try(document, self._wanted)
        self._say()
        if document.state == "off":
            return False
        self._turn_problem, probes = self._probed()  # though it is not kept: what there was before goes on
        self._say()
        return probes

    def end(self, problem: str) -> None:
        """Nobody sees to it any more."""
        self._member.leave()
        self._wanted = None
        self.status = replace(self.status, kept=False, problem=problem)

    def _try(self, document: OverlayDocument, wanted: Overlay) -> None:
        if document.state == "off":
            if not self.status.kept:
                self._keep_problem = _failure_of(lambda: self._member.remove(wanted))
        else:
            self._keep_problem = _failure_of(lambda: self._member.keep(wanted))
            self.status = replace(self.status, unable=self._inability() if self._keep_problem else "")
        if self._keep_problem:
            self._failed_s = self._monotonic()

    def _probed(self) -> tuple[str, bool]:
        """What went wrong, and whether there is anything to probe."""
        until_s, probes = self._monotonic() + STEP_S, True

        def probe() -> None:
            nonlocal probes
            while probes and (left_s := until_s - self._monotonic()) > 0:
                probes = self._member.turn(left_s)

        problem = _failure_of(probe)
        return problem, probes and not problem

    def _say(self) -> None:
        of, problem = self.status.of, self._keep_problem or self._turn_problem
        if problem and problem != self.status.problem:
            _log.error("the overlay is not as it should be: %s", problem)
        self.status = replace(
            self.status,
            problem=problem,
            kept=not self._keep_problem,
            public_key=self._member.public_key(of.epoch) if of is not None else "",
            choices=dict(self._member.choices),
        )


def _in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="overlay", daemon=True)
    thread.start()
    return thread


class OverlayReconciler:
    """`follow` is the converger's, in every pass; it never waits. `woken` is called once there is news."""

    def __init__(
        self,
        work: OverlayWork,
        clock: OverlayClock,
        woken: Callable[[], None],
        in_thread: Callable[[Callable[[], None]], threading.Thread] = _in_thread,
    ) -> None:
        self._work, self._clock, self._woken, self._in_thread = work, clock, woken, in_thread
        self._document: OverlayDocument | None = None
        self._duty = Duty[bool](self._start, clock)

    def follow(self, document: OverlayDocument | None) -> OverlayReport | None:
        """What has become of it; None where no document has named an overlay since this agent began."""
        self._document = document or self._document
        if self._document is None:
            return None
        self._duty.follow(True)
        return overlay_report(self._document, self._work.status, self._clock)

    def _start(self, _task: bool, /, *, leaving: threading.Event) -> threading.Thread:
        return self._in_thread(partial(self._run, leaving))

    def _run(self, leaving: threading.Event) -> None:
        try:
            while not leaving.is_set() and self._document is not None:
                before = self._work.status
                probes = self._work.step(self._document)
                after = self._work.status
                if (before.of, before.problem, before.kept) != (after.of, after.problem, after.kept):
                    self._woken()
                if not probes:
                    leaving.wait(_PAUSE_S)
        finally:
            self._work.end(_ENDED)


def _failure_of(what: Callable[[], None]) -> str:
    """Why it could not be done, "" where it was."""
    try:
        what()
    except (ToolFailed, KeyUnusable, OSError, LookupError, ValueError) as error:
        return str(error) or type(error).__name__
    return ""


def overlay_report(document: OverlayDocument, status: OverlayStatus, clock: OverlayClock) -> OverlayReport:
    """For the server. What was kept of another document is not what this one says."""
    is_of_it = status.of == document
    return OverlayReport(
        unable=status.unable,
        problem=status.problem,
        kept=status.kept and is_of_it,
        epoch=document.epoch if is_of_it and status.public_key else 0,
        public_key=status.public_key if is_of_it else "",
        peers=tuple(
            _peer_report(peer, status.choices.get(vm_name(peer.node, peer.generation), Choice()), clock)
            for peer in document.peers
        ),
    )


def _peer_report(peer: OverlayPeer, choice: Choice, clock: OverlayClock) -> OverlayPeerReport:
    path = choice.paths.get(choice.path, PathState())
    since = clock.now() - timedelta(seconds=clock.monotonic_s() - choice.since_s) if choice.since_s else None
    return OverlayPeerReport(
        node=peer.node,
        generation=peer.generation,
        path=choice.path,
        up=path.is_up,
        since=since.replace(microsecond=0) if since else None,
        rtt_ms=None if path.rtt_s is None else round(path.rtt_s * 1000, 2),
        lost=path.lost,
    )
