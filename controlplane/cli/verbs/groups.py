"""Verbs of consumer groups: which there are, and one of them."""

from typing import Annotated

import typer

from controlplane.cli.groups_view import group_lines, group_table
from controlplane.cli.options import Cluster, Output
from controlplane.cli.output import Format, document, show_or_write, write_document
from controlplane.cli.session import session_of
from controlplane.runtime.untrusted_text import shell_word

Group = Annotated[str, typer.Argument(metavar="GROUP", show_default=False, help="Name of the consumer group.")]


def groups(
    context: typer.Context,
    cluster: Cluster,
    match: Annotated[str, typer.Option("--match", metavar="TEXT", help="Part of the name.")] = "",
    after: Annotated[str, typer.Option("--after", metavar="GROUP", help="Only names after this one.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number.")] = 100,
    output: Output = Format.TEXT,
) -> None:
    """Show the consumer groups of a cluster, with lag.

    STATE: Stuck (offsets stand still while logs grow), Unread (partitions given to no member), BeyondEnd (an offset
    beyond its log's end), NoMembers, Rebalancing, Unknown (a member's metadata cannot be read), Reading. Brokers
    are queried; groups that stand still show from the second reading on.

    \b
    Examples:
      kedge groups orders
      kedge groups orders --match billing
      kedge groups orders -o json | jq -r '.groups[] | select(.word == "Stuck") | .name'
    """
    session = session_of(context)
    found = session.client.groups(cluster, match=match, after=after, limit=limit)
    if output is not Format.TEXT:
        write_document(session, output, document("GroupList", found))
        return
    if found.silent:
        silent = ", ".join(map(str, found.silent))
        session.tell(f"brokers {silent} did not answer: the groups they coordinate are old or missing")
    if found.left_out:
        session.tell(f"{found.left_out} more groups were not read: one reading has a limit")
    if not found.groups:
        session.tell(f"no consumer group of {cluster}{' matches' if match else ''}")
        return
    session.show(group_table(found.groups))
    if found.next:
        session.tell(f"{found.total} in all; more: kedge groups {cluster} --after {shell_word(found.next)}")


def group(context: typer.Context, cluster: Cluster, name: Group, output: Output = Format.TEXT) -> None:
    """Show one consumer group: members, and lag by partition.

    \b
    Examples:
      kedge group orders billing
      kedge group orders billing -o json | jq '.partitions[] | select(.state == "Stuck")'
    """
    session = session_of(context)
    found = session.client.group(cluster, name)
    show_or_write(session, output, document("Group", found), *group_lines(found, now=session.around.utc_now()))
