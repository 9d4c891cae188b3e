"""A failover as a person asks for it: what is refused, what may be lost, and the steps it takes, each with how it is
proved and what taking it back means. Pure.

The steps are those of `steps.next_step`, in a world where everything answers: a plan and what is done cannot differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from controlplane.fleet.failovers.fold import after
from controlplane.fleet.failovers.losses import PairLoss, loss_of
from controlplane.fleet.failovers.seen import (
    CopySeen,
    DoorSeen,
    NamesSeen,
    PairSeen,
    ReplicatorsSeen,
    StandbyBuild,
)
from controlplane.fleet.failovers.steps import PairStep, copy_trouble, next_step
from controlplane.fleet.failovers.view import PairState, PairView
from controlplane.fleet.failovers.wanted import wants_of
from events import failover_facts as facts

DEFAULT_MAX_LOSS_S: Final = 60
_MOST_STEPS = 40


@dataclass(frozen=True, slots=True)
class FailoverWish:
    """`planned`: with all records, while the primary is there. `accepts_loss`: a person has read what may be lost.
    `primary`, `standby`: what the clusters are called."""

    planned: bool
    accepts_loss: bool = False
    primary: str = "the primary"
    standby: str = "the standby"


@dataclass(frozen=True, slots=True)
class PairRefusal:
    """Why an order does not begin, and what a person can do."""

    code: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One event of the plan: what it is, in words; `proof`: by what it is known (of an outcome), or what is then done
    (of an intent); `undo`: what an abort behind it does."""

    what: str
    proof: str
    undo: str
    is_point_of_no_return: bool = False


@dataclass(frozen=True, slots=True)
class FailoverPlan:
    """`refusals` are empty where it could begin now."""

    planned: bool
    steps: tuple[PlannedStep, ...]
    loss: PairLoss
    refusals: tuple[PairRefusal, ...]


def plan_of(view: PairView, seen: PairSeen, wish: FailoverWish, primary_brokers: int | None) -> FailoverPlan:
    """What a failover would do from here; of a pair that is not at rest yet, once it is; of one with an order in hand,
    what is left of that."""
    loss = loss_of(view, seen, planned=wish.planned)
    return FailoverPlan(
        wish.planned, tuple(_steps(view, wish, primary_brokers or 1)), loss, tuple(_refusals(view, seen, wish, loss))
    )


def _refusals(view: PairView, seen: PairSeen, wish: FailoverWish, loss: PairLoss) -> Iterator[PairRefusal]:
    if view.unreadable:
        yield PairRefusal("history-unreadable", f"its events cannot be read: {view.unreadable}", "Run a newer release.")
        return
    if view.missed:
        fix = "Withdraw it, and declare it anew with the cluster first that clients are on."
        yield PairRefusal("failover-events-missed", f"its events are those of a backup: {view.missed}", fix)
        return
    yield from (_obstacle(one) for one in seen.obstacles)
    if seen.may_share_ids:
        message = "producer ids of the two clusters may meet: acknowledged records of producers that move would vanish"
        yield PairRefusal(
            "failover-producer-ids", message, "Pair clusters that have ids of their own: docs/producers.md."
        )
    if view.state is PairState.ABORTING and not wish.planned:
        pass  # what is taken back may never be: the primary is gone
    elif view.order is not None:
        message = f"the failover {view.order.id} is in hand: there is one at a time"
        yield PairRefusal("failover-in-hand", message, "Wait until it is over, or abort it.")
    elif view.state is PairState.REVERSING:
        message = "the way back is not ready: nothing is copied to the old primary yet"
        yield PairRefusal("failover-not-ready", message, "Wait until the pair is Standby.")
    elif view.state is not PairState.STANDBY:
        message = f"the pair is {view.state}: its standby is not what it has to be"
        yield PairRefusal("failover-not-ready", message, "Wait until the pair is Standby.")
    elif view.is_warm and wish.planned and (trouble := copy_trouble(view, seen)):
        message = f"producers would be held for nothing: {trouble}"
        yield PairRefusal("failover-not-ready", message, "Wait until the copy keeps up: kedge failovers show.")
    most_s = _max_loss_s(view)
    if not wish.planned and loss.exceeds(most_s) and not wish.accepts_loss:
        message = f"it may lose more than the {most_s} s that `maxLoss` allows, or nobody knows how much"
        yield PairRefusal("failover-loses", message, "Read what may be lost, and ask again with --accept-loss.")


