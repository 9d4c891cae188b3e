"""Stories on record: a told world compared with its golden log.

`KEDGE_GOLDEN=update python -m pytest tests/sequences` writes them anew; review the difference before it is committed.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.sim.world import World

GOLDEN = Path(__file__).parent / "golden"


def assert_told_as_recorded(scenario: Callable[[World], None]) -> None:
    """Plays the scenario in a new world; its story is the one in `golden/<scenario>.log`, to the letter."""
    told_as_recorded_by(World(), scenario)


def told_as_recorded_by(world: World, scenario: Callable[[World], None]) -> None:
    """The same in this world."""
    scenario(world)
    recorded_as(scenario.__name__, world.story)


def recorded_as(name: str, story: Sequence[str]) -> None:
    """The story is the one in `golden/<name>.log`, to the letter."""
    told = "\n".join(line.rstrip() for line in story) + "\n"
    record = GOLDEN / f"{name}.log"
    if os.environ.get("KEDGE_GOLDEN") == "update":
        record.write_text(told)
    assert told == record.read_text()
