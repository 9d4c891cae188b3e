"""The table of docs/health.md holds: whatever may be found has a test that brings it about, and one that it is quiet.

Findings of agents are read out of the judge's own code, kinds of anomalies and wrong registrations out of their types,
conditions from where they are recorded: one that is new and has no row fails here.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from agent.health import judge
from agent.wire import DIRECTORY_LOST
from controlplane.converger.questions.services.registrations import Fault
from planner.anomalies.kinds import Kind
from planner.stuck_moves import Diagnosis
from tests.unit.docs.doc_pages import ROOT, bare, table_headed, text
from tests.unit.docs.test_doc_conditions import condition_types

HOW = frozenset({"JVM", "broker", "ZooKeeper", "cloud", "Terraform", "made"})
"""What a finding was brought about in: a real JVM, real brokers, a real ensemble, the local cloud, the real Terraform
against a fake of a cloud's API, or values made for the test."""

REAL = ("agent/", "kafka/", "e2e/", "terraform/")
"""Where tests have real parts."""

NOT_OF_HEALTH = frozenset(
    {
        "Converged",
        "CaReplacement",  # what a person asked for, and how far it is
        "Blocked",  # why work waits; its reasons have a table of their own
        "Paused",
        "Synced",
        "HealingOff",
        "MachineFallback",
        "MovesBraked",
        "PlannedInProcess",
        "SingleCopies",
        "ImageBehind",
        "WaitsForStage",
        "WaitsForWindow",
        "ExternalEmpty",
        "ExternalUnread",
        "AgentUpgradeFailed",
    }
)
"""Conditions that tell what a person asked for, or what Kedge has in hand: no illness."""

_ID = re.compile(r"`([\w/]+\.py)`::`(test_\w+)`")


def rules_of_the_judge() -> set[str]:
    return {r.__name__ for r in (*judge._RULES, *judge._LONG_RULES)}


def agent_findings() -> list[str]:
    """Names an agent may tell, without what follows a colon."""
    tree = ast.parse(Path(judge.__file__).read_text(encoding="utf-8"))
    rules = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in rules_of_the_judge()]
    return sorted({DIRECTORY_LOST, *(name for rule in rules for name in _names(rule))})


def _names(rule: ast.FunctionDef) -> Iterator[str]:
    """The first of each triple that is yielded: a text, the beginning of one, or the loop's variable for one."""
    for told in (n.value for n in ast.walk(rule) if isinstance(n, ast.Yield)):
        assert isinstance(told, ast.Tuple), f"{rule.name} yields something else"
        first = told.elts[0]
        if isinstance(first, ast.JoinedStr):
            first = first.values[0]
        if isinstance(first, ast.Constant):
            yield str(first.value).partition(":")[0]
        else:
            yield from _looped(rule)


def _looped(rule: ast.FunctionDef) -> Iterator[str]:
    """Of `for name, ... in (("a", ...), ("b", ...))` the names."""
    loops = [n.iter for n in ast.walk(rule) if isinstance(n, ast.For) and isinstance(n.iter, ast.Tuple)]
    assert loops, f"{rule.name} yields names this test cannot read"
    for row in (row for loop in loops for row in loop.elts):
        assert isinstance(row, ast.Tuple)
        assert isinstance(row.elts[0], ast.Constant)
        yield str(row.elts[0].value)


def whatever_may_be_found() -> list[str]:
    conditions = set(condition_types()) - NOT_OF_HEALTH
    wrong = {f"RegistrationWrong: {fault}" for fault in get_args(Fault)}
    return sorted({*agent_findings(), *(k.value for k in Kind), *(conditions - {"RegistrationWrong"}), *wrong})


@cache
def rows() -> Mapping[str, list[str]]:
    """By what is found: how, the test that provokes it, the test that it is quiet."""
    return {bare(row[0]): row[1:] for row in table_headed(text("docs/health.md"), "found")}


@cache
def named_tests(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))


def test_findings_are_found_at_all() -> None:
    assert {"deadlock", "disk_full", "disk_filling", "network_processors_busy", "directory_lost"} <= set(
        agent_findings()
    )
    assert set(condition_types()) >= NOT_OF_HEALTH


def test_every_rule_of_the_judge_is_read() -> None:
    tree = ast.parse(Path(judge.__file__).read_text(encoding="utf-8"))
    yielding = {
        n.name
        for n in tree.body
        if isinstance(n, ast.FunctionDef) and any(isinstance(m, ast.Yield) for m in ast.walk(n))
    }
    assert yielding == rules_of_the_judge()


@pytest.mark.parametrize("found", whatever_may_be_found())
def test_whatever_may_be_found_has_a_test_that_provokes_it_and_one_that_it_is_quiet(found: str) -> None:
    assert found in rows(), f"docs/health.md has no row for {found}"
    how, provoked, quiet = rows()[found]
    assert set(how.split(", ")) <= HOW, f"{found}: {how}"
    for cell in (provoked, quiet):
        ids = _ID.findall(cell)
        assert ids, f"{found}: no test is named in {cell!r}"
        for path, name in ids:
            assert name in named_tests(path), f"{found}: {path} has no {name}"
    is_real = any(path.startswith(REAL) for path, _ in _ID.findall(provoked))
    assert is_real == (how != "made"), f"{found}: said to be provoked in {how}"


def test_the_table_has_no_row_for_what_is_never_found() -> None:
    assert set(rows()) == set(whatever_may_be_found())


def test_operators_find_each_finding_with_what_it_means_what_kedge_does_and_what_they_can_do() -> None:
    """In the order of their names. A row may be of several; what follows a colon is the directory's name."""
    table = table_headed(text("docs/operating.md"), "finding")
    named = [list(dict.fromkeys(re.findall(r"`(\w+)", row[0]))) for row in table]
    assert sorted(name for names in named for name in names) == agent_findings()
    assert [names[0] for names in named] == sorted(names[0] for names in named)
    assert not [row[0] for row in table if len(row) != 4 or not all(row)]


def test_operators_find_each_reason_a_move_hangs_for_with_what_kedge_does_and_what_they_can_do() -> None:
    table = table_headed(text("docs/operating.md"), "reason of `ReassignmentHung`")
    assert {bare(row[0]) for row in table} == {d.value for d in Diagnosis}
    assert not [row[0] for row in table if len(row) != 4 or not all(row)]
