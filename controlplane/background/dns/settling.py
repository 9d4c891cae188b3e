"""Makes a zone say what one name is to say, and only where the name is ours. Clusters and pairs go this one way."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from providers.dns.zone import NOTHING, DnsZone, HeldName
from providers.errors import ProviderError, ResourceConflict

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptZone:
    """A zone of the settings, and how long its records may live in caches."""

    zone: DnsZone
    ttl_s: int


@dataclass(frozen=True, slots=True)
class NameClaim:
    """What a name is to say, and whose it is by its owner record."""

    name: str
    addresses: frozenset[str]
    """Empty: the name is to go."""
    owner: str
    ttl_s: int | None = None
    """How long caches may keep it; None: as long as the zone's."""
    is_followed: bool = False
    """Somebody waits until every server of its zone tells it: that is looked at, and that it has a zone at all."""
    takes: bool = True
    """Without it, it is kept only as long as its owner record stands."""


class NameRecord(Protocol):
    """Where it is written down what becomes of a name. Both raise StoreUnavailable."""

    def changes(self, held: HeldName) -> None:
        """What is held is about to be written over."""

    def tell(self, addresses: frozenset[str] | None, problem: str, *, is_everywhere: bool = True) -> bool:
        """What the name says; None: as it was, as far as is known. Whether nothing is left to do."""


@dataclass(slots=True)
class NameWriter:
    """For one look. `may_act` is asked before each change: only the leader writes. `released`: by name, owners that
    keep it only until another wants it."""

    zones: Sequence[KeptZone]
    may_act: Callable[[], bool]
    released: Mapping[str, frozenset[str]]
    _failing: dict[str, str] = field(default_factory=dict)
    """Zones that did not answer, and why: nobody waits for them a second time."""

    def settle(self, claim: NameClaim, record: NameRecord) -> bool:
        """Whether the name says what it should now. What stands in the way is recorded and logged once. Raises
        StoreUnavailable."""
        kept = self._zone_of(claim.name)
        if kept is None:
            return record.tell(None, _no_zone(claim.name)) if claim.is_followed else True
        if kept.zone.name in self._failing:
            return record.tell(None, self._failing[kept.zone.name]) if claim.is_followed else False
        ttl_s = kept.ttl_s if claim.ttl_s is None else claim.ttl_s
        after = HeldName(claim.addresses, ttl_s, claim.owner, ttl_s) if claim.addresses else NOTHING
        try:
            held = kept.zone.read(claim.name)
            if not self._is_ours(claim, held):
                if not claim.addresses or not claim.takes:
                    return record.tell(frozenset(), "")
                raise ResourceConflict(_foreign_records(claim.name, held))
            if (held != after or claim.is_followed) and not self.may_act():
                return False
            if held != after:
                record.changes(held)
                kept.zone.replace(claim.name, held, after)
                _log.info("%s: %s -> %s", claim.name, _words(held.addresses), _words(claim.addresses))
            is_everywhere = not claim.is_followed or kept.zone.tells_everywhere(claim.name, after)
        except ProviderError as error:
            if not isinstance(error, ResourceConflict):
                self._failing[kept.zone.name] = str(error)
            record.tell(None, str(error))
            return False
        return record.tell(claim.addresses, "", is_everywhere=is_everywhere)

    def _is_ours(self, claim: NameClaim, held: HeldName) -> bool:
        if held.owner == claim.owner:
            return True
        if not claim.takes:
            return False
        is_free = not held.owner and not held.addresses
        return is_free or (bool(claim.addresses) and held.owner in self.released.get(claim.name, ()))

    def _zone_of(self, name: str) -> KeptZone | None:
        """The longest zone a name is in."""
        fitting = [k for k in self.zones if name == k.zone.name or name.endswith(f".{k.zone.name}")]
        return max(fitting, key=lambda k: len(k.zone.name), default=None)


def _no_zone(name: str) -> str:
    return (
        f"{name} is in no zone of the settings, so Kedge neither changes nor reads it, and no failover goes on behind "
        "it: bind its zone (`[[dns]]`, docs/operating.md)"
    )


def _foreign_records(name: str, held: HeldName) -> str:
    if not held.owner:
        return f"{name} has records that Kedge did not make ({_words(held.addresses)}): remove them, or name another"
    return f"{name} belongs to {held.owner}: choose another name"


def _words(addresses: Iterable[str]) -> str:
    return ", ".join(sorted(addresses)) or "nothing"
