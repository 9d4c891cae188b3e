"""Freezes that people declare: facts of the fleet's stream `freezes`. Those of the server's settings are none."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from events.registry import fact


@fact("freeze.declared", schema=1)
@dataclass(frozen=True, slots=True)
class FreezeDeclared:
    """From now on and before `until` (UTC) nothing voluntary begins on the clusters named; none named: on all.

    A cluster is named by its name, by its owner (`teams`), or by labels, all of which it has to carry. Who declared
    it is the actor of the event. It ends by itself. `silence`: notices of what is not critical wait until it ends.
    """

    id: str
    until: datetime
    reason: str
    clusters: tuple[str, ...]
    teams: tuple[str, ...]
    labels: Mapping[str, str]
    silence: bool = False


@fact("freeze.thawed", schema=1)
@dataclass(frozen=True, slots=True)
class FreezeThawed:
    """A person ended that freeze before its time. One that is not known, or over, stays as it is."""

    id: str
    reason: str
