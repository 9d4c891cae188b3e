"""Paths of bindings, of trees and of this machine, whatever they are made of: none of them leads out of its folder."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given, strategies as st
from pydantic import ValidationError

from controlplane.api.pull_requests import _plain
from controlplane.background.git_sync.binding import GitBinding, is_under
from controlplane.background.git_sync.reading import CommitReader
from controlplane.background.git_sync.repository import TreeEntry
from tests.unit.controlplane.background.git_sync.git_house import binding

ROOT = "/tree"
STEPS = st.sampled_from(["..", ".", "", "a", "link", "out", ".git", "-x", ":(top)", "a\x00", "…", " ", "..%2f", "\\.."])
PATHS = st.one_of(st.text(max_size=40), st.lists(STEPS, max_size=6).map("/".join), st.just("/etc/passwd"))
MODES = st.sampled_from(["100644", "100755", "120000", "160000"])


def leads_out(path: str) -> bool:
    """Whether a path that is joined to a folder ends up elsewhere, by the rules of this system."""
    joined = os.path.normpath(os.path.join(ROOT, path))
    return "\0" in path or not (joined == ROOT or joined.startswith(ROOT + "/"))


def test_the_judge_of_these_tests_knows_what_leads_out() -> None:
    assert [leads_out(p) for p in ("..", "/etc", "a/../..", "a\x00")] == [True] * 4
    assert not any(leads_out(p) for p in ("", "a/b", "a/../b", "..a"))


@given(PATHS)
@example("../specs")
@example("a/../../b")
@example("/../etc")
def test_a_folder_of_a_binding_lies_within_the_repository_or_is_refused(path: str) -> None:
    try:
        folder = binding(path=path).path
    except ValidationError:
        return
    assert not leads_out(folder)
    assert ".." not in PurePosixPath(folder).parts
    assert not folder.startswith(("/", "-", ":"))


@given(st.lists(st.tuples(PATHS, st.sampled_from(["", ".yaml", "/x.yaml"]), MODES), max_size=8))
@example([("../../etc/passwd", ".yaml", "100644"), ("/etc/passwd", ".yaml", "100644")])
@example([("a//b", ".yaml", "100644")])
@example([("\0", "", "160000")])
def test_a_file_of_a_tree_that_would_lie_elsewhere_is_never_read(found: list[tuple[str, str, str]]) -> None:
    entries = [TreeEntry(path + end, mode, f"blob-{n}", 3) for n, (path, end, mode) in enumerate(found)]
    asked: set[str] = set()

    def contents(blobs: Iterable[str]) -> Mapping[str, bytes]:
        asked.update(blobs)
        return dict.fromkeys(asked, b"a: 1")

    files = CommitReader().read(entries, contents)
    path_of = {e.blob: e.path for e in entries}
    read = [path_of[blob] for blob in asked]
    assert not [path for path in (*read, *(f.path for f in files if f.ok)) if leads_out(path)]
    assert not [path for path in read if ".." in path.split("/") or "" in path.split("/")]


@given(st.text(max_size=60))
def test_a_new_file_for_a_pull_request_is_one_step_whatever_it_is_named_after(name: str) -> None:
    made = f"clusters/{_plain(name)}.yaml"
    assert PurePosixPath(made).parts[:1] == ("clusters",)
    assert len(PurePosixPath(made).parts) == 2
    assert not leads_out(made)


@pytest.fixture(scope="module")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`allowed` with a link that stays in it and one that leads out to `elsewhere`, where `secret` lies."""
    top = tmp_path_factory.mktemp("grounds")
    for folder in ("allowed/a/deep", "elsewhere/a"):
        (top / folder).mkdir(parents=True)
    (top / "elsewhere" / "secret").write_text("s")
    (top / "allowed" / "link").symlink_to("a")
    (top / "allowed" / "out").symlink_to(top / "elsewhere")
    return top


@given(st.lists(st.sampled_from(["..", ".", "a", "link", "out", "deep", "secret", "allowed", "elsewhere"]), max_size=7))
@example(["out", "secret"])
@example(["a", "..", "..", "elsewhere", "secret"])
@example(["link", "deep"])
def test_a_repository_on_this_machine_lies_in_a_listed_folder_by_what_is_really_there(
    grounds: Path, steps: list[str]
) -> None:
    allowed = grounds / "allowed"
    path = "/".join([str(allowed), *steps])
    if not os.path.exists(path):
        return
    inside = {_identity(folder) for folder, _, _ in os.walk(allowed)}
    assert is_under(path, (allowed,)) == (_identity(path) in inside)


def _identity(path: str) -> tuple[int, int]:
    """Which file it is for the kernel, links followed."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def test_a_binding_of_the_whole_repository_is_no_folder() -> None:
    assert [GitBinding(name="a", repository="/srv/a.git", path=path).path for path in ("", ".", "/")] == ["", "", ""]
