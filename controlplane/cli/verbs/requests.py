"""`pull-request`: a spec file as a pull request in one's own name."""

from typing import Annotated

import typer

from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.schemas.spec_requests import SpecRequestIn
from controlplane.cli.errors import CliError
from controlplane.cli.options import Output, Yes
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.problems_view import refuse_problems, tell_problems
from controlplane.cli.prompts import confirm
from controlplane.cli.session import session_of
from controlplane.cli.spec_file import read_spec


def pull_request(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Option("-f", "--file", metavar="FILE", show_default=False, help="The spec; - reads standard input."),
    ],
    source: Annotated[
        str,
        typer.Option("--source", metavar="NAME", show_default=False, help="Git source of a new file, if several fit."),
    ] = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Open a pull request with a spec file, in your name.

    Shows the plan and asks. New clusters and topics become a file of their own in the folder of the git source that
    may declare them; one that is there is changed in the file it is declared in, and the other documents of that
    file stay as they are. Nothing is declared before it is merged.

    \b
    Exit codes: 0 it is open, 1 refused or not confirmed.

    \b
    Examples:
      kedge pull-request -f clicks.yaml
      kedge pull-request -f clicks.yaml --source teams -y
    """
    session = session_of(context)
    spec = read_spec(file)
    found = session.client.pull_request(SpecRequestIn(text=spec.text, file=spec.name, source=source, dry_run=True))
    if not found.ok:
        raise refuse_problems(session, found.problems, file=spec.name)
    tell_problems(session, found.problems)
    for plan in found.plans:
        session.tell_all(*plan_lines(plan))
    for line in found.topics:
        session.tell(line)
    what = f"changes {found.path}" if found.path else "adds a file"
    question = f"Open a pull request that {what} in git:{found.source}?"
    if not yes and not confirm(session, question, unattended="add -y to open it without asking, or use a terminal"):
        raise CliError("not confirmed, nothing was opened")
    order = SpecRequestIn(text=spec.text, file=spec.name, source=source, plan_digest=None if yes else found.digest)
    done = session.client.pull_request(order)
    if not done.ok:
        raise refuse_problems(session, done.problems, file=spec.name)
    show_or_write(session, output, document("PullRequest", done), done.sentence)
