"""Clusters that operators reported, as they exported them. Each has a test that is named for its report."""

from pathlib import Path

from planner.drain.model.document import read_state
from planner.drain.model.problem import StateProblemKind
from planner.drain.model.state import ClusterState

REPORTS = Path(__file__).parent / "reports"


def reported(name: str) -> ClusterState:
    """As the planner gets it: partitions that need repair are read too."""
    return read_state((REPORTS / f"{name}.json").read_bytes(), tolerate=(StateProblemKind.REPAIR_FIRST,)).state
