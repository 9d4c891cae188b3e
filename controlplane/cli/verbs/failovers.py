"""Verbs of pairs of clusters: which there are, one of them, a failover of it, and taking a declaration back."""

from typing import Annotated

import typer

from controlplane.api.schemas import failovers as api
from controlplane.cli.errors import CliError
from controlplane.cli.failover_wait import follow_failover
from controlplane.cli.failovers_view import failover_lines, failover_plan_lines, failover_table
from controlplane.cli.moments import seconds_of
from controlplane.cli.options import DEFAULT_TIMEOUT, Output, Reason, Timeout
from controlplane.cli.output import Format, document, show_or_write, write_document
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import Session, session_of

failovers = typer.Typer(no_args_is_help=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Name of the pair.")]
Confirm = Annotated[str, typer.Option("--confirm", metavar="NAME", show_default=False, help="The name, for scripts.")]


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
    confirm: Confirm = "",
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
    typed = _typed(session, name, confirm, "withdraw it", by_hand)
    session.show(session.client.withdraw_failover(name, api.WithdrawalIn(confirm=typed, reason=reason)).sentence)


@failovers.command()
def abort(context: typer.Context, name: Name, reason: Reason = "", output: Output = Format.TEXT) -> None:
    """Abort the failover of a pair: all is led back to the primary.

    Its door is opened again, and the pair's name led back. Refused once the door of the standby is to be opened:
    another failover leads back then.

    \b
    Examples:
      kedge failovers abort orders
      kedge failovers abort orders --reason "the standby is not ready"
    """
    session = session_of(context)
    answer = session.client.abort_failover(name, api.FailoverAbortIn(reason=reason))
    show_or_write(session, output, document("FailoverOrder", answer), answer.sentence)
    session.tell(f"to see how far it is: kedge failovers show {name}")


@failovers.command("certify-shut")
def certify_shut(
    context: typer.Context,
    name: Name,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", show_default=False, help="How you know; recorded with it.")
    ],
    confirm: Confirm = "",
    output: Output = Format.TEXT,
) -> None:
    """Certify that no VM of the old primary lets clients in.

    For a failover that waits for its door: agents that cannot be heard prove nothing. Your word counts as the proof.
    Look first that its region is gone, or its machines are switched off and stay so: a VM that still lets clients in
    takes records beside the new primary, and they are lost. Asks for the name to be typed.

    \b
    Examples:
      kedge failovers certify-shut orders --reason "the region burned down"
      kedge failovers certify-shut orders --confirm orders --reason "switched off in the console"
    """
    session = session_of(context)
    by_hand = f"kedge failovers certify-shut {name} --confirm {name} --reason TEXT"
    typed = _typed(session, name, confirm, "certify that no VM of its old primary lets clients in", by_hand)
    answer = session.client.certify_door_shut(name, api.DoorCertificationIn(confirm=typed, reason=reason))
    show_or_write(session, output, document("FailoverOrder", answer), answer.sentence)


def failover(
    context: typer.Context,
    name: Name,
    unplanned: Annotated[
        bool, typer.Option("--unplanned", help="The primary is gone: take what the standby has.")
    ] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="What may be lost was read, and is accepted.")
    ] = False,
    confirm: Confirm = "",
    reason: Reason = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan alone.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Follow it until it is over.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    output: Output = Format.TEXT,
) -> None:
    """Have the standby of a pair take over.

    Shows every step, what may be lost and the point of no return, and asks for the name of the pair to be typed. A
    cold standby gets no record: every one stays on the old primary. Ctrl-C while waiting only detaches.

    \b
    Exit codes: 0 ordered (with --wait: the standby is the primary),
    1 refused, not confirmed, aborted or failed, 3 --timeout was up,
    4 it needs a person, 130 Ctrl-C.

    \b
    Examples:
      kedge failover orders --dry-run
      kedge failover orders --wait --reason "move to us-east"
      kedge failover orders --unplanned --accept-loss --confirm orders
      kedge failover orders --dry-run -o json | jq -r '.loss[]'
    """
    session, timeout_s = session_of(context), seconds_of(timeout, option="--timeout")
    plan = session.client.failover_plan(name, planned=not unplanned, accept_loss=accept_loss)
    if not dry_run:
        session.tell_all(*failover_plan_lines(plan))
    elif output is Format.TEXT:
        session.show(*failover_plan_lines(plan))
    else:
        write_document(session, output, document("FailoverPlan", plan))
    _refuse(plan)
    if dry_run:
        return
    flags = f"{' --unplanned' if unplanned else ''}{' --accept-loss' if accept_loss else ''}"
    by_hand = f"kedge failover {name}{flags} --confirm {name}"
    typed = _typed(session, name, confirm, f"have {plan.standby} take over from {plan.primary}", by_hand)
    order = api.FailoverOrderIn(
        planned=not unplanned, accept_loss=accept_loss, confirm=typed, reason=reason, plan_digest=plan.digest
    )
    answer = session.client.order_failover(name, order)
    show_or_write(session, output, document("FailoverOrder", answer), answer.sentence)
    if wait:
        follow_failover(session, name, answer.order, timeout_s=timeout_s, is_text=output is Format.TEXT)
        return
    session.tell(f"to see how far it is: kedge failovers show {name}")
    session.tell(f"to take it back: kedge failovers abort {name}")


def _refuse(plan: api.FailoverPlanOut) -> None:
    if plan.refusals:
        what = f"a failover of {plan.name} would be refused, nothing was changed"
        raise CliError(what, why="; ".join(one.message for one in plan.refusals), next_step=plan.refusals[0].fix)


def _typed(session: Session, name: str, confirm: str, what_for: str, by_hand: str) -> str:
    """The name of the pair, as it was typed. Raises CliError for another one, and where nobody can be asked."""
    question = f"Type the name of the pair to {what_for} ({name})"
    typed = confirm or typed_name(session, question, unattended=by_hand)
    if typed != name:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{name}`", next_step=by_hand)
    return typed
