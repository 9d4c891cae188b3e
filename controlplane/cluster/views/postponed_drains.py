"""Drains that were put off, as values. Part of `controlplane.cluster.view`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PutOffView:
    """How many in a row, with nothing done between them; when the last one was, and why."""

    times: int
    at: datetime
    reason: str
