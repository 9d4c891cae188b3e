"""One run of one command: its two consoles, its client, its clock."""

import sys
from dataclasses import dataclass

import typer
from rich.console import Console, RenderableType

from controlplane.cli import terminal
from controlplane.cli.address import locate
from controlplane.cli.client import Client
from controlplane.cli.surroundings import Surroundings, of_this_process
from controlplane.runtime.styled_text import styled
from controlplane.runtime.untrusted_text import on_terminal


@dataclass(frozen=True, slots=True)
class Session:
    """Data goes to `out`, talk to `err`: a pipe gets the data alone."""

    around: Surroundings
    out: Console
    err: Console
    client: Client

    @property
    def can_ask(self) -> bool:
        """Whether a person can be asked: they see the question and their answer can be read."""
        return self.around.stdin_is_terminal and self.around.stderr_is_terminal

    @property
    def can_animate(self) -> bool:
        """Whether progress may be redrawn in place."""
        return terminal.can_animate(self.around.environ, is_terminal=self.around.stderr_is_terminal)

    @property
    def can_redraw(self) -> bool:
        """Whether data may be redrawn in place."""
        return terminal.can_animate(self.around.environ, is_terminal=self.around.stdout_is_terminal)

    def write(self, text: str) -> None:
        """Data, as it is: no wrapping, no colour. A person's terminal gets nothing it would obey."""
        if self.around.stdout_is_terminal:
            text = on_terminal(text, also="\n\t")
        self.out.file.write(text if text.endswith("\n") else text + "\n")
        self.out.file.flush()

    def show(self, *things: RenderableType) -> None:
        """Data for people."""
        for thing in things:
            self.out.print(thing)

    def tell(self, text: str, style: str = "") -> None:
        """Talk."""
        self.err.print(styled(text, style))

    def tell_all(self, *things: RenderableType) -> None:
        """Talk that is more than a line."""
        for thing in things:
            self.err.print(thing)


def open_session(around: Surroundings, *, no_color: bool) -> Session:
    """A session on the standard streams of this moment."""
    return Session(
        around=around,
        out=_console(around, no_color=no_color, error=False),
        err=_console(around, no_color=no_color, error=True),
        client=Client(
            lambda: locate(around.environ, around.cwd),
            actor=around.environ.get("USER", ""),
            transport=around.transport,
            sleep=around.sleep,
        ),
    )


def session_of(context: typer.Context) -> Session:
    """The session of a command's context; a plain one while the root is still being set up."""
    found = context.find_root().obj
    if isinstance(found, Session):
        return found
    around = found if isinstance(found, Surroundings) else of_this_process()
    return open_session(around, no_color=False)


def _console(around: Surroundings, *, no_color: bool, error: bool) -> Console:
    is_terminal = around.stderr_is_terminal if error else around.stdout_is_terminal
    colour = terminal.wants_colour(around.environ, no_color=no_color, is_terminal=is_terminal)
    stream = sys.stderr if error else sys.stdout
    return terminal.console(stream, around.environ, colour=colour, is_terminal=is_terminal)
