"""Secrets this process holds: in memory behind pydantic's `SecretStr`, which prints asterisks, and known here by value,
so that what writes a log or an error can leave them out. Errors of providers know this module, and the provisioners of
the `local` cloud start without any installed package: none is loaded before somebody reads a secret."""

import json
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import SecretStr

PASSING = 64
SHORTEST = 8
"""One that is shorter is looked for by nobody: it would be found inside of plain words."""

_lock = threading.Lock()
_forms: dict[str, tuple[str, ...]] = {}
_known: tuple[str, ...] = ()
_passing: list[str] = []


def secret(text: str, *, passing: bool = False) -> "SecretStr":
    """The text behind a type that shows none of it, and known from here on. Whoever reads a secret calls this."""
    from pydantic import SecretStr

    remember(text, passing=passing)
    return SecretStr(text)


def remember(text: str, *, passing: bool = False) -> None:
    """From here on a log leaves it out, also as it is written in JSON, in a URL and in Python. Idempotent.

    `passing`: one of many that come and go, as a token of an hour; of those the last `PASSING` are known.
    """
    global _known
    if not text or text in _forms:
        return
    with _lock:
        _forms[text] = _written(text)
        if passing:
            _passing.append(text)
            for over in _passing[:-PASSING]:
                _forms.pop(over, None)
            del _passing[:-PASSING]
        _known = _longest_first()


def forget(text: str) -> None:
    """It opens nothing any more. Of secrets that are made by the hundred, one for each run."""
    global _known
    with _lock:
        if _forms.pop(text, None) is not None:
            _known = _longest_first()


def without_secrets(text: str, mask: str = "***") -> str:
    """The text without what is known here. For words of others that we pass on, as those of a cloud."""
    for form in _known:
        if len(form) >= SHORTEST:
            text = text.replace(form, mask)
    return text


def known_secrets() -> tuple[str, ...]:
    """Every secret in every form of it, the longest first: one that holds another goes whole."""
    return _known


def _longest_first() -> tuple[str, ...]:
    return tuple(sorted({form for forms in _forms.values() for form in forms}, key=lambda form: (-len(form), form)))


def _written(text: str) -> tuple[str, ...]:
    from urllib.parse import quote

    as_json = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    raw = text.encode("utf-8", "surrogateescape")  # a variable of the environment may hold any bytes
    return (text, *as_json, quote(raw, safe=""), repr(text)[1:-1], repr(raw)[2:-1])
