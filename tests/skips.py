"""A skipped test is a gap that nobody sees: where CI is set it fails, with what is missing.

A test that does not apply where it is (a cloud that tells no such thing, a protocol a mode does not have) begins its
reason with `does not apply: `. It is skipped everywhere.
"""

import os

import pytest

NO_GAP = "does not apply: "


def judged(report: pytest.TestReport) -> None:
    """Makes a failure of a skip that hides a gap. Nothing else is touched, and without CI nothing at all."""
    if "CI" not in os.environ or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = _reason(report)
    if not reason.startswith(NO_GAP):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not take for a pass: {reason}"


def _reason(report: pytest.TestReport) -> str:
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")
