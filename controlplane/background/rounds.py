"""A round over clusters: what goes wrong with one stops none of the others, and is told when the round is over."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from controlplane.runtime.untrusted_text import escaped
from controlplane.storage.job import StaleEpoch
from controlplane.storage.lease import LostLeadership
from events.errors import EventsError, StoreUnavailable

_OF_ALL = (StoreUnavailable, LostLeadership, StaleEpoch)
"""What goes wrong with no cluster of its own: the next one would meet it, too."""

_NAMED = 3
_LONGEST = 200

_log = logging.getLogger(__name__)


class RoundIncomplete(EventsError):
    """Some clusters of a round were left out. What now: the server's log says why; they are tried at the next round."""


@dataclass(slots=True)
class Round:
    """One round of `what`, as in `groups`. Use one object for one round."""

    what: str
    _failed: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def apart(self, cluster: str) -> Iterator[None]:
        """What is raised in this block is kept for `close`, with a traceback in the log.

        Raises what concerns every cluster: StoreUnavailable, LostLeadership, StaleEpoch.
        """
        try:
            yield
        except _OF_ALL:
            raise
        except Exception as error:  # noqa: BLE001 - one that is poisoned must not stop the others
            _log.exception("%s of %s: left out of this round; the others go on", self.what, cluster)
            self._failed[cluster] = escaped(f"{type(error).__name__}: {error}").replace("\n", " ")[:_LONGEST]

    @property
    def failed(self) -> frozenset[str]:
        """The clusters that were left out so far."""
        return frozenset(self._failed)

    def close(self) -> None:
        """The end of the round. Raises RoundIncomplete, with the clusters and reasons, where one was left out."""
        if not self._failed:
            return
        failures = [f"{cluster}: {why}" for cluster, why in sorted(self._failed.items())]
        more = f"; and {len(failures) - _NAMED} more" if len(failures) > _NAMED else ""
        raise RoundIncomplete(f"{self.what}: left out of this round: {'; '.join(failures[:_NAMED])}{more}")
