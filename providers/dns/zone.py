"""The port of a DNS zone, and what is held under one name."""

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Protocol

from providers.errors import ResourceConflict

LONGEST_TTL_S = 60
"""A record's life in the caches of clients: how long a retired address may still be tried."""

OWNER_LABEL = "_kedge"
"""The TXT record `_kedge.<name>` says whose the records of `<name>` are; without it they are a person's."""


@dataclass(frozen=True, slots=True)
class HeldName:
    """The address records of a name. `owner` is the text of its owner record, "" where there is none."""

    addresses: frozenset[str]
    ttl_s: int
    owner: str
    owner_ttl_s: int = 0

    def of_family(self, kind: str) -> tuple[str, ...]:
        """The addresses an `A` or an `AAAA` record set holds, sorted."""
        return tuple(sorted(a for a in self.addresses if record_type(a) == kind))


NOTHING = HeldName(frozenset(), ttl_s=0, owner="")


class DnsZone(Protocol):
    """One zone Kedge may write to. Every call lasts at most 10 s.

    All methods raise `AuthFailed`, `RateLimited`, `NotFound` (no such zone) or `CloudUnavailable`.
    """

    @property
    def name(self) -> str:
        """The zone's own name, without the dot at the end."""

    def read(self, name: str) -> HeldName:
        """What the zone's server holds under a name now, past every cache; `NOTHING` where it answers "nothing"."""

    def replace(self, name: str, before: HeldName, after: HeldName) -> None:
        """Put `after` in the place of `before`, whole or not at all. Raises `ResourceConflict` if that is not there."""

    def tells_everywhere(self, name: str, held: HeldName) -> bool:
        """Whether each authoritative server this zone knows of tells exactly the addresses and the life of `held`,
        which `read` has just given or `replace` taken. For who may write: where nothing else tells, the same records
        are written once more. One that does not answer is no answer: `CloudUnavailable`."""


def record_type(address: str) -> str:
    """`A` or `AAAA`. Raises `ValueError` for what is no IP address."""
    return "AAAA" if isinstance(ip_address(address), IPv6Address) else "A"


def changed_meanwhile(name: str) -> ResourceConflict:
    """What `replace` raises when somebody else was there between reading and writing."""
    return ResourceConflict(f"the records of {name} are not what they were when they were read")
