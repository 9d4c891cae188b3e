"""Verbs of pairs of clusters: which there are, one of them, and taking a declaration back."""

from typing import Annotated

import typer

from controlplane.api.schemas import failovers as api
from controlplane.cli.errors import CliError
from controlplane.cli.failovers_view import failover_lines, failover_plan_lines, failover_table
from controlplane.cli.options import Output, Reason
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import session_of

failovers = typer.Typer(no_args_is_help=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Name of the pair.")]


@failovers.callback(invoke_without_command=True)
def root(context: typer.Context, output: Output = Format.TEXT) -> None:
    """List pairs of clusters of which one is to take over from the other.

    They are declared with `kedge apply`, as `kind: KafkaFailover`.

    \b
    Examples:
      kedge failovers
      kedge failovers show orders
      kedge failovers -o json | jq '.items[] | select(.state == "Standby") | .name'
    """
    if context.invoked_subcommand is not None:
        return
    session = session_of(context)
    found = session.client.failovers()
    if output is not Format.TEXT:
        write_document(session, output, document("FailoverList", found))
    elif not found.items:
        session.tell("no pair of clusters is declared (docs/failover.md)")
    else:
        session.show(failover_table(found.items))


@failovers.command()
def show(context: typer.Context, name: Name, output: Output = Format.TEXT) -> None:
    """Show one pair: its state, its doors, and what it waits for.

    \b
    Examples:
      kedge failovers show orders
      kedge failovers show orders -o json | jq '.doors'
    """
    session = session_of(context)
    found = session.client.failover(name)
    if output is Format.TEXT:
        session.show(*failover_lines(found))
    else:
        write_document(session, output, document("Failover", found))


@failovers.command()
def withdraw(
    context: typer.Context,
    name: Name,
    confirm: Annotated[
        str, typer.Option("--confirm", metavar="NAME", show_default=False, help="The name, for scripts.")
    ] = "",
    reason: Reason = "",
) -> None:
    """Take the declaration of a pair back: both clusters stay, each its own.

    Asks for its name to be typed. Refused while a failover of it is in hand, or records are copied.

    \b
    Examples:
      kedge failovers withdraw orders
      kedge failovers withdraw orders --confirm orders --reason "orders-us is given up"
    """
    session = session_of(context)
    by_hand = f"kedge failovers withdraw {name} --confirm {name}"
    typed = confirm or typed_name(session, f"Type the name of the pair to withdraw it ({name})", unattended=by_hand)
    if typed != name:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{name}`", next_step=by_hand)
    session.show(session.client.withdraw_failover(name, api.WithdrawalIn(confirm=typed, reason=reason)).sentence)


def failover(
    context: typer.Context,
    name: Name,
    unplanned: Annotated[
        bool, typer.Option("--unplanned", help="The primary is gone: take what the standby has.")
    ] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="What may be lost was read, and is accepted.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Show what a failover of a pair would do and may lose; it is refused.

    This release carries no failover out: the plan is shown, and why nothing begins. Nothing is recorded.

    Exit code: 1, as nothing was done.

    \b
    Examples:
      kedge failover orders
      kedge failover orders --unplanned
      kedge failover orders -o json | jq -r '.loss[]'
    """
    session = session_of(context)
    plan = session.client.failover_plan(name, planned=not unplanned, accept_loss=accept_loss)
    if output is Format.TEXT:
        session.show(*failover_plan_lines(plan))
    else:
        write_document(session, output, document("FailoverPlan", plan))
    why = "; ".join(one.message for one in plan.refusals)
    raise CliError(f"the failover of {name} was refused, nothing was changed", why=why, next_step=plan.refusals[0].fix)
