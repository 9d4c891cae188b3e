"""How far a living cluster is between plaintext and TLS, as it is recorded: part of a cluster's folded state."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from planner.rollout.security_steps import (
    FIRST,
    LAST,
    Quorum,
    SecurityStep,
    between,
    config_at,
    steps_of,
)


@dataclass(frozen=True, slots=True)
class SecurityView:
    """Every service is configured as at a position from `low` to `high`, which are one apart while a step is in hand.
    `to` is where that leads, and what a newcomer is born with; `since` is when it was last recorded. `quorum` is the
    service of who votes, whose steps they are."""

    low: int
    high: int
    to: int
    since: datetime | None = None
    quorum: Quorum = "controller"

    @property
    def is_in_hand(self) -> bool:
        return not self.low == self.to == self.high

    @property
    def step(self) -> SecurityStep | None:
        """The one in hand."""
        return between(self.low, self.high, self.quorum) if self.is_in_hand else None

    @property
    def is_undone(self) -> bool:
        """Whether that step is taken back."""
        return self.to < self.high

    @property
    def is_over(self) -> bool:
        """Whether it speaks plaintext alone, or TLS alone, and no step is in hand."""
        return not self.is_in_hand and self.to in (FIRST, LAST)

    @property
    def reaches_brokers_by_tls(self) -> bool:
        """Whether each broker listens for nodes with TLS: B1 is made, and is not being undone."""
        return self.low >= _B1

    @property
    def brokers_copy_by_tls(self) -> bool:
        """Whether any broker speaks TLS to another one: B2 is made, or is being made."""
        return self.high >= _B2

    @property
    def has_plain_controllers(self) -> bool:
        """Whether each controller listens in plaintext: C3 is not made, nor being made."""
        return self.high < LAST

    @property
    def has_tls_controllers(self) -> bool:
        """Whether each controller listens with TLS: C1 is made, and is not being undone."""
        return self.low >= _C1

    @property
    def has_authorizer(self) -> bool:
        """Whether each controller asks who may do what, and so takes ACLs: C2 is made, and is not being undone."""
        return self.low >= _C2

    def config_of(self, service: str) -> str:
        """What the next start of a service of that kind is told."""
        return config_at(service, self.to, self.quorum)

    def has_steps(self, service: str) -> bool:
        """Whether services of that kind are restarted on the way."""
        return any(step.service == service for step in steps_of(self.quorum))


@cache
def at_rest(position: int, quorum: Quorum = "controller") -> SecurityView:
    return SecurityView(position, position, position, quorum=quorum)


BORN_PLAIN, BORN_TLS = at_rest(FIRST), at_rest(LAST)
"""Of a cluster in KRaft."""

_C1, _B1, _C2, _B2 = 1, 2, 3, 4
