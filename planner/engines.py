"""Where a plan was made: by Spark's worker, or in the server's own process while Spark is away."""

from typing import Literal

Engine = Literal["spark", "in-process"]


def planned_by(engine: str) -> str:
    """As people say it: `planned by spark`, `planned in-process`."""
    return f"planned {engine}" if engine.startswith("in-") else f"planned by {engine}"
