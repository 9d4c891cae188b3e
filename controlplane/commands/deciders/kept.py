"""What topics and users of a cluster have in common when they are declared: where each comes from, what of a file is
news, and the name that is typed out."""

from typing import Protocol

from controlplane.cluster.commands import CommandRefused, DeclareInCluster
from controlplane.cluster.spec_source import SourceRefusal


class Kept(Protocol):
    """A topic or a user as the view has it."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def tombstone(self) -> str: ...

    @property
    def undeclared(self) -> bool: ...

    @property
    def is_git(self) -> bool: ...


def refuse_source(noun: str, known: Kept | None, source: str, *, let_go: str) -> SourceRefusal | None:
    """Why `source` may not declare this one: it is going, or comes from elsewhere. None where it may. `let_go`: how a
    person has Kedge let go of it."""
    if known is None or known.undeclared:
        return None
    if known.tombstone:
        dying = being_deleted(noun, known.name)
        return SourceRefusal(dying.code, str(dying), dying.what_next)
    if known.source == source:
        return None
    if known.is_git:
        message = f"the {noun} {known.name} comes from `{known.source}`: {known.path}"
        return SourceRefusal("other-source", message, "Change that file, or remove it there first.")
    message = f"the {noun} {known.name} was declared through the API (`kedge apply`), not by {source}"
    return SourceRefusal("other-source", message, f"Let go of it first, it stays in Kafka: {let_go}")


def is_news(known: Kept | None, declared: object, wanted: object, command: DeclareInCluster) -> bool:
    """Whether a declaration says something that is not recorded. `declared`: what is."""
    if known is None or known.undeclared or (known.source, known.path) != (command.source, command.path):
        # A file of the API is a name somebody typed: another one alone is no news.
        moved = known is None or known.undeclared or known.source != command.source or known.is_git
        return moved or declared != wanted
    return declared != wanted


def refuse_unconfirmed(name: str, confirm: str, then: str) -> None:
    """Raises CommandRefused where the name was not typed out."""
    if confirm != name:
        message = f"to delete {name} its name must be typed out; {confirm!r} is not it"
        raise CommandRefused("name-mismatch", message, then)


def refuse_still_declared(known: Kept) -> None:
    """Raises CommandRefused for one that a file in git has."""
    if known.is_git and not known.undeclared:
        message = f"{known.name} is still declared by `{known.source}`: {known.path}"
        raise CommandRefused("still-declared", message, "Remove it there first and wait for the next poll.")


def being_deleted(noun: str, name: str) -> CommandRefused:
    return CommandRefused(
        f"{noun}-being-deleted", f"the {noun} {name} is being deleted", "Wait until it is gone; its name is free then."
    )
