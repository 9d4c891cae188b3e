"""Certificates that VMs' services show to other nodes, and the replacement of a CA, as values: part of a cluster's
folded state."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from events.certificate_facts import ReplacedAuthority


@dataclass(frozen=True, slots=True)
class CertificateView:
    """The last one that was signed for a VM: its service shows it from its next start on."""

    serial: str
    since: datetime
    until: datetime

    @property
    def life(self) -> timedelta:
        return self.until - self.since

    @property
    def due_at(self) -> datetime:
        """From here on its service is to be started anew, which gets it another one: two thirds of its life."""
        return self.since + self.life * 2 / 3

    @property
    def late_at(self) -> datetime:
        """By now windows have come and gone, and a person should know: three quarters of its life."""
        return self.since + self.life * 3 / 4

    @property
    def urgent_at(self) -> datetime:
        """From here on neither windows nor freezes are waited for: what is left is a twelfth of its life."""
        return self.until - self.life / 12


class AuthorityPhase(StrEnum):
    """How far the replacement of a CA is. What each means for nodes: `controlplane.cluster.believed_authorities`."""

    TRUST_BOTH = "trust-both"
    REISSUE = "reissue"
    NEW_ALONE = "new-alone"
    OLD_ALONE = "old-alone"
    """The way back from `trust-both`."""

    @property
    def is_last(self) -> bool:
        """Once it is reached, the replacement is over."""
        return self in (AuthorityPhase.NEW_ALONE, AuthorityPhase.OLD_ALONE)


@dataclass(frozen=True, slots=True)
class AuthorityReplacementView:
    """The replacement of a CA in hand. `certificate` (PEM) is that of the new one, "" until it is made; `own` its name
    in the spec, where it is the user's. `restarts` counts the rounds of restarts this phase has asked for.
    `has_signed`: nodes may show certificates of the new one."""

    id: str
    kind: ReplacedAuthority
    phase: AuthorityPhase
    since: datetime
    reason: str
    certificate: str = ""
    is_reached: bool = False
    restarts: int = 0
    has_signed: bool = False
    own: str = ""