def _obstacle(one: str) -> PairRefusal:
    return PairRefusal("failover-not-ready", f"the standby could not take over: {one}", "Mend that first.")


def _max_loss_s(view: PairView) -> int:
    return view.declaration.document.spec.failover.max_loss if view.declaration is not None else DEFAULT_MAX_LOSS_S


def _steps(view: PairView, wish: FailoverWish, primary_brokers: int) -> Iterator[PlannedStep]:
    """Nothing for a pair that does not come to rest by itself, and for one whose order is being taken back."""
    if view.stands_still:
        return
    if view.order is None:
        view = _walked(view, primary_brokers, until=PairState.STANDBY)[0]
        if view.state is not PairState.STANDBY:
            return
        view = after(view, facts.FailoverRequested("plan", wish.planned, "plan"))
    elif view.state is PairState.ABORTING and not wish.planned:
        view = after(view, facts.FailoverRequested("plan", False, "plan"))
    if view.state is PairState.ABORTING:
        return
    for fact in _walked(view, primary_brokers, until=None)[1]:
        what, proof, undo = (words.format(primary=wish.primary, standby=wish.standby) for words in _WORDS[type(fact)])
        yield PlannedStep(what, proof, undo, PairStep(fact).is_point_of_no_return)


def _walked(view: PairView, primary_brokers: int | None, *, until: PairState | None) -> tuple[PairView, list[object]]:
    """Steps in a world where everything answers at once, until that state, or until no order is in hand."""
    facts_of: list[object] = []
    while len(facts_of) < _MOST_STEPS:
        if view.state is until or (until is None and view.order is None):
            break
        found = next_step(view, _answering(view, primary_brokers), primary_brokers)
        if not isinstance(found, PairStep):
            break
        view = after(view, found.fact)
        facts_of.append(found.fact)
    return view, facts_of


def _answering(view: PairView, primary_brokers: int | None) -> PairSeen:
    wants = wants_of(view, primary_brokers)
    return PairSeen(
        doors={c: DoorSeen(order.epoch, not order.is_open, "agents", "") for c, order in wants.doors.items()},
        names=NamesSeen(wants.names_lead_to, True),
        standby=StandbyBuild(wants.brokers or 0, 0, (), True),
        replicators=ReplicatorsSeen((view.replicator_at,) if view.replicator_at else (), {}, wants.copies is not None),
        copy=CopySeen(0.0, {}, {}),
        ends={},
        seeds={},
        aligned={},
    )


_BACK = "the door of {primary} is opened again, and the name led back"
_FREE = "nothing was touched"
_NEVER = "nothing: the way back is another failover"

_WORDS: dict[type, tuple[str, str, str]] = {
    facts.StandbyReady: (
        "{standby} is ready",
        "its brokers, topics with leaders and replicas in sync, producer ids that never meet those of {primary}",
        _FREE,
    ),
    facts.NamesFlipRequested: ("the pair's name is to lead to {standby}", "name servers are told", "it is led back"),
    facts.NamesFlipped: ("it does", "every authoritative server says so, and its TTL is over", "it is led back"),
    facts.DoorCloseRequested: (
        "the door of {primary} is to be closed",
        "its agents end all connections of clients: producers hold their records from here on",
        _BACK,
    ),
    facts.DoorClosed: (
        "the door of {primary} is closed",
        "every VM's agent by this very order, or the cloud that none of them runs, or a person",
        _BACK,
    ),
    facts.PairDrained: ("{standby} has every record", "ends and last records of all partitions are equal", _BACK),
    facts.OffsetsAlignRequested: ("offsets of groups are to be set", "on {standby}, by those on {primary}", _BACK),
    facts.OffsetsAligned: ("they are", "by group and partition; what is read again is counted", _BACK),
    facts.ReplicatorStopRequested: ("the replicator is to end", "its agents are told", "it is started again"),
    facts.ReplicatorStopped: ("it has", "its agents saw every process end", "it is started again"),
    facts.PromotionRequested: ("the door of {standby} is to be opened", "its agents are told", _NEVER),
    facts.DoorOpened: ("it is open: producers go on", "every VM's agent by this very order", _NEVER),
    facts.PairPromoted: ("{standby} is the primary", "its door is open", _NEVER),
}
