"""Whether what somebody waits for has come, can still come, or cannot come before a person does something. Pure.

Waiting is pinned: to the generation that was asked for and to the cluster's uid. A newer spec, or another cluster under
the same name, is never mistaken for what was meant.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.api.schemas.conditions import ConditionOut
from controlplane.api.trouble import message_of
from controlplane.cluster.wait_reasons import NEXT, WaitReason, is_given_up

CONVERGED = "Converged"
BLOCKED = "Blocked"
TICK_FAILING = "TickFailing"


@dataclass(frozen=True, slots=True)
class Converged:
    """Every VM and feature level is as this generation declares."""

    generation: int
    uid: str = ""

    def __str__(self) -> str:
        return f"generation {self.generation} converged"


@dataclass(frozen=True, slots=True)
class ConditionIs:
    """A condition has this status."""

    type: str
    status: bool = True
    uid: str = ""

    def __str__(self) -> str:
        return f"condition {self.type} is {'true' if self.status else 'false'}"


@dataclass(frozen=True, slots=True)
class Deleted:
    """The cluster is gone."""

    uid: str = ""

    def __str__(self) -> str:
        return "deleted"


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """No rebalance is in hand: it is over, was given up, or was never asked for."""

    uid: str = ""

    def __str__(self) -> str:
        return "rebalanced"


@dataclass(frozen=True, slots=True)
class NodeReplaced:
    """A node's VM, known by its key, has a successor that serves, and the cluster has nothing left to do."""

    node: str
    key: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.node} replaced"


Goal = Converged | ConditionIs | Deleted | Rebalanced | NodeReplaced


@dataclass(frozen=True, slots=True)
class Done:
    """It has come."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot come by waiting. `next_command` is what a person may do."""

    reason: str
    message: str
    next_command: str


@dataclass(frozen=True, slots=True)
class Pending:
    """Not yet."""

    sentence: str


Outcome = Done | Failed | Pending


def judge(goal: Goal, name: str, detail: ClusterDetailOut | None) -> Outcome:
    """How it stands with the goal. `detail` None: no living cluster has the name."""
    if detail is None or (goal.uid and detail.uid != goal.uid):
        return _gone(goal, name, detail)
    reached = _reached(goal, detail)
    if reached is not None:
        return reached
    return _hopeless(goal, detail) or Pending(_so_far(detail))


def next_command(condition: ConditionOut, name: str) -> str:
    """What to do about a condition: the server's own words, else where to look; empty when nothing is wrong."""
    said = condition.message.partition(NEXT)[2].strip()
    if said:
        return said
    if condition.type == "Paused" and condition.status:
        return f"kedge resume {name}"
    if condition.type == BLOCKED and condition.status:
        return f"kedge events {name}"
    return ""


def find(conditions: Iterable[ConditionOut], kind: str) -> ConditionOut | None:
    """The condition of a type, whatever its case: people type `converged`."""
    return next((c for c in conditions if c.type.lower() == kind.lower()), None)


def _gone(goal: Goal, name: str, detail: ClusterDetailOut | None) -> Outcome:
    if isinstance(goal, Deleted):
        return Done(f"{name} is gone")
    what = "was deleted" if detail is None else "was deleted, and another cluster has its name now"
    return Failed("Deleted", f"{name} {what}", f"kedge get {name}" if detail else "kedge get")


def _reached(goal: Goal, detail: ClusterDetailOut) -> Done | None:
    match goal:
        case Converged(generation=wanted):
            if detail.converged_generation >= wanted and (detail.generation > wanted or _is_converged(detail)):
                return Done(f"{detail.name} has converged at generation {detail.converged_generation}")
        case ConditionIs(type=kind, status=status):
            condition = find(detail.conditions, kind)
            # A condition that was never recorded is false.
            if (condition is not None and condition.status) == status:
                return Done(f"{detail.name}: {goal}")
        case Rebalanced():
            if detail.rebalance is None:
                return Done(f"{detail.name}: no rebalance is in hand")
        case NodeReplaced(node=node, key=key):
            vms = [i for i in detail.instances if i.node == node]
            if len(vms) == 1 and vms[0].key != key and vms[0].phase == "joined" and _is_converged(detail):
                return Done(f"{detail.name}: {vms[0].key} has taken the place of {key}")
        case Deleted():
            pass
    return None


def _is_converged(detail: ClusterDetailOut) -> bool:
    """A cluster that was converged may work again, on a VM that was lost; one that is paused, or that only spreads its
    replicas anew, may still be converged."""
    if detail.status != "Paused" and detail.rebalance is None:
        return detail.status == CONVERGED
    condition = find(detail.conditions, CONVERGED)
    return condition is not None and condition.status


def _so_far(detail: ClusterDetailOut) -> str:
    """That ticks fail is told as it was recorded: what the last tick said may be one that got a step further."""
    failing = find(detail.conditions, TICK_FAILING)
    failure = f"{TICK_FAILING}: {message_of(failing)}" if failing is not None and failing.status else ""
    return failure or detail.sentence or "nothing was said of it yet"


def _hopeless(goal: Goal, detail: ClusterDetailOut) -> Failed | None:
    if detail.status == "Unreadable":
        return Failed(WaitReason.HISTORY_UNREADABLE, detail.sentence, f"kedge events {detail.name}")
    blocked = find(detail.conditions, BLOCKED)
    if blocked is not None and blocked.status and is_given_up(blocked.reason, blocked.message):
        return Failed(blocked.reason, message_of(blocked), next_command(blocked, detail.name))
    if isinstance(goal, Converged):
        return _never_converges(goal, detail)
    return None


def _never_converges(goal: Converged, detail: ClusterDetailOut) -> Failed | None:
    name = detail.name
    if detail.status == "Deleting":
        return Failed("Deleting", f"{name} is being deleted", f"kedge wait {name} --for=deleted")
    if detail.generation > goal.generation:
        message = f"generation {detail.generation} was declared before generation {goal.generation} was reached"
        return Failed("Superseded", message, f"kedge wait {name} --for=converged")
    if detail.paused:
        return Failed(WaitReason.PAUSED, f"{name} is paused: {detail.paused}", f"kedge resume {name}")
    if detail.status == "Paused":
        fix = "set rollout.pause to false in the spec, then: kedge apply -f FILE"
        return Failed(WaitReason.PAUSED, f"{name} is paused by its own spec", fix)
    return None
