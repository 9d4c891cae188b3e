"""Drain plans against the bounds no plan can beat, on every named state and on other draws of them.

    python -m benchmarks drain

The judge is the independent replay (planner.drain.replay), the bounds are planner.drain.bounds: neither shares code
with the planner. States are made by benchmarks.drain.states.
"""

from typing import Any


def main() -> dict[str, Any]:
    """Prints a table; returns the worst value of every measure, each state's values and the giant cluster's seconds."""
    from benchmarks.drain.report import run

    return run()
