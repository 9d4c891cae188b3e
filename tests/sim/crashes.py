"""A story told again with the server's death in it: at one of the points it passes, or at each of them in turn."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tests.sim.sweep import sweep
from tests.sim.world import World


@dataclass(frozen=True)
class Crashes:
    """Of one story, in worlds whose Kafka is born with that version. Points are counted from 1."""

    story: Callable[[World], None]
    version: str = "4.1.1"

    @cached_property
    def points(self) -> tuple[str, ...]:
        """Names of all failpoints the story passes, in order."""
        world = World(version=self.version)
        self.story(world)
        return tuple(world.points.names)

    def id_of(self, point: int) -> str:
        return f"{point}-{self.points[point - 1].replace(' ', '-')}"

    def last(self, kind: str) -> int:
        """The last point whose name begins so."""
        return max(number for number, name in enumerate(self.points, start=1) if name.startswith(kind))

    def at(self, point: int) -> None:
        """The server dies there and nowhere else."""
        assert self._told(point).crashes == [self.points[point - 1]]

    def at_every_single_point(self) -> None:
        def run(point: int) -> None:
            died = self._told(point).crashes
            assert len(died) == 1, f"failpoint {point} ({self.points[point - 1]}) was not reached"

        sweep(f"{self.story.__name__}, crash at failpoint", range(1, len(self.points) + 1), run)

    def _told(self, point: int) -> World:
        world = World(seed=point, crash_at=point, version=self.version)
        self.story(world)
        return world
