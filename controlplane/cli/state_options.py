"""Options of the verbs that plan on a state: where it comes from and what of it is to be taken otherwise."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.completion import cluster_names


class PlanFormat(StrEnum):
    """Forms of a plan on stdout."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class Engine(StrEnum):
    """Where a plan is computed; the function is the same. `inline`: in this process."""

    INLINE = "inline"
    SPARK = "spark"


StateFileOption = Annotated[
    str,
    typer.Option(
        "--state", metavar="FILE", show_default=False, help="A state file (`kedge state export`); - reads stdin."
    ),
]
ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="NAME",
        autocompletion=cluster_names,
        show_default=False,
        help="Ask the server for the state of this cluster instead.",
    ),
]
ShapeOption = Annotated[PlanFormat, typer.Option("-o", "--format", help="Output format.")]
ExcludeTopics = Annotated[
    str, typer.Option("--exclude-topics", metavar="A,B", show_default=False, help="Topics that stay where they are.")
]
EngineOption = Annotated[Engine, typer.Option("--engine", help="Engine: this process, or Spark on this machine.")]
DiskLimit = Annotated[
    float | None,
    typer.Option("--disk-limit", metavar="FRACTION", show_default="the state's", help="Usable share of a disk."),
]
PlanFileOption = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", show_default=False, help="Write the plan file.")
]
KafkaJsonOption = Annotated[
    Path | None,
    typer.Option(
        "--kafka-json",
        metavar="FILE",
        show_default=False,
        help="Write the input of kafka-reassign-partitions.sh, and of its reversal.",
    ),
]
ThrottlesOption = Annotated[
    Path | None,
    typer.Option(
        "--throttles", metavar="FILE", show_default=False, help="Write the throttles as kafka-configs.sh lines."
    ),
]


def names_in(text: str) -> tuple[str, ...]:
    """`a,b` -> (`a`, `b`); blanks and empty parts are dropped."""
    return tuple(part for raw in text.split(",") if (part := raw.strip()))
