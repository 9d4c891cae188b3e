"""The verb that tells what was changed by hand in the cloud."""

from typing import Annotated

import typer

from controlplane.cli.drift_view import drift_lines
from controlplane.cli.options import Cluster, Output
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import session_of


def drift(
    context: typer.Context,
    cluster: Cluster,
    now: Annotated[bool, typer.Option("--now", help="Audit the cluster now. An audit changes nothing.")] = False,
    output: Output = Format.TEXT,
) -> None:
    """Show what was changed by hand in the cloud, by the last audit.

    A slow audit (Terraform, reading only) looks at each cluster once a day while nothing of it is in hand. `kedge
    diff` shows what Kedge itself is about to change.

    \b
    Examples:
      kedge drift orders
      kedge drift orders --now
      kedge drift orders -o json | jq -r '.audits[].drifts[].sentence'
    """
    session = session_of(context)
    if now:
        session.tell(session.client.ask_for_audit(cluster).sentence)
    found = session.client.drift(cluster)
    show_or_write(session, output, document("Drift", found), *drift_lines(found, now=session.around.utc_now()))
