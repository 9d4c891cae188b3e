"""`kedge state export`: any Kafka cluster as the file that planners read."""

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.session import session_of
from controlplane.cli.state_options import ClusterOption

state = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@state.callback()
def root() -> None:
    """Export the state of a cluster for planners.

    \b
    Examples:
      kedge state export --cluster orders --output orders.json
    """


_Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap", metavar="HOST:PORT", show_default=False, help="Any Kafka cluster; several with commas."
    ),
]
_Capacity = Annotated[
    Path | None,
    typer.Option(
        "--capacity", metavar="FILE", show_default=False, help="What brokers have, by id (docs/drain-plans.md)."
    ),
]
_Bandwidth = Annotated[
    str,
    typer.Option(
        "--bandwidth",
        metavar="RATE",
        show_default=False,
        help="What migration may use of every broker, each way: 200MB/s, 1Gbit/s.",
    ),
]
_Disk = Annotated[
    str,
    typer.Option("--disk", metavar="SIZE", show_default="as brokers tell", help="Disk of every broker: 2TiB."),
]
_Flow = Annotated[
    str, typer.Option("--flow", metavar="RATE", show_default="70MB/s", help="Rate of one partition's copy.")
]
_DiskLimit = Annotated[
    float, typer.Option("--disk-limit", metavar="FRACTION", min=0.01, max=1.0, help="Usable share of a disk.")
]
_Outgoing = Annotated[
    str, typer.Option("--brokers", metavar="ID,ID", show_default=False, help="Mark these as outgoing.")
]
_Output = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", show_default="stdout", help="Where to write it.")
]


@state.command()
def export(
    context: typer.Context,
    bootstrap: _Bootstrap = "",
    cluster: ClusterOption = "",
    capacity: _Capacity = None,
    bandwidth: _Bandwidth = "",
    disk: _Disk = "",
    flow: _Flow = "",
    disk_limit: _DiskLimit = 0.85,
    outgoing: _Outgoing = "",
    output: _Output = None,
) -> None:
    """Export the state of a cluster: replicas, their sizes and their brokers.

    By Kafka's own protocol, from any KRaft cluster (3.3 or later, PLAINTEXT listener); nothing is changed there.
    Disks are as brokers report them. Brokers do not report bandwidth: for clusters of Kedge it comes from the
    machine catalogue, for others it has to be given. Missing figures are reported, never taken as 0; assumptions
    are written into the file.

    \b
    Examples:
      kedge state export --bootstrap 10.0.0.1:9092 --bandwidth 200MB/s --output orders.json
      kedge state export --bootstrap 10.0.0.1:9092 --capacity brokers.json > orders.json
      kedge state export --cluster orders --output orders.json
    """
    from controlplane.cli.drain_files import write_whole
    from controlplane.cli.state_export import ExportOptions, exported, state_text
    from controlplane.cli.state_inputs import broker_ids

    session = session_of(context)
    wanted = ExportOptions(
        bootstrap=bootstrap,
        cluster=cluster,
        capacity=capacity,
        bandwidth=bandwidth,
        disk=disk,
        flow=flow,
        disk_limit=disk_limit,
        outgoing=broker_ids(outgoing) if outgoing else (),
    )
    document = exported(session, wanted)
    if output is None:
        session.write(state_text(document))
    else:
        write_whole(output, state_text(document).encode())
    session.tell(f"{len(document['brokers'])} brokers, {len(document['partitions'])} partitions{_to(output)}")
    for line in document.get("assumptions", []):
        session.tell(f"assumed: {line}", "yellow")


def _to(output: Path | None) -> str:
    return f" written to {output}" if output else ""
