"""`make test` leaves no test out: each one that is not `soak` is chosen by exactly one stage."""

import re
import sys
from pathlib import Path

import pytest

from tests.stages import BROKERS_ALONE, STAGES, Outcome, Stage, _ran, groups, narrowed, summary

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


def test_only_lint_has_a_stage_beside_it_and_each_stage_runs_once() -> None:
    made = groups(STAGES)
    assert [tuple(s.name for s in group) for group in made if len(group) > 1] == [("lint", "gates")]
    assert [s for group in made for s in group] == list(STAGES)
    assert groups([s for s in STAGES if s.name in ("gates", "unit")]) == [(STAGES[1],), (STAGES[2],)]


def test_stages_beside_each_other_run_at_the_same_time_and_either_fails_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each waits for the other one to have begun: one after the other, the first would give up."""
    meets = (
        "import pathlib, sys, time\n"
        "mine, other, code = sys.argv[1:]\n"
        "pathlib.Path(mine).touch()\n"
        "end = time.monotonic() + 30\n"
        "while not pathlib.Path(other).exists() and time.monotonic() < end: time.sleep(0.01)\n"
        "print(mine, pathlib.Path(other).exists())\n"
        "sys.exit(int(code))\n"
    )
    one, two = (str(tmp_path / name) for name in ("one", "two"))
    first = Stage("first", 60, ((sys.executable, "-c", meets, one, two, "0"),))
    second = Stage("second", 45, ((sys.executable, "-c", meets, two, one, "3"),))
    shares: dict[str, float] = {"rest": 0.0}
    outcomes = _ran((first, second), shares)
    assert [(o.stage.name, o.ok) for o in outcomes] == [("first", True), ("second", False)]
    said = capfd.readouterr().out
    assert said.index(f"{one} True") < said.index("== what second said") < said.index(f"{two} True")


def test_the_time_of_all_stages_is_the_wall_s_and_their_budget_that_of_the_longer_one_of_two() -> None:
    outcomes = [Outcome(stage, 50.0, ok=True) for stage in STAGES[:3]]
    [total] = [line.split() for line in summary(outcomes, {}, 101.0) if line.startswith("all ")]
    assert total == ["all", "101", "s", str(60 + 290), "s"]
