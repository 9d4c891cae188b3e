"""What may be sent to a stream: colour and animation are two questions with two answers.

Colour: `--no-color` > NO_COLOR > FORCE_COLOR > a terminal whose TERM is not `dumb`. Animation and prompts depend on
terminals alone, so NO_COLOR never makes a prompt disappear and FORCE_COLOR never animates a log file.
"""

from collections.abc import Iterator, Mapping
from typing import IO, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from controlplane.runtime.untrusted_text import on_terminal

UNBOUNDED = 10_000
"""Width off a terminal: a line is a record there and must not be folded."""

_HEIGHT = 50
_DUMB = ("dumb", "unknown")


def wants_colour(environ: Mapping[str, str], *, no_color: bool, is_terminal: bool) -> bool:
    """Whether to colour. An empty NO_COLOR or FORCE_COLOR counts as not set (no-color.org)."""
    if no_color or environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_terminal and not _is_dumb(environ)


def can_animate(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Whether lines may be redrawn in place."""
    return is_terminal and not _is_dumb(environ)


def console(stream: IO[str], environ: Mapping[str, str], *, colour: bool, is_terminal: bool) -> Console:
    """A console that does what was decided here and reads nothing into foreign text: no markup, no emoji."""
    width = _width(environ, is_terminal=is_terminal)
    return _Shown(
        file=stream,
        color_system=_palette(environ, is_terminal) if colour else None,
        no_color=not colour,
        force_terminal=is_terminal or colour,
        force_interactive=can_animate(environ, is_terminal=is_terminal),
        width=width,
        # Rich believes a width it is given only together with a height, where TERM is `dumb`.
        height=_HEIGHT if width else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ=environ,
    )


class _Shown(Console):
    """A console that writes no control character but its own: whatever was printed, by whichever way it came."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            is_safe = segment.control or segment.text.isprintable()
            yield segment if is_safe else Segment(on_terminal(segment.text), segment.style)


def takes_blocks(console: Console, *, is_terminal: bool) -> bool:
    """Whether block characters may be shown: on a terminal that speaks Unicode; a pipe gets digits."""
    return is_terminal and console.encoding.lower().startswith("utf")


def _width(environ: Mapping[str, str], *, is_terminal: bool) -> int | None:
    """None: as wide as the terminal says."""
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    return None if is_terminal else UNBOUNDED


def _palette(environ: Mapping[str, str], is_terminal: bool) -> Literal["auto", "standard"]:
    return "auto" if is_terminal and not _is_dumb(environ) else "standard"


def _is_dumb(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "").lower() in _DUMB
