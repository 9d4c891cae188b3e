"""What failed is run once more, alone: what passes then is told, what fails again fails the run."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.recorder import Result, Selection, results
from tests.stages import STAGES, Outcome, summary
from tests.tries import MOST, ran, run, together

ONCE = """
from pathlib import Path
import pytest
HERE = Path(__file__).parent

def test_fine():
    with (HERE / "fine").open("a") as file:
        file.write("x")

@pytest.mark.parametrize("seed", [1, 2])
def test_it(seed):
    marker = HERE / f"tried-{seed}"
    before = marker.exists()
    marker.touch()
    assert before or seed == 1, f"seed {seed} failed"
"""
ALWAYS = "def test_it():\n    assert False, 'always'\n"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def environment() -> dict[str, str]:
    """Without what this very run of tests was told, and without plugins that take seconds to load."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("KEDGE_", "PYTEST_"))}
    return {**ours, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def test_a_test_that_passes_at_its_second_try_is_told_and_the_run_is_good(tmp_path: Path) -> None:
    (tmp_path / "test_once.py").write_text(ONCE)
    came = ran((*PYTEST, str(tmp_path)), environment())
    assert came.code == 0
    assert [(r.test, r.why) for r in came.second] == [
        ("test_once.py::test_it[2]", "AssertionError: seed 2 failed; assert (False or 2 == 1)")
    ]
    assert (tmp_path / "fine").read_text() == "x", "what passed is not run again"


def test_a_folder_with_a_conftest_of_its_own_keeps_none_of_another_from_running(tmp_path: Path) -> None:
    """pytest leaves the one's conftest out of the other's hooks, by a set of plugins: ours could be in none."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"test_{folder}.py").write_text("def test_it():\n    pass\n")
    (tmp_path / "one" / "conftest.py").write_text("def pytest_runtest_setup(item):\n    pass\n")
    came = ran((*PYTEST, str(tmp_path / "one"), str(tmp_path / "two")), environment())
    assert (came.code, [r.outcome for r in came.results]) == (0, ["passed", "passed"])


def test_a_test_that_fails_twice_fails_the_run_whatever_was_mended_beside_it(tmp_path: Path) -> None:
    (tmp_path / "test_once.py").write_text(ONCE)
    (tmp_path / "test_twice.py").write_text(ALWAYS)
    came = ran((*PYTEST, str(tmp_path)), environment())
    assert came.code == 1
    assert came.second == (), "nothing of a bad run is called mended"
    assert [(r.test, r.outcome) for r in came.results if r.outcome == "failed"] == [
        ("test_once.py::test_it[2]", "failed"),
        ("test_twice.py::test_it", "failed"),
    ]


def test_many_failures_are_no_accident_and_not_tried_again(tmp_path: Path) -> None:
    many = f"import pytest\n@pytest.mark.parametrize('n', range({MOST + 1}))\ndef test_it(n):\n    assert False\n"
    (tmp_path / "test_many.py").write_text(many)
    calls = []

    def start(command: Sequence[str], environment: Mapping[str, str]) -> int:
        calls.append(command)
        return run(command, environment)

    assert ran((*PYTEST, str(tmp_path)), environment(), start=start).code == 1
    assert len(calls) == 1


def test_a_file_that_cannot_be_imported_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")
    assert ran((*PYTEST, str(tmp_path)), environment()).code == 2


def test_what_goes_on_from_the_test_before_it_is_run_again_with_that() -> None:
    order = [Result(f"tests/{f}::test_{n}", "passed", 1.0) for f in ("e2e/test_a.py", "sim/test_b.py") for n in "123"]
    assert together([order[1]], order) == ["tests/e2e/test_a.py::test_1", "tests/e2e/test_a.py::test_2"]
    assert together([order[4]], order) == ["tests/sim/test_b.py::test_2"]


def test_two_at_a_time_are_recorded_too_and_a_second_try_has_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "test_once.py").write_text(ONCE)
    alone = "import os\ndef test_alone(): assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
    (tmp_path / "test_other.py").write_text(alone)
    came = ran((*PYTEST, "-p", "xdist", "-n", "2", str(tmp_path)), environment())
    assert came.code == 0
    assert [r.test for r in came.second] == ["test_once.py::test_it[2]", "test_other.py::test_alone"]


def test_a_selection_runs_what_it_names_and_what_nobody_lists(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_a(): pass\ndef test_b(): pass\ndef test_new(): pass\n")
    wanted = Selection({"test_one.py::test_a": ""}, frozenset({"test_one.py"}), frozenset({"test_one.py::test_b"}))
    came = ran((*PYTEST, str(tmp_path)), environment(), selection=wanted)
    assert [r.test for r in came.results] == ["test_one.py::test_a", "test_one.py::test_new"]


def test_a_part_of_a_sweep_runs_its_cases_and_a_test_without_a_sweep_says_that_it_cannot_be_cut(tmp_path: Path) -> None:
    (tmp_path / "test_swept.py").write_text(
        "from tests.sim.sweep import sweep\n"
        "def test_swept():\n"
        "    done = []\n"
        "    sweep('n', range(10), done.append)\n"
        "    assert done == [1, 2, 4, 5, 7, 8]\n"
        "def test_plain(): pass\n"
    )
    wanted = Selection({"test_swept.py::test_swept": "1,2/3", "test_swept.py::test_plain": "0/3"})
    came = ran((*PYTEST, str(tmp_path)), environment(), selection=wanted)
    assert [(r.test, r.outcome, r.parts) for r in came.results] == [
        ("test_swept.py::test_swept", "passed", "1,2/3"),
        ("test_swept.py::test_plain", "failed", "0/3"),
    ]


def test_a_test_beside_others_may_take_as_many_times_as_long_before_it_counts_as_hung(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 120\n")
    (tmp_path / "test_long.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.timeout(10)\n"
        "def at(request): return request.node.get_closest_marker('timeout')\n"
        "def test_of_its_file(request): assert at(request).args == (30,)\n"
        "@pytest.mark.timeout(400, method='thread')\n"
        "def test_own(request): assert (at(request).args, at(request).kwargs) == ((1200,), {'method': 'thread'})\n"
        "@pytest.mark.timeout(0)\n"
        "def test_without_end(request): assert at(request).args == (0,)\n"
    )
    (tmp_path / "test_short.py").write_text(
        "from tests.waiting import patient\n"
        "def test_by_the_settings(request): assert request.node.get_closest_marker('timeout').args == (360,)\n"
        "def test_its_own_limits(): assert patient(600) == 1800\n"
    )
    wanted = Selection({}, frozenset({"test_long.py", "test_short.py"}), patience=3)
    came = ran((*PYTEST, "-p", "pytest_timeout", str(tmp_path)), environment(), selection=wanted)
    assert [(r.test, r.outcome, r.why) for r in came.results if r.outcome != "passed"] == []
    assert (came.code, len(came.results)) == (0, 5)


def test_a_record_that_was_cut_short_has_what_was_whole(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text('{"root": "/r"}\n{"test": "t", "outcome": "passed", "took_s": 1.0, "why": "", "parts": ""}\n{"te')
    assert results(record) == ("/r", [Result("t", "passed", 1.0)])
    assert results(tmp_path / "none") == ("", [])


@pytest.mark.parametrize("second", [(), (Result("tests/x.py::test_y", "failed", 1.0, "why not"),)])
def test_second_tries_are_counted_at_the_end_of_every_run(second: tuple[Result, ...]) -> None:
    lines = summary([Outcome(STAGES[0], 1.0, ok=True, second=second)], {}, 1.0, 60)
    at = lines.index(f"second tries: {len(second)}")
    assert lines[at + 1 :] == [f"  {r.test}: {r.why}" for r in second]
