"""What is declared of pairs of clusters, and taken back. Pure: each is decided on the pair as it is recorded, and is
one event or none.

A pair is declared by one source, git or the API. A file that says what is in force takes over a pair that was declared
through the API; anybody may declare one anew whose file is gone, or whose source is bound no more.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.cluster.commands import Command, CommandRefused
from controlplane.commands.failover_orders import Decided, PairOutcome, refuse_unreadable
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.view import PairDeclaration
from events import failover_facts as facts
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.positions import NOWHERE, Positions

IsBound = Callable[[str], bool]
"""Whether a source, `git:BINDING`, is bound in the settings: its files are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarePair(Command):
    """Bring this document into force; `name` is the document's own. `source` is `api` or `git:BINDING`."""

    document: KafkaFailoverDocument
    source: str
    positions: Positions = field(default=NOWHERE, compare=False)
    plan_digest: str | None = None
    """With it only if that is still what it would do, as its preview says."""
    path: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawPair(Command):
    """Take a pair's declaration back; `confirm` is its name again."""

    confirm: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPairGone(Command):
    """No file of `source` declares the pair any more, as of `commit`."""

    source: str
    commit: str


def declared(known: RegisteredPair, command: DeclarePair, clusters: tuple[str, ...], is_bound: IsBound) -> Decided:
    """What the document is to a pair that is registered; `clusters` are its own, by uid. Raises CommandRefused."""
    view, document, name = known.view, command.document, command.name
    refuse_unreadable(known)
    data = document.model_dump(mode="json", by_alias=True)
    if not view.name:
        primary, standby = clusters
        first, second = document.spec.clusters
        sentence = f"{name}: {first} is the primary, {second} its {document.spec.mode} standby"
        fact: object = facts.FailoverDeclared(
            name, primary, standby, document.spec.mode, data, command.source, command.path, command.commit
        )
        return fact, PairOutcome(name, True, sentence)
    before = view.declaration
    if before is not None and _says_nothing_new(before, command):
        return None, PairOutcome(name, False, f"{name} is declared so already")
    if before is not None:
        _refuse_source(name, before, command, is_bound)
    if view.order is not None:
        message = f"the failover {view.order.id} of {name} is in hand, by its document of before: nothing was changed"
        raise CommandRefused("failover-in-hand", message, "Apply it again once that is over.")
    changed = facts.PairSpecChanged(data, command.source, command.path, command.commit)
    return changed, PairOutcome(name, True, f"{name} is declared anew")


def withdrawn(known: RegisteredPair, command: WithdrawPair, is_bound: IsBound) -> Decided:
    """Raises CommandRefused while the pair acts, and while a file still declares it: the next look would declare it
    anew."""
    view, name = known.view, command.name
    if view.is_withdrawn:
        return None, PairOutcome(name, False, f"the pair {name} was withdrawn already")
    refuse_acting(name, known)
    before = view.declaration
    if before is not None and _is_in_file(before, is_bound):
        message = f"the pair {name} is still declared by {before.source} {before.path}"
        raise CommandRefused("still-declared", message, "Remove it there first, and wait for the next poll.")
    sentence = f"{name} is no pair any more: each of its clusters is its own, and stays as it is"
    return facts.PairWithdrawn(command.reason), PairOutcome(name, True, sentence)


def gone(known: RegisteredPair, command: ReportPairGone) -> Decided:
    """The pair stays; it is recorded once that no file has it."""
    before, name = known.view.declaration, command.name
    is_news = not known.view.is_withdrawn and not known.view.unreadable
    if not is_news or before is None or before.undeclared or before.source != command.source:
        return None, PairOutcome(name, False, f"{name} is not declared by {command.source}")
    sentence = f"no file declares the pair {name} any more: it stays as it is"
    return facts.PairUndeclared(command.commit), PairOutcome(name, True, sentence)


def refuse_acting(name: str, known: RegisteredPair) -> None:
    """Raises CommandRefused while something of it acts: it is not withdrawn then."""
    view = known.view
    refuse_unreadable(known)
    if view.missed:
        return  # nothing of it is carried on any more
    if view.order is not None:
        message = f"the failover {view.order.id} of {name} is in hand: nothing was changed"
        raise CommandRefused("failover-in-hand", message, "Withdraw it once that is over.")


def _says_nothing_new(before: PairDeclaration, command: DeclarePair) -> bool:
    """The API may repeat what a file says, and a name that somebody typed is no place."""
    if before.document != command.document:
        return False
    if not command.source.startswith("git:"):
        return not before.is_git or not before.undeclared
    return (before.source, before.path, before.undeclared) == (command.source, command.path, "")


def _refuse_source(name: str, before: PairDeclaration, command: DeclarePair, is_bound: IsBound) -> None:
    if before.source == command.source:
        return
    if _is_in_file(before, is_bound):
        message = f"the pair {name} is declared by {before.source} {before.path}: nothing was changed"
        raise CommandRefused("other-source", message, "Change it there, or remove it there first.")
    if not before.is_git and before.document != command.document:
        message = f"the pair {name} was declared through the API (`kedge apply`), not by {command.source}"
        then = "Have the file say what is in force, which hands the pair over to it; change it then."
        raise CommandRefused("other-source", message, then)


def _is_in_file(before: PairDeclaration, is_bound: IsBound) -> bool:
    return before.is_git and not before.undeclared and is_bound(before.source)
