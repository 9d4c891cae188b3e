"""Text of others, as it is shown: what steers a terminal, hides or turns a line around is made visible on the way out.

What is kept and what machines read stays as it came. Joiners and marks of scripts stay too: names may need them.
"""

import re
import shlex
from collections.abc import Callable

STAND_IN = "\N{REPLACEMENT CHARACTER}"

_STEERING = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that turn the direction of what follows, over the end of the name they stand in."""
_HALVES = "\ud800-\udfff"
"""Half of a character: it cannot be written down, and an answer with one would be an error."""

_UNSHOWN = re.compile(f"[{_STEERING}{_TURNING}{_HALVES}]")


def shown(text: str) -> str:
    """The text with a stand-in for each character that is not to reach a page: controls but tab and the ends of lines,
    those that turn the direction of text, halves of characters."""
    return text if text.isprintable() else _UNSHOWN.sub(STAND_IN, text)


def on_terminal(text: str, *, also: str = "\n") -> str:
    """The text with `?` for whatever a terminal might obey, or not show, but the characters of `also`."""
    return _with(lambda c: "?", text, but=also)


def on_one_line(text: str) -> str:
    """The same for a name, or a cell of a table: ends of lines are no lines of their own."""
    return on_terminal(text, also="")


def escaped(text: str) -> str:
    r"""The text with what is not printable but ends of lines written as in Python: `\x1b`, `\u202e`. For logs."""
    return _with(_written, text)


def shell_word(text: str) -> str:
    """The text as one word of a command that people copy: a name may hold `;` or `$(...)`, or an end of line."""
    if text.isprintable():
        return shlex.quote(text)
    escaped_twice = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{_with(_written, escaped_twice, but='')}'"


def escaped_json(text: str) -> str:
    """JSON with whatever is not printable, but ends of lines, written as JSON does: it says the same to machines."""
    return _with(_in_json, text)


def _with(stand_in: Callable[[str], str], text: str, *, but: str = "\n") -> str:
    """The text with a stand-in for each character that is neither printable nor one of `but`."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in but else stand_in(c) for c in text)


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
