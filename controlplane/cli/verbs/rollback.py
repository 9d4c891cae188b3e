"""`rollback`: back to an earlier spec of a cluster or a topic, as a change like any other or as a pull request."""

from typing import Annotated

import typer

from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.schemas import rollbacks as api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.options import Cluster, Output, Reason, Yes
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.problems_view import refuse_problems, tell_problems
from controlplane.cli.prompts import confirm
from controlplane.cli.session import Session, session_of

_QUESTIONS = {
    "apply": "Declare the spec of {then} again?",
    "pull-request": "Open a pull request that puts the spec of {then} back into {path}?",
}


def rollback(
    context: typer.Context,
    cluster: Cluster,
    to: Annotated[
        int,
        typer.Option(
            "--to",
            metavar="GENERATION",
            min=1,
            show_default=False,
            help="Whose spec; `kedge events` has them, of a topic `kedge topic history`.",
        ),
    ],
    topic: Annotated[
        str, typer.Option("--topic", metavar="TOPIC", show_default=False, help="Roll back only this topic.")
    ] = "",
    reason: Reason = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Go back to an earlier spec of a cluster, or of one topic.

    Shows the plan and asks. What the API declared is declared again, by the same checks, policies and proposals as
    any other change. What comes from git becomes a pull request to its file, with you as the author; where the
    binding names no forge the spec to commit is written to stdout. Partitions of a topic never shrink: a declaration
    with fewer than there are is refused.

    \b
    Exit codes: 0 done (a pull request: open), 1 refused or not confirmed, 4 it needs a person (it became a proposal,
    or a file to commit).

    \b
    Examples:
      kedge rollback orders --to 3
      kedge rollback orders --topic payments --to 2
      kedge rollback orders --to 3 -y --reason "the new machine type is slower"
      kedge rollback orders --to 3 > kafka/orders.yaml     # where no forge is set
    """
    session = session_of(context)
    found = session.client.rollback(cluster, api.RollbackIn(to=to, reason=reason, dry_run=True), topic=topic)
    if not found.ok:
        raise _refused(session, found)
    tell_problems(session, found.problems)
    for plan in found.plans:
        session.tell_all(*plan_lines(plan))
    for line in found.topics:
        session.tell(line)
    for why in found.reserved:
        session.tell(f"a second person must approve: {why}", "yellow")
    if found.way == "file":
        raise _to_commit(session, found, output)
    question = _QUESTIONS[found.way].format(then=f"{'declaration' if topic else 'generation'} {to}", path=found.path)
    if not yes and not confirm(session, question, unattended="add -y to do it without asking, or use a terminal"):
        raise CliError("not confirmed, nothing was changed")
    order = api.RollbackIn(to=to, reason=reason, plan_digest=None if yes else found.digest)
    _show(session, session.client.rollback(cluster, order, topic=topic), output)


def _to_commit(session: Session, found: api.RollbackOut, output: Format) -> CliError:
    """The file on stdout; what to do with it is an error, so that no script takes it for done."""
    if output is Format.TEXT:
        session.write(found.text.rstrip("\n"))
    else:
        write_document(session, output, document("Rollback", found))
    what = f"{found.source} names no forge: nothing was changed"
    then = f"commit what is on stdout to {found.path}, in place of the document that declares {_subject(found)}"
    return CliError(what, next_step=then, exit_code=exits.BLOCKED)


def _show(session: Session, done: api.RollbackOut, output: Format) -> None:
    if not done.ok:
        raise _refused(session, done)
    if output is not Format.TEXT:
        write_document(session, output, document("Rollback", done))
    elif not done.proposal:
        session.show(done.sentence)
    if done.proposal:
        then = f"somebody else: kedge proposal approve {done.proposal}"
        raise CliError(done.sentence, why="; ".join(done.reserved), next_step=then, exit_code=exits.BLOCKED)
    if done.changed:
        follow = f"kedge topic describe {done.cluster} {done.topic}"
        session.tell(f"to follow it: {follow if done.topic else f'kedge wait {done.cluster} --for=converged'}")


def _refused(session: Session, found: api.RollbackOut) -> CliError:
    """That spec is not accepted any more: there is no file to mend, but what was declared then may be declared anew."""
    then = "go back to another generation, or declare what is to be: kedge apply -f FILE"
    return refuse_problems(session, found.problems, file=found.path or _subject(found), next_step=then)


def _subject(found: api.RollbackOut) -> str:
    return f"{found.cluster}/{found.topic}" if found.topic else found.cluster
