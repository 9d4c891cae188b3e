"""`machineFigures`: the form of what a spec tells of a machine type that no catalogue knows."""

from pathlib import Path

import pytest

from events.spec.document import load_documents
from events.spec.problems import KINDS, Problem

EXAMPLE = (Path(__file__).parents[3] / "examples" / "aws-orders.yaml").read_text()
R6I = "{type: r6i.2xlarge, architecture: x86_64, cpus: 8, memoryMib: 65536, networkMbps: 12500}"


def problems(figures: str) -> tuple[list[Problem], str]:
    """What is wrong with a pool whose machine is `r6i.2xlarge`, and the file."""
    text = EXAMPLE.replace(
        "machine: r7g.xlarge",
        f"machine: r6i.2xlarge\n      alternatives: [r6a.2xlarge]\n      machineFigures: {figures}",
    )
    return list(load_documents(text.encode(), file="orders.yaml").problems), text


@pytest.mark.parametrize(
    "figures",
    [f"[{R6I}]", f"[{R6I}, {R6I.replace('r6i', 'r6a')}]", "[]", f"[{R6I.replace(', networkMbps: 12500', '')}]"],
)
def test_figures_of_the_pools_machines_are_taken(figures: str) -> None:
    assert problems(figures)[0] == []


@pytest.mark.parametrize(
    ("figures", "code", "words"),
    [
        (R6I.replace("r6i.2", "r6i.4"), "KEDGE-SPEC-068", "`r6i.4xlarge`, which is not among its machines"),
        (R6I.replace("r6i.2xlarge", "small"), "KEDGE-SPEC-068", "`small` is a size that stands for another type"),
        (f"{R6I}, {R6I}", "KEDGE-SPEC-036", "gives the figures of `r6i.2xlarge` twice"),
        (R6I.replace("x86_64", "sparc"), "KEDGE-SPEC-023", "architecture"),
        (R6I.replace("cpus: 8", "cpus: 0"), "KEDGE-SPEC-024", "cpus"),
        (R6I.replace("memoryMib: 65536", "memoryMib: 64 GiB"), "KEDGE-SPEC-022", "memoryMib"),
        (R6I.replace(", memoryMib: 65536", ""), "KEDGE-SPEC-021", "memoryMib"),
    ],
)
def test_a_slip_is_told_where_it_is(figures: str, code: str, words: str) -> None:
    (found,), text = problems(f"[{figures}]")
    assert (found.code, found.severity) == (code, "error")
    assert words in found.message
    assert "machineFigures" in text.splitlines()[found.line - 1]


def test_figures_that_differ_from_the_catalogues_warn_and_refuse_nothing() -> None:
    assert KINDS["KEDGE-SPEC-069"].severity == "warning"
