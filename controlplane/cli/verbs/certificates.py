"""Verbs for certificates that nodes show each other: look at them, and replace a CA."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from controlplane.api.presenters.certificate_text import authority_text, day, replacement_text, served_text
from controlplane.api.schemas import certificates as api, commands as command_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.options import Cluster, Output, Reason, Yes
from controlplane.cli.output import Format, document, show_answer, show_or_write
from controlplane.cli.previewed_order import preview_first
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import session_of
from controlplane.cli.tables import listing

_SERIAL = 12
"""Digits of a serial that are shown; -o json has all."""


def certificates(context: typer.Context, cluster: Cluster, output: Output = Format.TEXT) -> None:
    """Print the certificates of a cluster's nodes, and its CAs.

    Of each node: what was signed last, until when, from when on Kedge starts the service anew for another one, and what
    its listeners show by the last handshake of the VM's agent. What nobody has seen is said to be unknown.

    \b
    Examples:
      kedge certificates orders
      kedge certificates orders -o json | jq '.nodes[] | {key, until}'
    """
    session = session_of(context)
    found = session.client.certificates(cluster)
    show_or_write(session, output, document("Certificates", found), *lines_of(found))


def replace_ca(
    context: typer.Context,
    cluster: Cluster,
    clients: Annotated[bool, typer.Option("--clients", help="The CA of users, not that of nodes.")] = False,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Go on: clients believe both CAs, or users show new certificates.")
    ] = False,
    back: Annotated[bool, typer.Option("--back", help="Back to the phase before; not from the last one.")] = False,
    reason: Reason = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Replace a CA of a cluster, in three phases.

    Nodes believe both CAs, then show certificates of the new one, then believe the new one alone. Each phase starts
    them anew one at a time, by the gates and windows of every restart. Between the first and the second one it waits:
    clients have to believe both by then.

    What would be done is shown first, and asked about.

    \b
    Examples:
      kedge replace-ca orders --reason "its key may have leaked"
      kedge endpoints orders --ca > orders-ca.pem
      kedge replace-ca orders --continue
    """
    if go_on and back:
        raise CliError("nothing was requested", why="--continue or --back, not both", exit_code=exits.USAGE)
    session = session_of(context)

    def send(*, dry_run: bool) -> command_api.CommandOut:
        order = api.ReplaceAuthorityIn(
            clients=clients, step="continue" if go_on else "back" if back else "begin", reason=reason, dry_run=dry_run
        )
        return session.client.replace_ca(cluster, order)

    show_answer(session, preview_first(session, cluster, send, yes=yes), output)
    session.tell(f"to follow it: kedge certificates {cluster}")


def revoke_certificates(
    context: typer.Context,
    cluster: Cluster,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node, or the key of one VM of it.")],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Reason, recorded and shown to others.", show_default=False)
    ],
    confirm: Annotated[
        str,
        typer.Option("--confirm", metavar="NAME", show_default=False, help="The cluster's name, to skip the question."),
    ] = "",
    replace_ca: Annotated[
        bool, typer.Option("--replace-ca", help="Begin the replacement of the cluster CA at once, too.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Revoke what one node was given: somebody else may have its VM.

    From then on its agent is not recognised, nothing is signed for it, and the node gets a new VM. Kafka asks no
    revocation list: the certificate it has opens the cluster until the cluster CA is replaced.

    What would be done is shown first; then the cluster's name is to be typed.

    \b
    Examples:
      kedge revoke-certificates orders brokers-a-0 --reason "its VM was stolen"
      kedge revoke-certificates orders brokers-a-0 --reason "stolen" --confirm orders --replace-ca
    """
    session = session_of(context)
    order = api.RevokeCertificatesIn(node=node, reason=reason, replace_ca=replace_ca, dry_run=True)
    planned = session.client.revoke_certificates(cluster, order)
    if not planned.changed:
        show_answer(session, planned, output)
        return
    session.tell(planned.sentence, "bold")
    by_hand = f"kedge revoke-certificates {cluster} {node} --reason TEXT --confirm {cluster}"
    question = f"Type the name of the cluster to revoke what {node} was given ({cluster})"
    typed = confirm or typed_name(session, question, unattended=by_hand)
    if typed != cluster:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{cluster}`", next_step=by_hand)
    sent = order.model_copy(update={"confirm": typed, "dry_run": False})
    show_answer(session, session.client.revoke_certificates(cluster, sent), output)
    session.tell(f"to follow it: kedge wait {cluster} --for=converged, and kedge certificates {cluster}")


def lines_of(found: api.CertificatesOut) -> Iterator[RenderableType]:
    """For a person."""
    if not found.authorities:
        yield Text(f"{found.cluster} has no certificates: its nodes speak plaintext, or none of them has started yet")
        return
    rows = [(a.kind, a.fingerprint, day(a.since), day(a.until), authority_text(a)) for a in found.authorities]
    yield listing(("CA", "FINGERPRINT", "SINCE", "UNTIL", "ROLE"), rows)
    if found.replacement is not None:
        yield Text(replacement_text(found.replacement))
    nodes = [
        (n.key, n.serial[:_SERIAL], day(n.since), day(n.until), day(n.renewed_from), served_text(n))
        for n in found.nodes
    ]
    yield listing(("NODE", "SERIAL", "SINCE", "UNTIL", "RENEWED FROM", "SHOWN"), nodes)
