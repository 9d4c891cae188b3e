"""Verbs for the disks of one broker: empty one of them, even them out. Nothing crosses the network."""

from typing import Annotated

import typer

from controlplane.api.schemas import commands as command_api, nodes as node_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.options import Cluster, Output, Reason, Yes
from controlplane.cli.output import Format, show_answer
from controlplane.cli.previewed_order import Send, preview_first
from controlplane.cli.session import Session, session_of

Broker = Annotated[int, typer.Option("--broker", metavar="ID", show_default=False, help="The broker with this id.")]
Cancel = Annotated[bool, typer.Option("--cancel", help="What moves ends, nothing more begins.")]


def empty_disk(
    context: typer.Context,
    cluster: Cluster,
    broker: Broker,
    disk: Annotated[
        str,
        typer.Option("--disk", metavar="DIR", show_default=False, help="Its path, or the name of its volume."),
    ] = "",
    cancel: Cancel = False,
    reason: Reason = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Move what is in a log directory onto the others of its broker.

    Two replicas at a time, under a throttle; no replica leaves an ISR, and nothing crosses the network. Refused, with
    the numbers, if it does not fit. It ends when the directory is empty; Kafka may place new replicas there after that.

    What would be done is shown first, and asked about.

    \b
    Examples:
      kedge empty-disk orders --broker 1001 --disk data2 --reason "it is to go"
      kedge empty-disk orders --broker 1001 --cancel
    """
    session = session_of(context)
    if cancel:
        _cancel(session, cluster, broker, reason, output)
        return
    if not disk:
        why, next_step = "name the disk", f"kedge empty-disk {cluster} --broker {broker} --disk DIR"
        raise CliError("nothing was requested", why=why, next_step=next_step, exit_code=exits.USAGE)

    def send(*, dry_run: bool) -> command_api.CommandOut:
        order = node_api.EmptyDiskIn(broker=broker, disk=disk, reason=reason, dry_run=dry_run)
        return session.client.empty_disk(cluster, order)

    _carry_out(session, cluster, send, yes=yes, output=output)


def even_disks(
    context: typer.Context,
    cluster: Cluster,
    broker: Broker,
    cancel: Cancel = False,
    reason: Reason = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Even out the disks of a broker.

    Replicas move between its log directories, by the share of each disk that is in use, for no more bytes than are
    above it. Two replicas at a time, under a throttle; no replica leaves an ISR, and nothing crosses the network.

    What would be done is shown first, and asked about.

    \b
    Examples:
      kedge even-disks orders --broker 1001
      kedge even-disks orders --broker 1001 --cancel
    """
    session = session_of(context)
    if cancel:
        _cancel(session, cluster, broker, reason, output)
        return

    def send(*, dry_run: bool) -> command_api.CommandOut:
        return session.client.even_disks(cluster, node_api.EvenDisksIn(broker=broker, reason=reason, dry_run=dry_run))

    _carry_out(session, cluster, send, yes=yes, output=output)


def _carry_out(session: Session, cluster: str, send: Send, *, yes: bool, output: Format) -> None:
    show_answer(session, preview_first(session, cluster, send, yes=yes), output)
    session.tell(f"to follow it: kedge wait {cluster} --for=converged; to end it early: add --cancel")


def _cancel(session: Session, cluster: str, broker: int, reason: str, output: Format) -> None:
    order = node_api.CancelDiskMovesIn(broker=broker, reason=reason)
    show_answer(session, session.client.cancel_disk_moves(cluster, order), output)
