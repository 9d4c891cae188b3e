"""Verbs of the networks Kedge makes: how they stand, remove one, repair one."""

from typing import Annotated

import typer

from controlplane.api.schemas import networks as api
from controlplane.cli.errors import CliError
from controlplane.cli.network_view import network_lines, network_table
from controlplane.cli.options import Output, Reason
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import session_of

networks = typer.Typer(no_args_is_help=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Name of the network.")]
Account = Annotated[
    str, typer.Option("--account", metavar="NAME", help="Account, if several have a network of that name.")
]
Region = Annotated[str, typer.Option("--region", metavar="NAME", help="Region, likewise.")]


@networks.callback(invoke_without_command=True)
def root(context: typer.Context, output: Output = Format.TEXT) -> None:
    """Show the networks Kedge makes for clusters.

    For each: its place, addresses, clusters, state and last error.

    \b
    Examples:
      kedge networks
      kedge networks -o json | jq '.items[].cidr'
      kedge networks remove default --account production --region eu-west-1
    """
    if context.invoked_subcommand is not None:
        return
    session = session_of(context)
    found = session.client.networks()
    if output is not Format.TEXT:
        write_document(session, output, document("NetworkList", found))
        return
    if not found.items:
        session.tell("no network yet: Kedge makes one where an account's settings name none (docs/networks.md)")
        return
    session.show(network_table(found.items, now=session.around.utc_now()))
    session.show(*network_lines(found))


@networks.command()
def remove(
    context: typer.Context,
    name: Name,
    account: Account = "",
    region: Region = "",
    confirm: Annotated[
        str, typer.Option("--confirm", metavar="NAME", show_default=False, help="The name, for scripts.")
    ] = "",
    reason: Reason = "",
) -> None:
    """Remove a network that no cluster uses.

    Asks for its name to be typed. It is removed once nothing is left in it; its addresses are free again then. Run
    again, it retries a failed removal at once.

    \b
    Examples:
      kedge networks remove default --account production --region eu-west-1
      kedge networks remove default --confirm default
    """
    session = session_of(context)
    by_hand = f"kedge networks remove {name} --confirm {name}"
    typed = confirm or typed_name(session, f"Type the name of the network to remove it ({name})", unattended=by_hand)
    if typed != name:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{name}`", next_step=by_hand)
    order = api.NetworkRemovalIn(account=account, region=region, reason=reason, confirm=typed)
    session.show(session.client.remove_network(name, order).sentence)


@networks.command()
def repair(context: typer.Context, name: Name, account: Account = "", region: Region = "", reason: Reason = "") -> None:
    """Retry what failed for a network, or recreate what is missing.

    Use it when the cause is fixed (a permission, a quota), or when a part was deleted by hand. Existing parts are
    not changed, except rules with a pending change.

    \b
    Examples:
      kedge networks repair default --account production --region eu-west-1
    """
    session = session_of(context)
    order = api.NetworkIn(account=account, region=region, reason=reason)
    session.show(session.client.repair_network(name, order).sentence)
