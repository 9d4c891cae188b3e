"""What people said of healing, and which brokers are to lead nothing, as values. Part of
`controlplane.cluster.view`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Whether anomalies of a kind are healed, by a person's word, until `until` or until it is said otherwise."""

    on: bool
    until: datetime | None
    reason: str
    at: datetime

    def in_force(self, now: datetime) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class DemotionView:
    """A broker that is to lead nothing, or is given its leaders back (`ended` says why)."""

    broker: int
    reason: str
    requested_at: datetime
    done_at: datetime | None = None
    """Since when it heads no list."""
    left: int = 0
    """Partitions that nobody else could lead then."""
    ended: str = ""
    by_person: bool = False
    """A person said so: it stays so until a person takes it back, and passes on to the next VM of its node."""


@dataclass(frozen=True, slots=True)
class OfflineFixView:
    """A broker that a person gave up: its replicas are made anew while it does not serve."""

    reason: str
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class DiskMovesView:
    """Replicas of a broker that are to move between its log directories: off `path`, or until all are even ("")."""

    path: str
    reason: str
    requested_at: datetime
    bytes_per_s: int = 0
    cancelled: str = ""
    """Who wants no more of it; "" while nobody does."""
    throttled: tuple[int, ...] = ()
    """The last two rates that were recorded, the newest first, bytes/s: one of them, or `bytes_per_s`, is in force."""

    @property
    def due_bytes_per_s(self) -> int:
        """The rate that was decided on last; 0 where what the broker has stays in force."""
        return self.throttled[0] if self.throttled else self.bytes_per_s

    def is_ours(self, bytes_per_s: int | None) -> bool:
        """Whether a rate in force is one of Kedge's."""
        return bytes_per_s in (*self.throttled, self.bytes_per_s)
