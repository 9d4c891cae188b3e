"""Live cluster names for the shell: quickly, or not at all and without a word."""

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.session import session_of

LIMIT_S = 1.0


def cluster_names(context: typer.Context, incomplete: str) -> list[str]:
    """Names that begin like this."""
    try:
        clusters = session_of(context).client.clusters(timeout_s=LIMIT_S)
    except CliError:
        return []
    return [cluster.name for cluster in clusters if cluster.name.startswith(incomplete)]
