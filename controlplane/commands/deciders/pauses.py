"""What people ask of the work in hand of a cluster: begin none, go on, stop the roll."""

from collections.abc import Sequence

from controlplane.cluster.commands import AbortRecycle, PauseCluster, ResumeCluster
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from events import facts
from events.envelope import Recorded

_COUNTED = frozenset({"instance.join_failed", "healing.requested", "election_cure.requested", "move_cure.requested"})


def cluster_paused(view: ClusterView, command: PauseCluster, _: Lookups = NOTHING) -> CommandDecision:
    """Another reason or another end is news."""
    reason = command.reason or "paused"
    if (view.requests.paused, view.requests.paused_until) == (reason, command.until):
        return CommandDecision(None, f"{view.name} is paused already: {view.requests.paused}")
    until = f" until {command.until.isoformat(timespec='seconds')}" if command.until else ""
    return CommandDecision(
        facts.ClusterPaused(reason, command.until),
        f"{view.name} is paused{until}: no new step begins, the one in hand is ended",
    )


def cluster_resumed(view: ClusterView, command: ResumeCluster, known: Lookups) -> CommandDecision:
    """Nothing where nothing stands still and nothing has failed."""
    if not _needs_resume(view, known.events):
        return CommandDecision(None, f"{view.name} is not paused and nothing of it has failed")
    return CommandDecision(
        facts.ClusterResumed(command.reason), f"{view.name} goes on, its failed attempts are forgiven"
    )


def roll_aborted(view: ClusterView, command: AbortRecycle, _: Lookups = NOTHING) -> CommandDecision:
    """Nothing where no roll is in hand."""
    if view.requests.aborting:
        return CommandDecision(None, f"the roll of {view.name} is aborted already: {view.requests.aborting}")
    if not (
        view.roll.recycling
        or view.requests.rolling_restart
        or view.requests.to_replace
        or view.is_evacuating()
        or view.moves.rebalance
    ):
        return CommandDecision(None, f"{view.name} is not rolling: there is nothing to abort")
    sentence = f"the roll of {view.name} stops after the replacement in hand, and the cluster is paused then"
    return CommandDecision(facts.RecycleAborted(command.reason or "aborted"), sentence)


def _needs_resume(view: ClusterView, events: Sequence[Recorded]) -> bool:
    """Whether something failed or stands still that a person's word sets going again."""
    if view.requests.held or view.requests.paused or view.requests.aborting or view.roll.join_failures:
        return True
    if any(i.failures for i in view.intents.values()) or (view.moves.drain and view.moves.drain.planning.failures):
        return True
    if view.moves.rebalance is not None and view.moves.rebalance.planning.failures:
        return True
    # The fleet's brake counts failed joins and cures until a person resumes, also what a later attempt made good.
    last = [e.type for e in events if e.type in _COUNTED or e.type == "cluster.resumed"]
    return bool(last) and last[-1] in _COUNTED
