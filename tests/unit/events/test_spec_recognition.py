"""Files that are something else than a spec, and characters that only look right: told by their cause."""

import gzip

import pytest

from events.spec.document import load_documents
from events.spec.problems import Problem
from tests.unit.events.spec_texts import ORDERS

CASE_14 = """\
version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 1234
"""


def only(text: str | bytes) -> Problem:
    (problem,) = load_documents(text, file="orders.yaml").problems
    return problem


@pytest.mark.parametrize("text", [CASE_14, CASE_14.replace("\n", "\r\n"), CASE_14.encode()])
def test_case_14_a_pointer_of_git_lfs_is_told_as_one(text: str | bytes) -> None:
    problem = only(text)
    assert (problem.line, problem.column, problem.code) == (1, 1, "KEDGE-SPEC-016")
    assert problem.message == "this is a pointer of Git LFS, not the file"
    assert "does not fetch" in problem.fix
    assert ".gitattributes" in problem.fix


@pytest.mark.parametrize(
    ("blank", "name"),
    [("\u00a0", "NO-BREAK SPACE"), ("\u2003", "EM SPACE"), ("\u3000", "IDEOGRAPHIC SPACE"), ("\u202f", "NARROW")],
)
def test_case_14_a_blank_that_is_none_is_told_where_it_stands(blank: str, name: str) -> None:
    # Before a key, as web pages have them: the parser gives up at the line after.
    lines = ORDERS.splitlines()
    at = next(n for n, line in enumerate(lines) if line == "metadata:") + 1
    broken = [*lines[:at], lines[at].replace("  ", blank * 2, 1), "  owner: me", *lines[at + 1 :]]
    problem = only("\n".join(broken))
    assert (problem.line, problem.column) == (at + 1, 1)
    assert f"a blank that is none, U+{ord(blank):04X} ({name}" in problem.message
    assert "Type a plain blank" in problem.fix


@pytest.mark.parametrize(("hidden", "word"), [("\u200b", "ZERO WIDTH SPACE"), ("\u00a0", "NO-BREAK SPACE")])
def test_a_character_nobody_sees_is_named_in_a_key_and_in_a_value(hidden: str, word: str) -> None:
    for text in (
        ORDERS.replace("  name:", f"  {hidden}name:"),
        ORDERS.replace("name: orders", f"name: or{hidden}ders"),
    ):
        first = load_documents(text, file="orders.yaml").problems[0]
        assert first.code == "KEDGE-SPEC-002"
        assert word in first.message


def test_a_merge_conflict_is_told_with_its_lines() -> None:
    conflict = "<<<<<<< HEAD\n  name: orders\n=======\n  name: order\n>>>>>>> main\n"
    problem = only(ORDERS.replace("  name: orders\n", conflict, 1))
    first = ORDERS.splitlines().index("metadata:") + 2
    assert (problem.line, problem.code) == (first, "KEDGE-SPEC-016")
    assert problem.message == f"a merge conflict is left in the file, lines {first} to {first + 4}"


@pytest.mark.parametrize(
    ("content", "told", "then"),
    [
        (gzip.compress(ORDERS.encode()), "a gzip archive", "Unpack"),
        (ORDERS.encode("utf-16"), "UTF-16", "UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a binary file", "Name the file"),
        (b"\x00GITCRYPT\x00\xfa\x9b", "git-crypt", "unencrypted"),
        (b"<!DOCTYPE html>\n<html><head><title>Sign in</title>", "a page of the web", "Download"),
        (b"", "declares nothing", "Add a document"),
        (b"\xef\xbb\xbf", "declares nothing", "Add a document"),
        (b"# only a comment\n", "declares nothing", "Add a document"),
    ],
)
def test_what_is_no_spec_is_told_as_what_it_is(content: bytes, told: str, then: str) -> None:
    problem = only(content)
    assert told in problem.message
    assert then in problem.fix


def test_a_tab_that_indents_is_told_where_it_stands() -> None:
    problem = only(ORDERS.replace("  name: orders", "\tname: orders", 1))
    assert (problem.line, problem.code) == (ORDERS.splitlines().index("metadata:") + 2, "KEDGE-SPEC-003")
    assert "a tab indents this line" in problem.message


def test_typographic_quotes_around_a_value_are_a_warning_beside_what_they_break() -> None:
    told = load_documents(ORDERS.replace("name: orders", "name: \u201corders\u201d", 1), file="orders.yaml")
    assert {"KEDGE-SPEC-017", "KEDGE-SPEC-025"} == {p.code for p in told.problems}
    sound = load_documents(
        ORDERS.replace("name: orders\n", "name: orders\n  owner: \u2018ada\u2019\n", 1), file="o.yaml"
    )
    assert (sound.ok, [(p.code, p.severity) for p in sound.problems]) == (True, [("KEDGE-SPEC-017", "warning")])


@pytest.mark.parametrize("text", [f"\ufeff{ORDERS}", ORDERS.replace("\n", "\r\n"), f"\ufeff{ORDERS}".encode()])
def test_a_mark_at_the_beginning_and_ends_of_lines_of_windows_are_no_problem(text: str | bytes) -> None:
    assert load_documents(text, file="orders.yaml").problems == load_documents(ORDERS, file="orders.yaml").problems


def test_json_is_yaml() -> None:
    text = '{"apiVersion": "kedge/v1alpha1", "kind": "KafkaTopic", "metadata": {"name": "clicks"},'
    loaded = load_documents(text + ' "spec": {"cluster": "orders", "partitions": 3, "replicas": 3}}', file="t.json")
    assert (loaded.ok, [t.topic for t in loaded.topics]) == (True, ["clicks"])


def test_marks_in_a_comment_or_odd_blanks_in_one_are_no_cause_of_anything() -> None:
    text = ORDERS.replace("metadata:\n", "metadata: # copied\u00a0from the web\n", 1)
    assert load_documents(text, file="orders.yaml").ok
    broken = only(ORDERS.replace("metadata:\n", "# \u00a0note\nmetadata: [\n", 1))
    assert "U+00A0" not in broken.message
