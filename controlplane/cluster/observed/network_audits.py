"""What an audit has to know of a network: values both who keeps networks and who audits them share."""

from dataclasses import dataclass
from datetime import datetime

from providers.networks import NetworkRun

AUDIT = "audit"
"""Kind of the jobs of audits, of clusters and of networks."""


@dataclass(frozen=True, slots=True)
class NetworkAtRest:
    """A network that stands. `made_by` is the run that would make it as it is; it is never started.

    `settled_at` is when anything of it was last recorded; while something is in hand it is not `at_rest`.
    """

    made_by: NetworkRun
    at_rest: bool
    settled_at: datetime
