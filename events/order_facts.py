"""Orders to services that serve, given again: part of a cluster's stream, see `facts`."""

from dataclasses import dataclass

from events.registry import fact


@fact("order.renewed", schema=1)
@dataclass(frozen=True, slots=True)
class OrderRenewed:
    """A stop, or another start, that was not heard in time was found safe once more: its agent is told it again.

    `service` is as in `RestartRequested`; `reason` are the words of the gate.
    """

    key: str
    reason: str
    service: str = ""
