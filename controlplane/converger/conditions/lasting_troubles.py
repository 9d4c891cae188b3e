"""What agents say is wrong with VMs and goes on to be: looked at once a minute, told once it has lasted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from events.ids import ClusterUid

LOOK_EVERY = timedelta(seconds=60)
"""How often it is looked what agents say."""
PATIENCE = timedelta(minutes=2)
"""An agent asks for its document at least twice a minute, and tries again what failed."""


@dataclass(slots=True)
class _SeenTroubles:
    at: datetime
    since: dict[str, datetime] = field(default_factory=dict)
    lasting: Mapping[str, str] | None = None


class LastingTroubles:
    """Remembers for each cluster since when something is wrong with a VM."""

    def __init__(self) -> None:
        self._seen: dict[ClusterUid, _SeenTroubles] = {}

    def look(
        self, uid: ClusterUid, now: datetime, find: Callable[[], Mapping[str, str] | None]
    ) -> Mapping[str, str] | None:
        """Key of an instance -> why, for those of which something is wrong for longer than `PATIENCE`.

        `find` tells what is wrong now, None where that is no question; it is asked once a minute at most.
        """
        seen = self._seen.get(uid)
        if seen is not None and now - seen.at < LOOK_EVERY:
            return seen.lasting
        seen = self._seen[uid] = _SeenTroubles(now, seen.since if seen is not None else {})
        found = find()
        if found is None:
            seen.since.clear()
            return None
        seen.since = {key: seen.since.get(key, now) for key in found}
        seen.lasting = {key: why for key, why in found.items() if now - seen.since[key] >= PATIENCE}
        return seen.lasting
