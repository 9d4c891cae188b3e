"""Verbs for certificates that nodes show each other: look at them, and replace a CA."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from controlplane.api.schemas import certificates as api, commands as command_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.options import Cluster, Output, Reason, Yes
from controlplane.cli.output import Format, document, show_answer, show_or_write
from controlplane.cli.previewed_order import preview_first
from controlplane.cli.session import session_of
from controlplane.cli.tables import listing
from events.quantities import counted

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


def lines_of(found: api.CertificatesOut) -> Iterator[RenderableType]:
    """For a person."""
    if not found.authorities:
        yield Text(f"{found.cluster} has no certificates: its nodes speak plaintext, or none of them has started yet")
        return
    rows = [(a.kind, a.fingerprint, _day(a.since), _day(a.until), _role(a)) for a in found.authorities]
    yield listing(("CA", "FINGERPRINT", "SINCE", "UNTIL", "ROLE"), rows)
    if found.replacement is not None:
        yield Text(replacement_words(found.replacement))
    nodes = [
        (n.key, n.serial[:_SERIAL], _day(n.since), _day(n.until), _day(n.renewed_from), shown(n)) for n in found.nodes
    ]
    yield listing(("NODE", "SERIAL", "SINCE", "UNTIL", "RENEWED FROM", "SHOWN"), nodes)


def replacement_words(one: api.AuthorityReplacementOut) -> str:
    """How far it is, in a sentence."""
    what = f"the {one.kind} CA is being replaced ({one.reason}): {one.phase}"
    if one.reached:
        return f"{what}, {counted(len(one.there), 'node')} there; it waits for a person"
    parts = [(one.there, "there"), (one.behind, "to be started anew"), (one.unknown, "not known")]
    return f"{what}, {', '.join(f'{len(keys)} {word}' for keys, word in parts if keys)}"


def shown(node: api.NodeCertificateOut) -> str:
    """What its listeners show, in a few words."""
    if not node.started_with:
        return "unknown"
    if not node.served:
        return "not looked at yet"
    silent = [one.listener for one in node.served if not one.serial]
    if silent:
        return f"unknown at {', '.join(silent)}"
    other = [one for one in node.served if one.serial != node.serial]
    if not other:
        return "this one"
    until = f" until {_day(other[0].until)}" if other[0].until else ""
    return f"another one at {', '.join(one.listener for one in other)}{until}"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"


def _role(one: api.AuthorityOut) -> str:
    words = [word for is_so, word in ((one.signs, "signs"), (one.believed, "believed")) if is_so]
    return ", ".join(words) or "not believed"
