"""Did you mean: the nearest known word for a misspelt one."""

from collections.abc import Iterable
from difflib import get_close_matches

_TOO_LONG = 80


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word a person most likely meant, or None. Case, dashes and underscores do not count as different."""
    if len(word) > _TOO_LONG:
        return None
    by_bare = {_bare(candidate): candidate for candidate in known}
    close = get_close_matches(_bare(word), by_bare, n=1, cutoff=0.7)
    return by_bare[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`Did you mean X? ` or nothing, to stand before the rest of a fix."""
    found = nearest(word, known)
    return f"Did you mean `{found}`? " if found is not None else ""


def _bare(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
