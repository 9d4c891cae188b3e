"""What an agent does next about the replicator: every case of it."""

from dataclasses import replace

import pytest

from agent.replicator.steps import (
    NOT_CONFIRMED,
    NOT_IN_DOCUMENT,
    CountExit,
    FailToStart,
    KeepRunning,
    ReplicatorFacts,
    ReplicatorStep,
    StartProcess,
    StayDown,
    StopProcess,
    WaitForServer,
    next_step,
)
from agent.steps import HoldOff
from agent.wire_replicator import ReplicatorDocument
from tests.unit.agent.replicator_vm import wanted

DOWN = ReplicatorFacts(now_s=100.0, is_confirmed=True, stop_deadline_s=20.0)
UP = replace(DOWN, running="r-1")
STOPPED = wanted(state="stopped")


@pytest.mark.parametrize(
    ("document", "facts", "step"),
    [
        (wanted(), DOWN, StartProcess()),
        (wanted(), replace(DOWN, is_confirmed=False), WaitForServer(NOT_CONFIRMED)),
        (wanted(), replace(DOWN, refused="no jars"), FailToStart("no jars")),
        (wanted(), replace(DOWN, hold=HoldOff(101.0, "it ended")), FailToStart("it ended")),
        (wanted(), replace(DOWN, hold=HoldOff(100.0, "it ended")), StartProcess()),
        (wanted(), replace(DOWN, has_unnoted_exit=True), CountExit()),
        (wanted(), replace(DOWN, has_unnoted_exit=True, is_confirmed=False), CountExit()),
        (wanted(), replace(DOWN, leaving="retired"), StayDown("this instance is retired")),
        (wanted(), replace(DOWN, leaving="shutting down"), StayDown("the VM is shutting down", is_over=False)),
        (STOPPED, DOWN, StayDown()),
        (STOPPED, replace(DOWN, leaving="shutting down"), StayDown()),
        (STOPPED, replace(DOWN, has_unnoted_exit=True), CountExit()),
        (STOPPED, replace(DOWN, has_unnoted_exit=True, leaving="shutting down"), StayDown()),
        (None, DOWN, StayDown("not in the document; none is started")),
        (wanted(), UP, KeepRunning()),
        (wanted(), replace(UP, is_confirmed=False), KeepRunning()),
        (None, UP, KeepRunning(NOT_IN_DOCUMENT)),
        (wanted("r-2"), UP, StopProcess("TERM")),
        (wanted("r-2"), replace(UP, is_confirmed=False), StopProcess("TERM")),
        (STOPPED, UP, StopProcess("TERM")),
        (STOPPED, replace(UP, is_confirmed=False), StopProcess("TERM")),
        (STOPPED, replace(UP, stop_asked_s=80.1), StopProcess("")),
        (STOPPED, replace(UP, stop_asked_s=80.0), StopProcess("KILL")),
        (wanted(), replace(UP, stop_asked_s=99.0), StopProcess("")),  # it got SIGTERM, and does not go on
        (None, replace(UP, stop_asked_s=80.0), StopProcess("KILL")),
        (wanted(), replace(UP, leaving="retired"), StopProcess("TERM")),
        (wanted(), replace(UP, leaving="shutting down"), StopProcess("TERM")),
        (None, replace(UP, leaving="shutting down"), StopProcess("TERM")),
    ],
)
def test_one_step_for_every_case(
    document: ReplicatorDocument | None, facts: ReplicatorFacts, step: ReplicatorStep
) -> None:
    assert next_step(document, facts) == step


def test_no_other_fact_starts_it_without_the_servers_word() -> None:
    for refused in ("", "no jars"):
        for hold in (None, HoldOff(0.0, "")):
            facts = replace(DOWN, is_confirmed=False, refused=refused, hold=hold)
            assert next_step(wanted(), facts) == WaitForServer(NOT_CONFIRMED)
