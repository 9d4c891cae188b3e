"""Symbolic links in a bound folder: what is left alone, warned of, refused."""

import pytest

from controlplane.background.git_sync.repository import TreeEntry
from tests.unit.controlplane.background.git_sync.git_house import GitHouse
from tests.unit.events.spec_texts import ORDERS


@pytest.fixture
def git() -> GitHouse:
    return GitHouse()


def _link(path: str, leads_to: str = "") -> TreeEntry:
    return TreeEntry(path, "120000", "e" * 40, 14, leads_to)


@pytest.mark.parametrize("name", ["README.md", "LICENSE"])
def test_case_15_a_link_that_is_no_spec_and_leads_to_a_file_is_left_alone(git: GitHouse, name: str) -> None:
    git.push({"orders.yaml": ORDERS, name: _link(name, "blob")})
    assert (git.status.state, git.problems()) == ("Synced", [])
    assert git.view().generation == 1


@pytest.mark.parametrize("leads_to", ["tree", ""])
def test_case_15_a_link_that_may_hide_specs_is_a_warning_and_refuses_nothing(git: GitHouse, leads_to: str) -> None:
    git.push({"orders.yaml": ORDERS, "shared": _link("shared", leads_to)})
    assert (git.status.state, git.problems()) == ("Synced", [("shared", 1, "KEDGE-GIT-012")])
    (warned,) = git.status.problems
    assert not warned.is_error


@pytest.mark.parametrize("leads_to", ["blob", "tree", ""])
def test_a_link_with_the_name_of_a_spec_is_refused_wherever_it_leads(git: GitHouse, leads_to: str) -> None:
    git.push({"orders.yaml": ORDERS, "ads.yml": _link("ads.yml", leads_to)})
    assert (git.status.state, git.problems()) == ("Refused", [("ads.yml", 1, "KEDGE-GIT-001")])
