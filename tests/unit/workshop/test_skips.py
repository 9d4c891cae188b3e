"""Where CI is set a skip is a failure that says what is missing, but for what does not apply."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
SKIPS = """
import pytest

@pytest.fixture
def provider():
    pytest.skip("no provider here: install it")

def test_by_a_fixture(provider): pass

@pytest.mark.skipif(True, reason="needs root")
def test_by_a_mark(): pass

def test_that_does_not_apply(): pytest.skip("does not apply: Google tells no such thing")

@pytest.mark.xfail
def test_that_is_known_to_fail(): assert False
"""


@pytest.mark.parametrize(("ci", "told"), [(None, "3 skipped, 1 xfailed"), ("true", "1 skipped, 1 xfailed, 2 errors")])
def test_a_skip_that_hides_a_gap_fails_where_ci_is_set(tmp_path: Path, ci: str | None, told: str) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS)
    ours = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith(("KEDGE_", "PYTEST_"))}
    environment = {**ours, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **({"CI": ci} if ci else {})}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest", str(tmp_path)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=TESTS.parent)
    assert told in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == (1 if ci else 0)
    if ci:
        assert "no provider here: install it" in ran.stdout
        assert "needs root" in ran.stdout


def test_no_module_is_skipped_as_a_whole_which_no_report_of_a_test_would_tell() -> None:
    whole = re.compile(r"allow_module_level|importorskip|collect_ignore")
    assert [f.name for f in TESTS.rglob("*.py") if f != Path(__file__) and whole.search(f.read_text())] == []
