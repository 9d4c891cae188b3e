"""What was done about what agents find wrong inside services that run: part of a cluster's stream, see `facts`."""

from dataclasses import dataclass

from events.registry import fact


@fact("healing.requested", schema=1)
@dataclass(frozen=True, slots=True)
class HealingRequested:
    """A finding gets a cure: `restart` or `replace`. What carries it out is recorded beside it, with the same key.

    `reason` has the finding's own words with its numbers, and why this cure. `service` is whose finding it is, "" for
    what the VM was made for, `zookeeper` for the server beside a broker.
    """

    key: str
    node: str
    finding: str
    cure: str
    reason: str
    service: str = ""
