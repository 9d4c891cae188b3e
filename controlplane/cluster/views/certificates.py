"""The certificate a VM's service shows to other nodes, as a value: part of a cluster's folded state."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CertificateView:
    """The last one that was signed for a VM: its service shows it from its next start on."""

    serial: str
    since: datetime
    until: datetime

    @property
    def ends_soon_at(self) -> datetime:
        """From here on its service should be started anew, which gets it another one: two thirds of its life."""
        return self.since + (self.until - self.since) * 2 / 3
