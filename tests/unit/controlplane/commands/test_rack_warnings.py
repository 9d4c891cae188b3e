"""A plan says where racks are labels: Kafka spreads copies over them, and nothing keeps them apart."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import empty_view
from controlplane.commands.previews.plan import preview
from events.spec.document import load_documents

EXAMPLES = Path(__file__).parents[4] / "examples"


def told(text: str) -> list[str]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.documents, loaded.problems
    view = replace(empty_view("c0ffee"), name="orders")
    return [w for w in preview(view, loaded.documents[0], snapshot=None).warnings if "are labels" in w]


@pytest.mark.parametrize(("cloud", "racks"), [("digitalocean", "nyc3-a, nyc3-b, nyc3-c"), ("upcloud", "fi-hel1-a")])
def test_racks_that_are_labels_are_told_once_with_what_they_share(cloud: str, racks: str) -> None:
    (warning,) = told((EXAMPLES / f"{cloud}-orders.yaml").read_text())
    assert warning.startswith(f"racks {racks}")
    assert f"of {cloud} are labels, all copies of a partition may fail together: a region " in warning


@pytest.mark.parametrize("cloud", ["aws", "azure", "google", "hetzner"])
def test_racks_that_fail_apart_are_not_warned_of(cloud: str) -> None:
    assert told((EXAMPLES / f"{cloud}-orders.yaml").read_text()) == []


def test_one_rack_promises_nothing() -> None:
    text = (EXAMPLES / "digitalocean-orders.yaml").read_text()
    one = text.replace("[nyc3-a, nyc3-b, nyc3-c]", "[nyc3-a]")
    assert told(one.replace("factor: 3", "factor: 1").replace("min.insync.replicas: 2", "min.insync.replicas: 1")) == []
