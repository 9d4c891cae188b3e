"""One thing that was looked at before anybody relies on it, in a sentence for people."""

from collections.abc import Callable
from dataclasses import dataclass

from providers import errors


@dataclass(frozen=True, slots=True)
class Finding:
    """`well` is None where nobody can tell; `what_next` is what a person does about it."""

    what: str
    well: bool | None
    told: str
    what_next: str = ""


def looked_at(what: str, look: Callable[[], tuple[bool | None, str]], what_next: str) -> Finding:
    """A finding from one look: whether it is well, and what is told. That there is no such thing is a finding too.

    Raises what else the look ends with.
    """
    try:
        well, told = look()
    except errors.NotFound as error:
        return Finding(what, False, str(error), error.what_next)
    return Finding(what, well, told, what_next if well is False else "")
