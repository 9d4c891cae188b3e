"""Conditions: the short answer to "how is it, since when, and what do I do?". Only changes are recorded."""

from controlplane.converger.pausing import hold_on
from controlplane.converger.verdict import Situation, Verdict
from controlplane.view import ClusterView
from events import facts

CONVERGED = "Converged"
BLOCKED = "Blocked"
PAUSED = "Paused"


def condition_changes(situation: Situation, verdict: Verdict) -> tuple[facts.ConditionChanged, ...]:
    """The conditions this verdict changes. A new number in a message is no change."""
    wanted = (_converged(situation, verdict), _blocked(situation, verdict), _paused(situation))
    return tuple(c for c in wanted if c is not None and _differs(situation.view, c))


def _converged(situation: Situation, verdict: Verdict) -> facts.ConditionChanged | None:
    view = situation.view
    reached = view.converged == view.generation and view.recycling == 0
    reason = "Reached" if reached else "Working"
    return facts.ConditionChanged(CONVERGED, reached, reason, f"generation {view.generation}")


def _blocked(situation: Situation, verdict: Verdict) -> facts.ConditionChanged | None:
    waiting = verdict.wait
    if waiting is None:
        return facts.ConditionChanged(BLOCKED, False, "Free", "")
    since = situation.view.progressed_at
    if since is None or situation.seconds_since(since) < waiting.patience_s:
        return None
    message = verdict.sentence
    if waiting.next_command:
        message = f"{message}. Next: {waiting.next_command}"
    return facts.ConditionChanged(BLOCKED, True, waiting.reason, message)


def _paused(situation: Situation) -> facts.ConditionChanged:
    hold = hold_on(situation.view, situation.now)
    if hold is not None:
        return facts.ConditionChanged(PAUSED, True, "Paused", hold.sentence)
    return facts.ConditionChanged(PAUSED, False, "Free", "")


def _differs(view: ClusterView, wanted: facts.ConditionChanged) -> bool:
    current = view.conditions.get(wanted.type)
    if current is None:
        return wanted.status or wanted.type == CONVERGED
    return (current.status, current.reason) != (wanted.status, wanted.reason)
