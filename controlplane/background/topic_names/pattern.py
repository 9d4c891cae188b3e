"""Regular expressions people search topics by, `/like.this/`: only such as end soon, on top of a part one looks up.

Python's `re` goes back and forth and cannot be stopped within a name. So there are no groups, no alternatives and no
counts, at most two repetitions without an end, and four signs that may be missing: a name of 249 characters that was
made to be slow then costs some tenths of a second.
"""

import re
from dataclasses import dataclass

SIGN = "/"
LEAST_LITERAL = 3
MOST_REPEATED = 2
MOST_OPTIONAL = 4

_ATOM = re.compile(r"(?P<anchor>[\^$])|(?P<kind>\\[dwsDWS]|\.|\[\^?\]?[^\]]*\])|\\(?P<escaped>\W)|(?P<plain>[\w\-]| )")
_REFUSED = {
    "(": "groups are not offered",
    ")": "groups are not offered",
    "|": "alternatives are not offered: search for each",
    "{": "counts are not offered",
    "}": "counts are not offered",
}


class PatternRefused(ValueError):
    """What is wrong with the expression, in words for who typed it."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`literal` is in every name that fits, in small letters: names without it are not looked at."""

    literal: str
    fits: re.Pattern[str]


def pattern_in(text: str) -> Pattern | None:
    """The expression between two `/`; None for a text that is none. Raises PatternRefused."""
    text = text.strip()
    if len(text) < 2 or not (text.startswith(SIGN) and text.endswith(SIGN)):
        return None
    body = text[1:-1]
    literal = _longest_literal(body)
    if len(literal) < LEAST_LITERAL:
        message = f"no {LEAST_LITERAL} characters beside each other are certain in it: say more of the name"
        raise PatternRefused(message)
    try:
        return Pattern(literal, re.compile(body, re.IGNORECASE | re.ASCII))
    except re.error as error:
        raise PatternRefused(f"it is not a regular expression: {error}") from error


def _longest_literal(body: str) -> str:
    """The longest run of characters that are in every name that fits. Raises PatternRefused."""
    at, endless, optional, run, longest = 0, 0, 0, "", ""
    while at < len(body):
        if body[at] in _REFUSED:
            raise PatternRefused(_REFUSED[body[at]])
        atom = _ATOM.match(body, at)
        if atom is None:
            raise PatternRefused(f"{body[at:][:9]!r} is not understood here")
        at = atom.end()
        sign = body[at : at + 1] if body[at : at + 1] in ("*", "+", "?") else ""
        at += len(sign)
        if atom["anchor"] and sign:
            raise PatternRefused(f"{atom['anchor']}{sign} repeats nothing")
        endless += sign in ("*", "+")
        optional += sign == "?"
        one = atom["escaped"] or atom["plain"] or ""
        if one and not sign:
            run += one
        elif not atom["anchor"]:
            # Once at least, and then no telling what follows.
            longest = max(longest, run + one if sign == "+" else run, key=len)
            run = ""
    if endless > MOST_REPEATED or optional > MOST_OPTIONAL:
        message = f"more than {MOST_REPEATED} repetitions (`*`, `+`), or {MOST_OPTIONAL} `?`, could take too long"
        raise PatternRefused(message)
    return max(longest, run, key=len).lower()
