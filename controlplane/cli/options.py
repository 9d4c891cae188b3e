"""Options and arguments that several verbs share, so that they are spelt and explained alike."""

from typing import Annotated

import typer

from controlplane.cli.completion import cluster_names
from controlplane.cli.output import Format

Cluster = Annotated[
    str,
    typer.Argument(metavar="CLUSTER", help="Name of the cluster.", autocompletion=cluster_names, show_default=False),
]
SpecPath = Annotated[
    str, typer.Option("-f", "--file", metavar="FILE", help="The spec; - reads standard input.", show_default=False)
]
Output = Annotated[Format, typer.Option("-o", "--output", help="Output format.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason, recorded and shown to others.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask for confirmation.")]
Throttle = Annotated[
    int,
    typer.Option(
        "--throttle-mib-per-s",
        metavar="MIB",
        min=0,
        max=100_000,
        show_default=False,
        help="Throttle below the spec's: MiB/s for each broker and direction.",
    ),
]
Timeout = Annotated[
    str,
    typer.Option("--timeout", metavar="DURATION", help="How long to wait, as in 90s, 10m, 2h; 0 waits for ever."),
]
At = Annotated[
    str, typer.Option("--at", metavar="POSITION|TIME", help="State at that position or time.", show_default=False)
]
DEFAULT_TIMEOUT = "1h"
