"""Each test file is counted in one area of `make test`, and a stage's time is shared out as its tests took it."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.shares import LIMITS_S, PATTERNS, REST, areas_of, durations_by_area, split, table

TESTS = Path(__file__).parents[2]
FILES = [p.relative_to(TESTS).as_posix() for p in TESTS.rglob("test_*.py")]

TOOK_S = {
    "tests.contract.test_cloud_calls": 3.0,
    "tests.contract.test_git_ssh.TestOverSsh": 0.5,
    "tests.contract.new": 0.5,
}


def report_of(took_s: Mapping[str, float], file: str) -> str:
    cases = "".join(f'<testcase classname="{c}" name="y" file="{file}" time="{s}" />' for c, s in took_s.items())
    return f"<testsuites><testsuite>{cases}</testsuite></testsuites>"


def test_no_file_is_counted_in_two_areas() -> None:
    assert {f: areas_of(f) for f in FILES if len(areas_of(f)) > 1} == {}


def test_every_pattern_takes_a_file_that_is_there() -> None:
    patterns = [p for found in PATTERNS.values() for p in found]
    assert [p for p in patterns if not any(fnmatchcase(f, p) for f in FILES)] == []


def test_every_area_has_a_limit() -> None:
    assert set(PATTERNS) == set(LIMITS_S)


def test_a_stages_time_is_shared_out_as_its_tests_took_it(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(report_of(TOOK_S, "tests/contract/test_cloud_calls.py"))
    shares = split(10.0, durations_by_area(report))
    assert shares == {"clouds": 7.5, "ways in": 1.25, REST: 1.25}
    assert table(shares).splitlines()[1].split() == ["clouds", "8", "s", "300", "s"]


def test_a_test_whose_function_was_written_elsewhere_is_counted_where_pytest_found_it(tmp_path: Path) -> None:
    """The 238 that schemathesis makes of `test_api_fuzz` were nobody's: their report names a file of schemathesis."""
    report = tmp_path / "report.xml"
    found = "tests.unit.controlplane.api.test_api_fuzz"
    report.write_text(report_of({found: 2.0}, ".venv/lib/site-packages/schemathesis/generation/hypothesis/builder.py"))
    assert durations_by_area(report) == {"ways in": 2.0}


@pytest.mark.parametrize("text", [None, "", "<testsuites><testsuite"])
def test_a_stage_that_wrote_no_report_is_rest(tmp_path: Path, text: str | None) -> None:
    report = tmp_path / "report.xml"
    if text is not None:
        report.write_text(text)
    assert split(10.0, durations_by_area(report)) == {REST: 10.0}
