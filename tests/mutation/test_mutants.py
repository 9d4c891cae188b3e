"""Small faults in code that could lose data are noticed by its tests: a target of `targets.toml` each."""

import pytest

from tests.mutation.__main__ import run
from tests.mutation.report import lines, stale
from tests.mutation.targets import Target, argued, targets

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("target", targets(), ids=lambda t: t.name.replace(" ", "-"))
def test_whatever_is_changed_in_it_a_test_notices(target: Target) -> None:
    report, known = run(target), argued()
    told = "\n".join(lines([report], known))
    assert not report.broken, told
    assert report.results, told
    assert not report.unargued(known), told
    assert not stale([report], known), told
