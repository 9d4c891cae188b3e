"""Which ids of a cloud this server has seen alive: of those alone "there is none" proves at once that one is gone."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Sightings:
    """An id nobody here saw alive may be of a VM that is just being made: it has to stay missing for `settles_s`."""

    settles_s: float
    clock: Callable[[], float] = time.monotonic
    _seen: set[str] = field(default_factory=set)
    _missed_since: dict[str, float] = field(default_factory=dict)

    def saw(self, ids: Iterable[str]) -> None:
        """The cloud described these."""
        self._seen.update(ids)

    def is_settled(self, missing: str) -> bool:
        """Whether the cloud's "there is none" by this id can be believed now; it counts from the first time asked."""
        now = self.clock()
        return missing in self._seen or now - self._missed_since.setdefault(missing, now) >= self.settles_s
