"""Verbs of ACLs: which there are, and what they come to for one request."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType

from controlplane.api.schemas import acls as acl_api
from controlplane.cli.errors import CliError
from controlplane.cli.options import Cluster, Output
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import session_of
from controlplane.cli.tables import listing
from controlplane.runtime.styled_text import styled
from planner.rights.acls import ANY, CLUSTER

acls = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_DECLARED_STYLE = {"declared": "green", "differs": "yellow", "kedge": "dim", "nobody": "dim"}


@acls.callback()
def root() -> None:
    """Show the ACLs of a cluster's Kafka, and explain what a user may do by them.

    \b
    Examples:
      kedge acls list orders --match alice
      kedge acls explain orders --user alice --topic pay-in --operation Read
    """


@acls.command("list")
def list_acls(
    context: typer.Context,
    cluster: Cluster,
    match: Annotated[str, typer.Option("--match", metavar="TEXT", help="Part of the principal or the name.")] = "",
    output: Output = Format.TEXT,
) -> None:
    """Show the ACLs that the brokers of a cluster have, by principal.

    DECLARED: declared (by the document of its user), differs (its user's document says otherwise: it is taken away),
    kedge (one of Kedge's own), nobody (no document declares its principal: it is left alone).

    \b
    Examples:
      kedge acls list orders
      kedge acls list orders -o json | jq -r '.acls[] | select(.declared == "nobody") | .principal'
    """
    session = session_of(context)
    found = session.client.acls(cluster, match=match)
    show_or_write(session, output, document("AclList", found), *_list_lines(found))


@acls.command("explain")
def explain(
    context: typer.Context,
    cluster: Cluster,
    user: Annotated[str, typer.Option("--user", metavar="NAME", show_default=False, help="Name of the user.")],
    operation: Annotated[
        str, typer.Option("--operation", metavar="WORD", show_default=False, help="As in Read, Write, Describe.")
    ],
    topic: Annotated[str, typer.Option("--topic", metavar="NAME", help="On a topic.")] = "",
    group: Annotated[str, typer.Option("--group", metavar="NAME", help="On a consumer group.")] = "",
    transactional_id: Annotated[str, typer.Option("--transactional-id", metavar="ID", help="On such an id.")] = "",
    on_cluster: Annotated[bool, typer.Option("--on-cluster", help="On the cluster itself.")] = False,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where it comes from; *: an address that no ACL names.")
    ] = ANY,
    output: Output = Format.TEXT,
) -> None:
    """Explain what a user may do, and by which ACLs.

    As Kafka's authorizer decides: an ACL that denies wins; who may Read, Write, Delete or Alter may Describe; without
    an ACL the answer is no, but for super users. Read from the brokers.

    \b
    Examples:
      kedge acls explain orders --user alice --topic pay-in --operation Read
      kedge acls explain orders --user alice --on-cluster --operation Alter --host 10.0.0.7
    """
    named = {"topic": topic, "group": group, "transactional-id": transactional_id}
    chosen = [(kind, name) for kind, name in named.items() if name] + ([("cluster", CLUSTER)] if on_cluster else [])
    if len(chosen) != 1:
        raise CliError(
            "what it is about has to be said once",
            next_step="give one of --topic, --group, --transactional-id and --on-cluster",
        )
    session = session_of(context)
    ((resource, on),) = chosen
    found = session.client.explain_acl(cluster, user=user, resource=resource, on=on, operation=operation, host=host)
    show_or_write(session, output, document("AclExplanation", found), *_explained(found))


def _list_lines(found: acl_api.AclsOut) -> Iterator[RenderableType]:
    if not found.authorizer:
        yield styled(f"brokers of {found.cluster} have no authorizer: everybody may do everything", "yellow")
    elif not found.acls:
        yield styled("no ACL", "dim")
    else:
        yield _table(found.acls)


def _explained(found: acl_api.AclExplainOut) -> Iterator[RenderableType]:
    yield styled(found.sentence, "green" if found.allowed else "red")
    if found.acls:
        yield _table(found.acls)
    if found.declared_at is None and not any(acl.declared == "kedge" for acl in found.acls):
        yield styled(f"no document declares {found.principal} in {found.cluster}", "dim")


def _table(rows: list[acl_api.AclOut]) -> RenderableType:
    headers = ["PRINCIPAL", "PERMISSION", "OPERATION", "RESOURCE", "PATTERN", "HOST", "DECLARED", "NAME"]
    return listing(
        headers,
        [
            [
                a.principal,
                a.permission,
                a.operation,
                a.resource,
                a.pattern,
                a.host,
                styled(a.declared, _DECLARED_STYLE[a.declared]),
                a.name,
            ]
            for a in rows
        ],
    )
