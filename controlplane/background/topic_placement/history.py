"""Where partitions were at some time of the past, by the metric lake as far as that goes back. Kedge itself records the
latest alone.
"""

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from events.ids import ClusterUid

if TYPE_CHECKING:
    from spark.metrics.placement import WindowPlacement

_log = logging.getLogger(__name__)

NOT_KEPT = (
    "not kept: which broker had which partition, what agents reported and what the cloud said are observations, of "
    "which the latest alone is there"
)
IN_LAKE = "in the metric lake, as far as that goes back: ask for the topics as of then"


class PastPlacements(Protocol):
    """What is known of past placements; `hint` says in a sentence where. `LakePlacements` is one."""

    @property
    def hint(self) -> str: ...

    def then(self, uid: ClusterUid, moment: datetime) -> "WindowPlacement":
        """The placement at that moment, empty with a reason where it was not kept."""


class NoPastPlacements:
    """`PastPlacements` where there is no metric lake."""

    hint = NOT_KEPT

    def then(self, uid: ClusterUid, moment: datetime) -> "WindowPlacement":
        from spark.metrics.placement import WindowPlacement

        return WindowPlacement(reason=NOT_KEPT)


class LakePlacements:
    """`PastPlacements` of the metric lake at this path or URL."""

    hint = IN_LAKE

    def __init__(self, lake: str) -> None:
        self._lake = lake

    def then(self, uid: ClusterUid, moment: datetime) -> "WindowPlacement":
        from deltalake.exceptions import DeltaError
        from pyarrow import ArrowException

        from spark.metrics.placement import WindowPlacement, read_placement

        try:
            return read_placement(self._lake, uid, at=moment)
        except (DeltaError, ArrowException, OSError, ValueError, KeyError) as error:
            _log.warning("the metric lake at %s cannot be read: %r", self._lake, error)
            return WindowPlacement(reason="not known: the metric lake cannot be read, the server's log says why")


def past_placements_of(lake: str | None) -> PastPlacements:
    """Those of the lake of the settings."""
    return LakePlacements(lake) if lake else NoPastPlacements()
