"""A pool at Hetzner is held to its catalogue before anything is declared."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem

EXAMPLE = (Path(__file__).parents[4] / "examples" / "hetzner-orders.yaml").read_text()


def problems(text: str) -> list[Problem]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
    return admission_problems(view, loaded.documents[0], positions=loaded.positions[0], snapshot=None)


def test_the_example_at_hetzner_is_admitted() -> None:
    assert problems(EXAMPLE) == []


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("eu-central", "eu-moon", "hetzner has no region 'eu-moon'"),
        ("machine: ccx33", "machine: ccx1", "no machine 'ccx1'"),
    ],
    ids=["region", "machine"],
)
def test_what_hetzner_does_not_have_is_refused(good: str, bad: str, words: str) -> None:
    found = problems(EXAMPLE.replace(good, bad))
    assert found
    assert all(words in one.message for one in found)
