"""`kedge confirm-loss`: a person's word that VMs are gone which Kedge does not believe to be."""

from typing import Annotated

import typer

from controlplane.api.schemas import commands as command_api
from controlplane.cli.errors import CliError
from controlplane.cli.options import Cluster, Output, Reason
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import session_of


def confirm_loss(
    context: typer.Context,
    cluster: Cluster,
    rack: Annotated[
        list[str],
        typer.Option("--rack", metavar="RACK", show_default=False, help="Rack whose VMs are gone. Repeatable."),
    ],
    confirm: Annotated[
        str,
        typer.Option("--confirm", metavar="NAME", show_default=False, help="The cluster's name, to skip the question."),
    ] = "",
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Confirm that VMs are gone which a listing no longer shows.

    Where a listing loses several racks at once, or all VMs of a small cluster, Kedge waits (`ListingLostRacks`): a
    wrong account looks the same. Check the cloud's own console first. It covers only the VMs that Kedge waits for,
    while the listing lacks them; it is refused while an agent of theirs reports, or Kafka has a broker of theirs
    serving.

    \b
    Examples:
      kedge confirm-loss orders --rack a --rack b --reason "the site burned down"
      kedge confirm-loss orders --rack b --confirm orders
    """
    session = session_of(context)
    by_hand = f"kedge confirm-loss {cluster} {' '.join(f'--rack {r}' for r in rack)} --confirm {cluster}"
    question = f"Type the name of the cluster to declare its VMs in {', '.join(rack)} taken for gone ({cluster})"
    typed = confirm or typed_name(session, question, unattended=by_hand)
    if typed != cluster:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{cluster}`", next_step=by_hand)
    answer = session.client.confirm_loss(cluster, command_api.LossIn(racks=rack, confirm=typed, reason=reason))
    show_or_write(session, output, document("Command", answer), answer.sentence)
    session.tell(f"to follow the replacement of its VMs: kedge wait {cluster} --for=converged")
