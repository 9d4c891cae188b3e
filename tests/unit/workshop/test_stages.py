"""`make test` leaves no test out: each one that is not `soak` is chosen by exactly one stage."""

import re
from pathlib import Path

import pytest

from tests.stages import BROKERS_ALONE, STAGES, narrowed

TESTS = Path(__file__).parents[2]


def _chosen_by(folder: str) -> list[str]:
    """Marker expressions of the pytest calls that are given this folder."""
    calls = [c for stage in STAGES for c in stage.commands if "pytest" in c and f"tests/{folder}" in c]
    return [call[len(call) - 1 - call[::-1].index("-m") + 1] for call in calls]


@pytest.mark.parametrize("folder", sorted({p.relative_to(TESTS).parts[0] for p in TESTS.glob("*/**/test_*.py")}))
def test_every_folder_of_tests_belongs_to_a_stage(folder: str) -> None:
    chosen = _chosen_by(folder)
    if len(chosen) == 1:
        # One call has to take all of it; only `unit` may shut out what needs brokers, and has none of that.
        assert chosen[0] == "not soak" or folder in ("unit", "postgres")
    else:
        assert sorted(chosen) == ["not soak and kafka", "not soak and not kafka"]


@pytest.mark.parametrize("folder", ["unit", "postgres"])
def test_what_shuts_out_brokers_has_no_test_that_needs_them(folder: str) -> None:
    for file in (TESTS / folder).rglob("*.py"):
        if file != Path(__file__):
            assert not re.search(r"mark\.kafka", file.read_text()), file.name


def test_contract_tests_on_brokers_are_found_by_their_files() -> None:
    """A mark that came from another module would hide its test from both calls."""
    calls = [c for stage in STAGES for c in stage.commands if c[-1] == BROKERS_ALONE]
    (call,) = calls
    chosen = {TESTS.parent / word for word in narrowed(call) if word.startswith("tests/")}
    assert chosen == {f for f in (TESTS / "contract").rglob("*.py") if "mark.kafka" in f.read_text()}
    assert narrowed(STAGES[1].commands[1]) == STAGES[1].commands[1]
    elsewhere = [f.name for f in TESTS.glob("*.py") if "mark.kafka" in f.read_text()]
    assert elsewhere == [], "what is imported by tests marks none"
