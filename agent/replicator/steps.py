"""What to do next about the replicator, as a pure function of the document's part and of what is on the VM."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.steps import HoldOff, Leaving
from agent.wire_replicator import ReplicatorDocument

NOT_CONFIRMED = "waiting for the server to say that this document counts: the target may be the primary by now"
NOT_IN_DOCUMENT = "not in the document; left running"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatorFacts:
    """What is true on the VM; times are monotonic seconds. `running` is the start_id of its live process.

    `is_confirmed`: the server said that this document counts, since this agent began. `has_unnoted_exit`: a process
    that was started since the boot is gone, nobody asked it to end, and it is not counted yet. `refused`: why this
    document cannot be followed on this VM, "" where it can.
    """

    now_s: float
    is_confirmed: bool
    stop_deadline_s: float
    leaving: Leaving = ""
    running: str | None = None
    has_unnoted_exit: bool = False
    stop_asked_s: float | None = None
    hold: HoldOff | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class KeepRunning:
    """The process runs as it should, or may not be touched."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class StayDown:
    """No process is alive, and none is wanted."""

    note: str = ""
    is_over: bool = True
    """False: this VM goes down, and what it may do after its next boot is not known."""


@dataclass(frozen=True, slots=True)
class WaitForServer:
    """It would start, if the server said so."""

    reason: str


@dataclass(frozen=True, slots=True)
class FailToStart:
    """It is not started, or not yet."""

    reason: str


@dataclass(frozen=True, slots=True)
class StartProcess:
    pass


@dataclass(frozen=True, slots=True)
class StopProcess:
    """The stop in hand goes on: SIGTERM first, SIGKILL behind the deadline, else nothing is sent."""

    signal: Literal["TERM", "KILL", ""]


@dataclass(frozen=True, slots=True)
class CountExit:
    """The process ended although nobody asked it to."""


ReplicatorStep: TypeAlias = (
    KeepRunning | StayDown | WaitForServer | FailToStart | StartProcess | StopProcess | CountExit
)


def next_step(wanted: ReplicatorDocument | None, facts: ReplicatorFacts) -> ReplicatorStep:
    """One step; the next pass looks at everything again."""
    if facts.running is not None:
        return _alive(wanted, facts.running, facts)
    if facts.has_unnoted_exit and facts.leaving != "shutting down":  # a machine that goes down ends everything
        return CountExit()
    if facts.leaving == "retired":
        return StayDown("this instance is retired")
    if wanted is None:
        return StayDown("not in the document; none is started")
    if wanted.state == "stopped":
        return StayDown()
    if facts.leaving:
        return StayDown("the VM is shutting down", is_over=False)
    return _up(facts)


def _alive(wanted: ReplicatorDocument | None, running: str, facts: ReplicatorFacts) -> ReplicatorStep:
    """A stop that was begun is ended, whatever the document says by now: a process that got SIGTERM does not go on."""
    if facts.leaving or facts.stop_asked_s is not None:
        return _stop(facts)
    if wanted is None:
        return KeepRunning(NOT_IN_DOCUMENT)
    return KeepRunning() if (wanted.state, wanted.start_id) == ("running", running) else _stop(facts)


def _stop(facts: ReplicatorFacts) -> StopProcess:
    if facts.stop_asked_s is None:
        return StopProcess("TERM")
    return StopProcess("KILL" if facts.now_s - facts.stop_asked_s >= facts.stop_deadline_s else "")


def _up(facts: ReplicatorFacts) -> ReplicatorStep:
    """No process, and the document wants one."""
    if not facts.is_confirmed:
        return WaitForServer(NOT_CONFIRMED)
    if facts.refused:
        return FailToStart(facts.refused)
    if facts.hold is not None and facts.now_s < facts.hold.until_s:
        return FailToStart(facts.hold.reason)
    return StartProcess()
