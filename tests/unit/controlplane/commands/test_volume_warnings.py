"""A plan says of whose volumes nobody knows what they write and read, and reckons with those that are known."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import empty_view
from controlplane.commands.previews.plan import _assumptions, preview
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument

EXAMPLES = Path(__file__).parents[4] / "examples"
VIEW = replace(empty_view("c0ffee"), name="orders")


def document(text: str) -> KafkaClusterDocument:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.documents, loaded.problems
    return loaded.documents[0]


def told(text: str) -> list[str]:
    return [w for w in preview(VIEW, document(text), snapshot=None).warnings if "write and read" in w]


@pytest.mark.parametrize("cloud", ["hetzner", "upcloud", "digitalocean"])
def test_volumes_nobody_publishes_a_figure_of_are_warned_of(cloud: str) -> None:
    (warning,) = told((EXAMPLES / f"{cloud}-orders.yaml").read_text())
    assert warning.startswith("what the persistent disks of pool brokers on ")
    assert warning.endswith("write and read is unknown: drains are planned by the network alone")


@pytest.mark.parametrize("cloud", ["aws", "azure", "google"])
def test_volumes_with_a_figure_are_not_warned_of(cloud: str) -> None:
    assert told((EXAMPLES / f"{cloud}-orders.yaml").read_text()) == []


def test_times_are_reckoned_with_the_volumes_where_these_are_slower_than_the_network() -> None:
    """r7g.xlarge: 1.876 Gbit/s = 234.5 MB/s; a plain gp3 does 125 MiB/s = 131 MB/s."""
    plain = document((EXAMPLES / "aws-orders.yaml").read_text())
    assert _assumptions(VIEW, plain, None).bandwidth_bytes_per_s == int(0.75 * 125 * 2**20)
