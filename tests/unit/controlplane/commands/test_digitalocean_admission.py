"""A pool at DigitalOcean is held to its catalogue before anything is declared; who cannot be replaced is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem

EXAMPLE = (Path(__file__).parents[4] / "examples" / "digitalocean-orders.yaml").read_text()
ONE = (
    EXAMPLE.replace("  preset: production\n", "")
    .replace("size: 3", "size: 1")
    .replace("[nyc3-a, nyc3-b, nyc3-c]", "[nyc3-a]", 1)
)
STAYS = "an address of digitalocean stays with its VM"


def problems(text: str) -> list[Problem]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-nyc")
    return admission_problems(view, loaded.documents[0], positions=loaded.positions[0], snapshot=None)


def test_nothing_of_the_example_is_refused() -> None:
    assert problems(EXAMPLE) == []


def test_the_only_controller_is_refused_where_it_could_never_be_replaced() -> None:
    (only,) = [one for one in problems(ONE) if one.is_error]
    assert f"{STAYS}: the only controller there could never be replaced" in only.message


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("region: nyc3", "region: moon1", "digitalocean has no region 'moon1'"),
        ("machine: m3-4vcpu-32gb", "machine: x-1", "no machine 'x-1'"),
    ],
    ids=["region", "machine"],
)
def test_what_digitalocean_does_not_have_is_refused(good: str, bad: str, words: str) -> None:
    found = problems(EXAMPLE.replace(good, bad))
    assert found
    assert all(words in one.message for one in found)
