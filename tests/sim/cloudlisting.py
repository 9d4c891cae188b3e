"""A cloud's own inventory code in simulated time: listings have its clock, are late at times, and fail as they do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from providers.base import CloudInstance, CloudProvider, CloudVolume, InstanceState, Listing, Place, Resources
from providers.errors import AuthFailed, CloudUnavailable, NotPermitted, ProviderError

FAKES = {"aws": "aws", "azure": "azure", "digitalocean": "fake", "google": "google", "hetzner": "hetzner"}
FAKES |= {"upcloud": "upcloud"}
"""Cloud -> what its hands call the fake they work in."""

States = Mapping[str, InstanceState]
"""By id."""

LISTINGS = 3
"""How often the world itself looks before it takes a cloud for silent."""


class Hands(Protocol):
    """Those of `tests/fakes/clouds/<cloud>_hands.py`: what Terraform, the module and fate do in a fake."""

    cloud: Any
    place: Place

    def zone(self, letter: str) -> str: ...
    def id_of(self, key: str, uid: str = "") -> str: ...
    def create(self, wanted: Resources, *only: str) -> None: ...
    def delete(self, wanted: Resources, *only: str) -> None: ...
    def discard(self, wanted: Resources, target: str) -> None: ...
    def power_cut(self, vm_id: str) -> None: ...
    def fail_once(self, error: type[Exception]) -> None: ...
    def other_installation(self) -> "Hands": ...


def unmetered(cloud: Any, place: Place) -> Any:
    """The same provider, but that its calls take no time and no tokens: simulated time stands still meanwhile."""
    bucket = cloud.calls(place)
    bucket.rate, bucket.wait = None, lambda _seconds: None
    return cloud


@dataclass(slots=True)
class LateListings:
    """A provider whose listings are as simulated time has them. Everything else is the provider's own.

    What a listing says, and who is asked for by id, is read through the SDK after the fake has changed (`is_stale`):
    in between it would say the same. While a listing is late (`lag_s`) it says what it said that long ago; a fault is
    met in the SDK's own next call.
    """

    provider: CloudProvider
    hands: Hands
    clock: Callable[[], datetime]
    seconds: Callable[[], float]
    lag_s: float = 0.0
    faults: list[type[ProviderError]] = field(default_factory=list)
    history: list[tuple[float, Listing]] = field(default_factory=list)
    by_id: dict[tuple[Place, tuple[str, ...]], States | ProviderError] = field(default_factory=dict)
    """What was answered since the last reading of the fake; refusals that pass by themselves are not among it."""
    is_stale: bool = True
    """Whether something was done in the fake since it was read."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.provider, name)

    @property
    def name(self) -> str:
        return self.provider.name

    def changed(self) -> Listing:
        """Reads the fake, as it is this moment."""
        told = self._looked_at()
        self.history.append((self.seconds(), told))
        self.by_id.clear()
        self.is_stale = False
        return told

    def _looked_at(self) -> Listing:
        """With the world's own eyes: on a busy machine an answer may come too late for the SDK, and they look again.
        What the server is to be refused comes by another way (`faults`)."""
        for _ in range(LISTINGS - 1):
            try:
                found: Listing = self.hands.cloud.list_place(self.hands.place)
            except CloudUnavailable:
                continue
            return found
        last: Listing = self.hands.cloud.list_place(self.hands.place)
        return last

    @property
    def truth(self) -> Listing:
        return self.changed() if self.is_stale else self.history[-1][1]

    def list_place(self, place: Place) -> Listing:
        """See `CloudProvider`."""
        if self.faults:
            self.hands.fail_once(self.faults.pop())
            return replace(self.provider.list_place(place), at=self.clock())
        told, then = self.truth, self.seconds() - self.lag_s
        if self.lag_s > 0:
            told = next((t for at, t in reversed(self.history) if at <= then), told)
        return replace(told, place=place, at=self.clock())

    def describe(self, place: Place, instances: Sequence[str]) -> States:
        """See `CloudProvider`."""
        if self.is_stale or self.faults:
            return self.provider.describe(place, instances)
        asked = place, tuple(instances)
        if asked not in self.by_id:
            try:
                self.by_id[asked] = self.provider.describe(place, instances)
            except (AuthFailed, NotPermitted) as refused:
                self.by_id[asked] = refused
        told = self.by_id[asked]
        if isinstance(told, ProviderError):
            raise told.with_traceback(None)
        return told


def in_letters(resources: Resources, hands: Hands) -> Resources:
    """The rendered set with the zones by which hands know them."""
    letters = {hands.zone(letter): letter for letter in "abc"}
    return replace(
        resources,
        instances=tuple(replace(i, zone=letters[i.zone]) for i in resources.instances),
        volumes=tuple(replace(v, zone=letters[v.zone]) for v in resources.volumes),
        addresses=tuple(replace(a, zone=letters[a.zone]) for a in resources.addresses),
    )


def disk_of(told: CloudVolume) -> CloudVolume:
    """A disk as simulated machines know it."""
    return CloudVolume(told.key, told.cluster_uid, told.zone, told.size_gib, told.attached_to)


def own_addresses(machine: CloudInstance, listing: Listing) -> bool:
    """Whether the address of its node is on it."""
    return listing.node_addresses.get((machine.cluster_uid, machine.node), "") in machine.addresses
