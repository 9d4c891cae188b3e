"""`preset: production` brings new clusters TLS between their nodes, and turns none that lives."""

from typing import Any

import pytest

from events.spec.birth import leaves_open, settled, settled_file
from events.spec.conversion import from_data, shortest_data, to_data
from events.spec.document import LoadResult, load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.presets import words
from tests.builders import a_spec


def _load(more: str = "", preset: str = "production", **overrides: Any) -> LoadResult:
    text = a_spec(**overrides).replace("spec:\n", f"spec:\n  preset: {preset}\n{more}", 1)
    return load_documents(text.replace("  healing: {}\n", "").replace("  balance: {}\n", ""), file="orders.yaml")


def _document(more: str = "", **overrides: Any) -> KafkaClusterDocument:
    loaded = _load(more, **overrides)
    assert loaded.ok, loaded.problems
    return loaded.documents[0]


PLAINTEXT, TLS = "  security: {internal: plaintext}\n", "  security: {internal: tls}\n"


def test_a_new_cluster_of_production_speaks_tls_between_its_nodes() -> None:
    born = settled(_document(), None)
    assert born.spec.security.internal == "tls"
    assert from_data(to_data(born)) == born
    assert not leaves_open(born), "the document in force says so itself"


@pytest.mark.parametrize("said", [PLAINTEXT, TLS])
def test_what_lives_keeps_what_it_has_whatever_is_declared_again(said: str) -> None:
    living = _document(said)
    again = settled(_document(), living)
    assert again.spec.security == living.spec.security
    assert settled(_document(version="4.2.0"), living).spec.security == living.spec.security


def test_a_cluster_that_gets_the_preset_later_keeps_plaintext() -> None:
    before = load_documents(a_spec(), file="orders.yaml").documents[0]
    assert settled(_document(), before).spec.security.internal == "plaintext"


@pytest.mark.parametrize("said", [PLAINTEXT, TLS])
def test_what_the_file_says_goes_before_its_preset(said: str) -> None:
    document = _document(said)
    assert settled(document, None) is document
    assert settled(document, _document(TLS)) is document


def test_other_presets_and_none_mean_plaintext_as_ever() -> None:
    for document in (_document(preset="development"), load_documents(a_spec(), file="orders.yaml").documents[0]):
        assert settled(document, None) is document
        assert document.spec.security.internal == "plaintext"


def test_a_file_made_of_a_document_says_what_the_preset_would_not() -> None:
    """A copy of a plaintext cluster under another name stays plaintext."""
    plaintext, tls = _document(PLAINTEXT), settled(_document(), None)
    assert shortest_data(plaintext)["spec"]["security"] == {"internal": "plaintext"}
    assert shortest_data(tls)["spec"]["security"] == {"internal": "tls"}


def test_what_does_not_stand_beside_tls_is_told_at_its_line() -> None:
    loaded = _load("  listeners: [{name: PLAINTEXT, port: 9091}]\n")
    assert loaded.ok
    born = settled_file(loaded, {})
    (found,) = born.errors
    assert found.code.startswith("KEDGE-SPEC-")
    assert "port 9091 is one of nodes among themselves" in found.message
    assert settled_file(loaded, {"orders": loaded.documents[0]}).ok


def test_a_plan_says_in_words_what_nodes_will_speak() -> None:
    born, kept = (to_data(one)["spec"] for one in (settled(_document(), None), _document(PLAINTEXT)))
    assert list(words(born))[-1] == (
        "its nodes speak TLS among themselves (security.internal), as a new cluster of production is"
    )
    assert "speak plaintext among themselves" in list(words(kept))[-1]
