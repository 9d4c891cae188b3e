"""What is asked before anything is done is in the docs: a row for each finding, each reason for which nothing is."""

import re

import pytest

from planner.cure_checks import LONG_S, START_S, START_S_PER_PARTITION, Question
from planner.cure_table import ROWS, Sharing
from tests.unit.docs.doc_pages import ROOT, table_headed, text


def _rows() -> dict[str, list[str]]:
    table = table_headed(text("docs/health.md"), "finding")
    return {finding: row for row in table for finding in re.findall(r"`(\w+)`", row[0])}


def test_each_finding_that_leads_to_a_cure_has_its_answers_told() -> None:
    assert _rows().keys() == ROWS.keys()
    assert not [row for row in _rows().values() if len(row) != 4 or not all(row)]


@pytest.mark.parametrize("finding", sorted(ROWS))
def test_what_is_withheld_of_what_peers_have_is_told_as_it_is(finding: str) -> None:
    told, sharing = _rows()[finding][2], ROWS[finding].sharing
    assert told.startswith("nothing") == (sharing is Sharing.NO_ACT), told
    assert ("no new VM" in told) == (sharing is Sharing.NO_NEW_VM), told


def test_each_reason_for_which_nothing_is_done_is_in_the_row_of_its_condition() -> None:
    (row,) = [line for line in text("docs/operating.md").splitlines() if line.startswith("| `Ailing` |")]
    assert not [q for q in Question if f"`{q}`" not in row]


def test_the_figures_of_a_restart_are_those_it_is_reckoned_with() -> None:
    told = " ".join(text("docs/health.md").split())
    assert f"for more than {LONG_S / 60:.0f} min" in told
    assert f"Reckoned with {START_S:.0f} s and {START_S_PER_PARTITION * 1000:.0f} ms for each partition" in told


def test_each_test_of_the_simulator_that_is_named_is_there() -> None:
    assert (ROOT / "tests/sim/test_busy_seeds.py").exists()
