"""Where a cluster can be made on this installation, and on which machines: what its form offers as choices. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from events.spec.releases import as_numbers, rolled_here
from providers.catalogs import catalog
from providers.errors import PlaceUnknown
from providers.offers import MachineOffer
from providers.price_list import PriceList

_MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class PlaceOffer:
    """A region in which this installation has an account. `zones` is empty where they come with the first cluster."""

    cloud: str
    region: str
    zones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacesOffered:
    """Every place; `problems` says of each cloud whose settings cannot be read why it offers none."""

    places: tuple[PlaceOffer, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def clouds(self) -> tuple[str, ...]:
        """In the order of the places."""
        return tuple(dict.fromkeys(place.cloud for place in self.places))

    def find(self, cloud: str, region: str) -> PlaceOffer | None:
        """That place; the cloud's first where the region is none of it, and the first of all for no cloud."""
        there = [place for place in self.places if cloud in ("", place.cloud)]
        return next((place for place in there if place.region == region), None) or next(iter(there), None)

    def at(self, cloud: str, region: str) -> PlaceOffer:
        """Just that place; one without zones where it is not offered."""
        asked = PlaceOffer(cloud, region)
        return next((place for place in self.places if (place.cloud, place.region) == (cloud, region)), asked)


@dataclass(frozen=True, slots=True)
class MachineChoice:
    """`name` as a spec says it; `words` what that is, and what it costs."""

    name: str
    words: str


def version_choices(typed: str = "") -> tuple[str, ...]:
    """Kafka versions for a new cluster, newest first, and one that was typed: other patch releases are."""
    known = sorted(rolled_here("kraft"), key=as_numbers, reverse=True)
    return tuple(known) if not typed or typed in known else (*known, typed)


def zone_choices(place: PlaceOffer, typed: Sequence[str]) -> tuple[str, ...]:
    """The zones of a place and those that were typed; empty where the place's come with the first cluster."""
    return tuple(dict.fromkeys((*place.zones, *typed))) if place.zones else ()


def machine_choices(place: PlaceOffer, price_list: PriceList, typed: str) -> tuple[MachineChoice, ...]:
    """What a place sells: neutral sizes, then the cloud's own names. Empty where no catalogue tells.

    What was typed is one of them in any case: its problem is told beside it, and nothing else is put in its place.
    """
    sold = _sold(place, price_list)
    if not sold or not typed or any(choice.name == typed for choice in sold):
        return sold
    return (*sold, MachineChoice(typed, typed))


def _sold(place: PlaceOffer, price_list: PriceList) -> tuple[MachineChoice, ...]:
    offers = price_list.offers(place.cloud, place.region)
    if offers is None:
        return tuple(_sizes_of(place.cloud))
    sold = list(offers.machines.values())
    sized = [MachineChoice(one.size, f"{one.size} ({one.type}): {_figures(one)}") for one in sold if one.size]
    return (*sized, *(MachineChoice(one.type, f"{one.type}: {_figures(one)}") for one in sold))


def _sizes_of(cloud: str) -> Iterator[MachineChoice]:
    try:
        shapes = catalog(cloud).shapes.values()
    except PlaceUnknown:
        return
    for shape in shapes:
        yield MachineChoice(shape.name, f"{shape.name}: {_size(shape.vcpus, shape.memory_mib)}")


def _figures(machine: MachineOffer) -> str:
    vcpus = None if machine.vcpus is None else int(machine.vcpus.value)
    memory_mib = None if machine.memory_mib is None else int(machine.memory_mib.value)
    price = machine.monthly
    cost = "price unknown" if price is None else f"{price.value:.2f} {price.currency} a month"
    return ", ".join((_size(vcpus, memory_mib), machine.architecture, cost))


def _size(vcpus: int | None, memory_mib: int | None) -> str:
    cpus = "CPUs unknown" if vcpus is None else f"{vcpus} CPU{'' if vcpus == 1 else 's'}"
    memory = "memory unknown" if memory_mib is None else f"{memory_mib / _MIB_PER_GIB:g} GiB"
    return f"{cpus}, {memory}"
