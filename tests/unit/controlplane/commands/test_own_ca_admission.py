"""Specs that name a CA of the user's own: refused by its files, with line, reason and next step."""

from datetime import timedelta
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from events.spec.document import load_documents
from events.spec.problems import Problem
from tests.builders import NOW, a_tls_document, a_view, with_own
from tests.own_ca import Pki
from tests.unit.events.spec_texts import ORDERS

SPEC = ORDERS.replace("spec:\n", "spec:\n  security: {internal: tls, clusterCa: {own: corporate}}\n", 1)
BOTH = SPEC.replace("}}\n", "}, clientsCa: {own: users}}\n", 1)


def judged(folder: Path, text: str, view: ClusterView | None = None) -> list[Problem]:
    loaded = load_documents(text, file="orders.yaml")
    assert loaded.ok, loaded.problems
    known = OwnAuthorities({"corporate": folder / "corporate", "users": folder / "users"}, lambda: NOW)
    judge = SpecJudge(own_authorities=known)
    found = judge.cluster(
        view or a_view(document=None), loaded.documents[0], positions=loaded.positions[0], snapshot=None, rolling=0
    )
    return [one for one in found.problems if one.code in ("KEDGE-SPEC-124", "KEDGE-SPEC-125")]


def test_spec_125_a_ca_whose_files_cannot_be_used_is_refused_where_it_is_named(tmp_path: Path) -> None:
    (problem,) = judged(tmp_path, SPEC)
    assert (problem.code, SPEC.splitlines()[problem.line - 1].strip()[:8]) == ("KEDGE-SPEC-125", "security")
    assert "CA `corporate`: its directory" in problem.message
    assert "apply again" in problem.fix
    Pki.root(since=NOW - timedelta(days=9), days=3).put(tmp_path / "corporate")
    (problem,) = judged(tmp_path, SPEC)
    assert "`CN=corporate root` ended on 2025-12-26" in problem.message
    Pki.root().below().put(tmp_path / "corporate")
    assert not judged(tmp_path, SPEC)


def test_another_change_does_not_wait_for_files_that_are_away(tmp_path: Path) -> None:
    there = a_view(document=with_own(a_tls_document(), cluster="corporate"))
    assert not judged(tmp_path, SPEC, there)


def test_spec_124_users_may_not_be_signed_by_the_root_that_nodes_believe(tmp_path: Path) -> None:
    """Whoever signs users could sign a node."""
    root = Pki.root()
    root.below("nodes").put(tmp_path / "corporate")
    root.below("users").put(tmp_path / "users")
    (problem,) = judged(tmp_path, BOTH)
    assert problem.code == "KEDGE-SPEC-124"
    assert "who signs users could sign a node" in problem.message
    Pki.root("root of users").below("users").put(tmp_path / "users")
    assert not judged(tmp_path, BOTH)


def test_a_portal_apart_leaves_files_to_the_loop() -> None:
    loaded = load_documents(SPEC, file="orders.yaml")
    assert loaded.ok
    found = SpecJudge().cluster(
        a_view(document=None), loaded.documents[0], positions=loaded.positions[0], snapshot=None, rolling=0
    )
    assert not [one for one in found.problems if one.code == "KEDGE-SPEC-125"]


@pytest.mark.parametrize(
    ("security", "words"),
    [
        ("{clusterCa: {own: corporate}}", "CA `corporate` would sign nothing: nodes speak plaintext"),
        (
            "{internal: tls, clusterCa: {own: corporate}, clientsCa: {own: corporate}}",
            "CA `corporate` would sign nodes and users: who signs users could sign a node",
        ),
    ],
)
def test_spec_124_a_ca_that_would_sign_nothing_or_everything_is_refused(security: str, words: str) -> None:
    loaded = load_documents(ORDERS.replace("spec:\n", f"spec:\n  security: {security}\n", 1), file="orders.yaml")
    (problem,) = [one for one in loaded.problems if one.code == "KEDGE-SPEC-124"]
    assert problem.message == words
    assert problem.line
    assert problem.fix
