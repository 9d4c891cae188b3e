"""Who holds a Terraform state, and when somebody else may: the rules, without a database.

A run holds a state from before its first command until its last process is gone; Terraform's own lock is within that.
A hold carries the epoch of the lease its server led by. It ends by being given back, or in two other ways only: its
server is proved dead, or its lease is over and a later epoch asks. Whoever asks under an earlier epoch has lost.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from events.ids import Epoch
from providers import process
from providers.tf.states import StateKey

LockInfo = Mapping[str, Any]
"""What Terraform says of its own lock: ID, Operation, Who, Created, ... (its `statemgr.LockInfo`)."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """One server process for ever. `machine` is a boot of a machine and a PID namespace: pids mean nothing outside."""

    machine: str
    pid: int
    start_ticks: int

    def is_proved_dead(self, here: "ServerProcess") -> bool:
        """By the process table, which tells only of `here`'s own machine; of another one nothing is known."""
        if self.machine != here.machine:
            return False
        seen = process.identify(self.pid)
        if seen is not None:
            return seen.start_ticks != self.start_ticks
        return not _is_hidden(self.pid)


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that wants a state. `hold_id` is new for each try, `owner` names the server as its lease does."""

    hold_id: str
    run_id: str
    epoch: Epoch
    owner: str
    process: ServerProcess
    lease_s: float


@dataclass(frozen=True, slots=True)
class StateHold:
    """A state in somebody's hands. Times are the database's. `lock` is Terraform's own, {} while it has none."""

    key: StateKey
    claim: Claim
    taken_at: datetime
    renewed_at: datetime
    lock: LockInfo = field(default_factory=dict)

    @property
    def lease_ends(self) -> datetime:
        """From then on a later epoch may take it: the server did not renew it, so it has ended its Terraform since."""
        return self.renewed_at + timedelta(seconds=self.claim.lease_s)

    @property
    def lock_id(self) -> str:
        return str(self.lock.get("ID", ""))


def _is_hidden(pid: int) -> bool:
    """Another user's, where /proc shows only one's own (`hidepid`): it is there, and what it is cannot be seen."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False  # a zombie


def this_process() -> ServerProcess:
    """The identity of the process that asks."""
    me = process.identify(os.getpid())
    if me is None:
        raise RuntimeError("this process is not in /proc: Kedge runs on Linux, with /proc mounted")
    namespace = os.readlink(Path("/proc/self/ns/pid"))
    return ServerProcess(f"{me.boot_id}/{namespace}", me.pid, me.start_ticks)


def refusal(held: StateHold, claim: Claim, now: datetime, *, proved_dead: str | None = None) -> str | None:
    """Why the claim may not take what is held, None when it may. `proved_dead` is the hold that was proved over."""
    theirs = held.claim
    who = f"run {theirs.run_id} of server {theirs.owner} (epoch {theirs.epoch})"
    if claim.epoch < theirs.epoch:
        return f"{who} holds it, and epoch {claim.epoch} is over: this server has lost its lease"
    if proved_dead == theirs.hold_id:
        return None
    left_s = (held.lease_ends - now).total_seconds()
    if claim.epoch > theirs.epoch and left_s <= 0:
        return None
    if claim.epoch == theirs.epoch:
        return f"{who} holds it, and is not proved to be over"
    return f"{who} holds it, is not proved to be over, and its lease lasts {max(1, round(left_s))} s more"
