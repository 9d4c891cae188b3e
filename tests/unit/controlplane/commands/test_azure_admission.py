"""A pool on Azure is held to its catalogue before anything is declared."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem

EXAMPLE = (Path(__file__).parents[4] / "examples" / "azure-orders.yaml").read_text()


def problems(text: str) -> list[Problem]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
    return admission_problems(view, loaded.documents[0], positions=loaded.positions[0], snapshot=None)


def test_the_example_on_azure_is_admitted() -> None:
    assert problems(EXAMPLE) == []


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("westeurope", "westmoon", "azure has no region 'westmoon'"),
        ("machine: Standard_E4s_v5", "machine: Standard_E0", "no machine 'Standard_E0'"),
    ],
    ids=["region", "machine"],
)
def test_what_azure_does_not_have_is_refused(good: str, bad: str, words: str) -> None:
    found = problems(EXAMPLE.replace(good, bad))
    assert found
    assert all(words in one.message for one in found)
