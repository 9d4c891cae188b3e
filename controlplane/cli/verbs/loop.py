"""`loop`: how the loop of the server does, for administrators."""

from typing import Annotated

import typer

from controlplane.cli.loop_view import loop_lines
from controlplane.cli.options import Output
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import session_of

Everything = Annotated[bool, typer.Option("--all", help="Include ended jobs and all beats that are kept.")]


def loop(context: typer.Context, everything: Everything = False, output: Output = Format.TEXT) -> None:
    """Show the state of the server's loop, as on the page Loop.

    The leader, its lag behind the log, clusters whose ticks fail, jobs, timers, the last beats. For administrators
    of everything. json and yaml always hold all of it.

    \b
    Examples:
      kedge loop
      kedge loop --all
      kedge loop -o json | jq '.poisoned[] | {cluster, error, since}'
    """
    session = session_of(context)
    status = session.client.loop()
    show_or_write(
        session,
        output,
        document("Loop", status),
        *loop_lines(status, now=session.around.utc_now(), everything=everything),
    )
