"""Changes that wait for a second person: list them, look at one, say yes or no."""

from typing import Annotated

import typer

from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.schemas import proposals as api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.options import Output, Yes
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.prompts import confirm
from controlplane.cli.proposals_view import proposal_lines, proposal_table
from controlplane.cli.session import Session, session_of

proposal = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Number = Annotated[str, typer.Argument(metavar="ID", show_default=False, help="Id of the proposal.")]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Reason, kept with the decision.")]


def proposals(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Include decided and void ones.")] = False,
    output: Output = Format.TEXT,
) -> None:
    """Show changes that wait for a second person.

    Policies reserve some changes: they are recorded and not done until somebody with the role approver on all their
    clusters, other than the author, decides.

    \b
    Examples:
      kedge proposals
      kedge proposals --all -o json | jq '.items[] | select(.state == "executed") | .decided_by'
    """
    session = session_of(context)
    found = session.client.proposals(everything=everything)
    if output is not Format.TEXT:
        items = [one.model_dump(mode="json") for one in found]
        write_document(session, output, document("ProposalList", {"items": items}))
        return
    if not found:
        session.tell("nothing waits for a second person")
        return
    session.show(proposal_table(found, now=session.around.utc_now()))


@proposal.callback()
def root() -> None:
    """Show a change that waits for a second person, and decide it.

    \b
    Examples:
      kedge proposal show 0123456789ab
      kedge proposal approve 0123456789ab --note "agreed in the weekly"
      kedge proposal reject 0123456789ab --note "not before Friday"
    """


@proposal.command()
def show(context: typer.Context, number: Number, output: Output = Format.TEXT) -> None:
    """Show a proposal and why approval is needed.

    With the plan as it would be now.

    \b
    Examples:
      kedge proposal show 0123456789ab
      kedge proposal show 0123456789ab -o json | jq -r .text
    """
    session = session_of(context)
    found = session.client.proposal(number)
    if output is not Format.TEXT:
        write_document(session, output, document("Proposal", found))
        return
    session.show(*proposal_lines(found, now=session.around.utc_now()))
    for plan in found.plans:
        session.show(*plan_lines(plan))
    session.show(*found.topics)


@proposal.command()
def approve(
    context: typer.Context, number: Number, yes: Yes = False, note: Note = "", output: Output = Format.TEXT
) -> None:
    """Approve a proposal, which is then done.

    Shows the plan and asks. It is done only while its plan is the one that was proposed, its author still may do it
    and no policy refuses it by then; otherwise it is void, and nothing was changed. A change of git comes into force
    at the next poll of its source.

    Exit codes: 0 done (of git: agreed to), 1 refused or void.

    \b
    Examples:
      kedge proposal approve 0123456789ab
      kedge proposal approve 0123456789ab -y --note "agreed in the weekly"
    """
    session = session_of(context)
    if not yes:
        found = session.client.proposal(number)
        session.tell_all(*proposal_lines(found, now=session.around.utc_now()))
        for plan in found.plans:
            session.tell_all(*plan_lines(plan))
        session.tell_all(*found.topics)
        if not confirm(session, "Agree to this?", unattended="add -y to agree without asking, or use a terminal"):
            raise CliError("not confirmed, nothing was changed")
    answer = session.client.decide_proposal(number, "approve", api.DecisionIn(note=note))
    _show_decided(session, answer, output)
    if answer.state == "void":
        why, then = answer.told, "its author asks for it again"
        raise CliError("the proposal is void, nothing was changed", why=why, next_step=then, exit_code=exits.FAILED)


@proposal.command()
def reject(context: typer.Context, number: Number, note: Note = "", output: Output = Format.TEXT) -> None:
    """Reject a proposal; authors withdraw their own.

    \b
    Examples:
      kedge proposal reject 0123456789ab --note "not before Friday"
    """
    session = session_of(context)
    _show_decided(session, session.client.decide_proposal(number, "reject", api.DecisionIn(note=note)), output)


def _show_decided(session: Session, answer: api.ProposalOut, output: Format) -> None:
    if output is not Format.TEXT:
        write_document(session, output, document("Proposal", answer))
        return
    later = ": it comes into force at the next poll of its source" if answer.state == "approved" else ""
    session.show(f"proposal {answer.id} is {answer.state}{later}{f': {answer.told}' if answer.told else ''}")
