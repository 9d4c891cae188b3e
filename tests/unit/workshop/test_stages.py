"""`make test` leaves no test out: each one that is not `soak` is chosen by exactly one stage."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.behind import ENDED, Behind
from tests.stages import BROKERS_ALONE, STAGES, Group, Outcome, Stage, _ran, groups, narrowed, summary
from tests.tries import _alone
from tests.turns import Turn
from tests.waiting import until

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


def test_each_stage_runs_once_and_those_that_need_only_a_processor_are_behind_those_with_brokers() -> None:
    made = groups()
    assert sorted(s.name for group in made for s in (*group.front, *group.behind)) == sorted(s.name for s in STAGES)
    assert [s.name for s in made[-1].behind] == ["unit", "sequences", "simulator"]
    named = groups(["unit", "gates", "kafka"])
    assert [([s.name for s in g.front], [s.name for s in g.behind]) for g in named] == [
        (["gates"], []),
        (["kafka"], ["unit"]),
    ]


def test_in_as_many_landings_as_a_stage_has_turns_each_of_its_files_has_run_once() -> None:
    files = [f"tests/e2e/test_{n}.py" for n in "fbadce"]
    runs = [{str(s) for g in groups(number=713 + landing) for s in (*g.front, *g.behind)} for landing in range(3)]
    assert [sorted(s for s in run if s.startswith("end to end")) for run in runs] == [
        ["end to end 3/3"],
        ["end to end 1/3"],
        ["end to end 2/3"],
    ]
    ran = [Turn(number, 3).files(files) for number in (1, 2, 3)]
    assert sorted(file for turn in ran for file in turn) == sorted(files)
    assert [len(turn) for turn in ran] == [2, 2, 2]
    assert all(s.turn is None for g in groups(["end to end", "kafka"]) for s in g.front), "named ones run whole"


@pytest.mark.parametrize("text", ["3", "0/3", "4/3", "a/3", "-1/3", "1/"])
def test_a_turn_that_is_none_is_refused_with_what_one_looks_like(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="say which of how many, as 2/3"):
        Turn.read(text)


def test_a_turn_is_taken_by_pytest_also_two_at_a_time_and_a_second_try_is_of_any_file(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"test_{name}.py").write_text(f"def test_{name}() -> None: pass\n")
    (tmp_path / "test_d.py").write_text("import pytest\n@pytest.mark.soak\ndef test_d(): pass\n")
    pytest_of = (
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        "-m",
        "not soak",
        "-n",
        "2",
        str(tmp_path),
    )
    told = subprocess.run((*pytest_of, *Turn(2, 2).words), check=True, capture_output=True, text=True).stdout
    assert re.findall(r"PASSED .*test_(\w)\.py", told) == ["b"], told
    assert "--turn" not in _alone((*pytest_of, *Turn(2, 2).words), str(tmp_path), ["test_b.py::test_b"])


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
    outcomes = _ran(Group((first,), (second,)), shares)
    assert [(o.stage.name, o.ok) for o in outcomes] == [("first", True), ("second", False)]
    said = capfd.readouterr().out
    assert f"{one} True" in said
    assert f"{two} True" in said.partition("== what second said")[2], "whoever is in front may end later"


def test_what_is_behind_gives_way_and_ends_with_all_its_processes_when_the_run_is_stopped(tmp_path: Path) -> None:
    """Somebody who presses ^C is not left with tests of a session of its own."""
    begun = tmp_path / "begun"
    waits = (
        "import os, pathlib, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "ready = pathlib.Path(sys.argv[1] + '.new')\n"
        "ready.write_text(f'{os.nice(0)} {child.pid}')\n"
        "ready.rename(sys.argv[1])\n"
        "child.wait()\n"
    )
    behind = Behind()
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(behind, (sys.executable, "-c", waits, str(begun)), os.environ)
        until(begun.exists)
        behind.end()
        assert code.result(timeout=30) == ENDED
    nice, child = begun.read_text().split()
    assert nice == "19"
    until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text())
    assert behind(("true",), os.environ) == ENDED, "nothing is begun any more"


def test_the_time_of_all_stages_is_the_wall_s_and_who_is_behind_has_a_third_of_it() -> None:
    outcomes = [Outcome(stage, 50.0, ok=True) for stage in STAGES[:3]]
    [total] = [line.split() for line in summary(outcomes, {}, 101.0, 350) if line.startswith("all ")]
    assert total == ["all", "101", "s", "350", "s"]
    front, behind = Stage("front", 600, ()), Stage("behind", 250, ())
    assert Group((front,), (behind,)).budget_s == 600 + (250 - 200)
    assert Group((front,), (Stage("behind", 90, ()),)).budget_s == 600
