"""What a person orders of a pair: a failover, an abort of it, and their word that a door is shut. Pure: each is decided
on the pair as it is recorded, and is one event or none. The steps of a failover are recorded by others."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from controlplane.cluster.commands import Command, CommandRefused
from controlplane.commands.previews.kept import kept_digest
from controlplane.commands.previews.plan import moved_parts
from controlplane.fleet.failovers.fold import IllegalStep, after
from controlplane.fleet.failovers.orders import FailoverPlan, FailoverWish, plan_of
from controlplane.fleet.failovers.seen import PairSeen
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.view import Door, DoorState, PairState, PairView
from events import failover_facts as facts
from events.failover_facts import DoorProof
from events.ids import derived_id
from events.quantities import named

PERSON: Final[DoorProof] = "certified"
"""Who knows that a door is shut, where a person says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFailover(Command):
    """The standby is to take over. `planned`: with all records a standby of its mode has, while the primary is there;
    `confirm` is the pair's name again. `accepts_loss`: what may be lost was read."""

    planned: bool
    accepts_loss: bool
    confirm: str
    reason: str
    plan_digest: str | None = None
    """With it only if the pair still stands as its plan was shown, so that an order sent again is no way back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortFailover(Command):
    """All is to be as before the order in hand."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifyDoorShut(Command):
    """A person's word that no VM of the primary lets clients in: its region is gone, or its machines are switched off.
    `confirm` is the pair's name again, `reason` how they know."""

    confirm: str
    reason: str


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What came of it. `order`: the failover it is about, "" for none."""

    name: str
    changed: bool
    sentence: str
    order: str = ""


Decided = tuple[object | None, PairOutcome]


def order_plan(
    known: RegisteredPair,
    seen: PairSeen,
    primary_brokers: int | None,
    names: Mapping[str, str],
    *,
    planned: bool,
    accepts_loss: bool,
) -> FailoverPlan:
    """What a failover would do, and every reason why it does not begin. `names`: of clusters, by uid.

    Raises CommandRefused of a pair whose declaration was begun and not ended."""
    view = known.view
    if not view.name and not view.unreadable:
        then = f"Apply its document again, or kedge failovers withdraw {known.name}"
        raise CommandRefused("failover-not-declared", f"the declaration of {known.name} was begun and not ended", then)
    primary, standby = (names.get(uid, uid) for uid in (view.primary, view.standby))
    return plan_of(view, seen, FailoverWish(planned, accepts_loss, primary, standby), primary_brokers)


def order_digest(known: RegisteredPair, *, planned: bool) -> str:
    """Pins what a plan was shown of: the kind of failover, and which cluster takes over by which document. Another
    failover in between, or an abort, changes it; how far a copy is behind does not."""
    view = known.view
    generation = view.declaration.generation if view.declaration is not None else 0
    return kept_digest([planned], [known.uid, generation, view.primary, view.last_epoch])


def refuse_unconfirmed(name: str, confirm: str) -> None:
    """Raises CommandRefused where the name that was typed is another."""
    if confirm != name:
        message = f"`{confirm}` is not `{name}`: nothing was changed"
        raise CommandRefused("not-confirmed", message, "Type the pair's name again.")


def refuse_unreadable(known: RegisteredPair) -> None:
    """Raises CommandRefused where nobody can tell how the pair is."""
    if why := known.view.unreadable:
        raise CommandRefused("history-unreadable", f"the history of the pair {known.name} is unreadable: {why}")


def _refuse_missed(known: RegisteredPair) -> None:
    refuse_unreadable(known)
    if why := known.view.missed:
        then = "Withdraw it, and declare it anew with the cluster first that clients are on."
        raise CommandRefused("failover-events-missed", f"the events of {known.name} are those of a backup: {why}", then)


def ordered(known: RegisteredPair, command: OrderFailover, plan: FailoverPlan, names: Mapping[str, str]) -> Decided:
    """`plan`: of `order_plan`, as of now. Raises CommandRefused with all that speaks against it."""
    view, name = known.view, known.name
    _refuse_moved(known, command)
    if plan.refusals:
        first = plan.refusals[0]
        why = "; ".join(refusal.message for refusal in plan.refusals)
        raise CommandRefused(first.code, f"the failover of {name} was not ordered: {why}", first.fix)
    order = derived_id("failover order", known.uid, command.command_id)
    fact = facts.FailoverRequested(order, command.planned, command.reason)
    _refuse_illegal(known, fact)
    primary, standby = (names.get(uid, uid) for uid in (view.primary, view.standby))
    kind = "planned" if command.planned else "unplanned"
    return fact, PairOutcome(name, True, f"{name}: the {kind} failover from {primary} to {standby} is ordered", order)


def aborted(known: RegisteredPair, command: AbortFailover, names: Mapping[str, str]) -> Decided:
    """Raises CommandRefused where nothing is in hand, and behind the point of no return. Of one that is being aborted
    nothing is recorded again."""
    _refuse_missed(known)
    view, name, order = known.view, known.name, known.view.order
    if order is None:
        message = f"no failover of {name} is in hand: there is nothing to abort"
        raise CommandRefused("no-failover-in-hand", message, f"kedge failovers show {name}")
    primary, standby = (names.get(uid, uid) for uid in (view.primary, view.standby))
    if view.state is PairState.ABORTING:
        return None, PairOutcome(name, False, f"{name}: the failover {order.id} is being aborted already", order.id)
    if order.is_promoted:
        message = f"the failover {order.id} of {name} is past its point of no return: {standby} is opened to clients"
        then = f"Wait until {standby} is the primary; another failover leads back then: kedge failover {name}"
        raise CommandRefused("failover-past-return", message, then)
    fact = facts.FailoverAbortRequested(order.id, view.last_epoch + 1, command.reason)
    _refuse_illegal(known, fact)
    sentence = f"{name}: the failover {order.id} is aborted: {primary} is opened again, and the name led back to it"
    return fact, PairOutcome(name, True, sentence, order.id)


def certified(
    known: RegisteredPair, command: CertifyDoorShut, names: Mapping[str, str], heard_open: Collection[str]
) -> Decided:
    """Raises CommandRefused without a reason, where no order in hand is closing a door, and against the word of agents:
    `heard_open` are VMs that have said since the order that clients get in."""
    _refuse_missed(known)
    view, name = known.view, known.name
    if not command.reason.strip():
        then = "Say how you know: its region is gone, its machines are switched off."
        raise CommandRefused("reason-missing", f"nobody can judge later why the door of {name} counted as shut", then)
    primary = names.get(view.primary, view.primary)
    door = view.doors.get(view.primary)
    if view.order is None or door is None:
        message = f"no failover of {name} is in hand: no door is closed by one"
        raise CommandRefused("no-door-closing", message, f"kedge failovers show {name}")
    if view.state is not PairState.FENCING or door.state is not DoorState.CLOSING:
        raise CommandRefused("no-door-closing", _not_closing(view, door, primary), f"kedge failovers show {name}")
    if heard_open:
        message = (
            f"{named(sorted(heard_open))} of {primary} said a moment ago that clients get in: that door is not shut"
        )
        raise CommandRefused("door-heard-open", message, "Stop those VMs, or wait until they have followed the order.")
    fact = facts.DoorClosed(view.primary, door.epoch, PERSON, command.reason)
    _refuse_illegal(known, fact)
    sentence = f"{name}: the door of {primary} counts as shut by your word, by order {door.epoch}"
    return fact, PairOutcome(name, True, sentence, view.order.id)


def _not_closing(view: PairView, door: Door, primary: str) -> str:
    if view.state is PairState.ABORTING:
        return f"the failover is being aborted: the door of {primary} is opened again, and not closed"
    if door.is_shut:
        return f"the door of {primary} is proved shut by order {door.epoch} already"
    return f"the door of {primary} is {door.state}, and not closing yet: the pair is {view.state}"


def _refuse_moved(known: RegisteredPair, command: OrderFailover) -> None:
    if command.plan_digest is None:
        return
    parts = ("the kind of failover", "how the pair stands")
    if moved := moved_parts(command.plan_digest, order_digest(known, planned=command.planned), parts):
        message = f"the plan of the failover of {known.name} is not what it was: {' and '.join(moved)} changed"
        raise CommandRefused("plan-moved", message, "Look at the plan again, and at which cluster is the primary now.")


def _refuse_illegal(known: RegisteredPair, fact: object) -> None:
    """Raises CommandRefused for what the fold would not take."""
    try:
        after(known.view, fact)
    except IllegalStep as error:
        message = f"that is no step of {known.name} as it stands: {error}"
        raise CommandRefused("failover-step-refused", message, f"kedge failovers show {known.name}") from error
