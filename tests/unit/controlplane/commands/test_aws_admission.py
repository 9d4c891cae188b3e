"""A pool in a cloud with a catalogue is held to it before anything is declared."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem

EXAMPLE = (Path(__file__).parents[4] / "examples" / "aws-orders.yaml").read_text()


def problems(text: str) -> list[Problem]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
    return admission_problems(view, loaded.documents[0], positions=loaded.positions[0], snapshot=None)


def test_the_example_on_aws_is_admitted() -> None:
    assert problems(EXAMPLE) == []


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("eu-west-1", "eu-moon-1", "aws has no region 'eu-moon-1'"),
        ("machine: r7g.xlarge", "machine: r7g.gigantic", "no machine 'r7g.gigantic'"),
    ],
    ids=["region", "machine"],
)
def test_what_aws_does_not_have_is_refused_where_it_is_written(good: str, bad: str, words: str) -> None:
    found = problems(EXAMPLE.replace(good, bad))
    assert found
    assert {one.code for one in found} == {"KEDGE-SPEC-039"}
    lines = EXAMPLE.replace(good, bad).splitlines()
    for one in found:
        assert words in one.message
        assert bad.split(": ")[-1] in lines[one.line - 1]


def test_an_ephemeral_disk_on_a_machine_without_one_is_refused_where_the_machine_is_written() -> None:
    before, services, after = EXAMPLE.partition("services: [broker]")
    assert "kind: persistent" in after
    text = before + services + after.replace("kind: persistent", "kind: ephemeral", 1)
    (found,) = problems(text)
    assert (found.code, found.severity) == ("KEDGE-SPEC-039", "error")
    assert "'r7g.xlarge' of aws has no disk of its own" in found.message
    assert "kind: persistent" in found.fix
    assert "machine: r7g.xlarge" in text.splitlines()[found.line - 1]
    assert problems(text.replace("machine: r7g.xlarge", "machine: i4g.xlarge")) == []


def test_a_living_clusters_name_in_another_account_is_refused_as_a_move_and_makes_no_second_cluster() -> None:
    """A name is one cluster's, in whichever account: who meant another cluster is told what this would do."""
    first = load_documents(EXAMPLE.encode(), file="orders.yaml").documents[0]
    living = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod", document=first, generation=1)
    text = EXAMPLE.replace("account: production", "account: staging")
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    found = admission_problems(living, loaded.documents[0], positions=loaded.positions[0], snapshot=None)
    assert {(one.code, one.severity) for one in found} == {("KEDGE-SPEC-063", "error")}
    for one in found:
        assert "moves from aws/production/eu-west-1 to aws/staging/eu-west-1" in one.message
        assert "account: staging" in "\n".join(text.splitlines()[one.line - 4 : one.line + 4])
