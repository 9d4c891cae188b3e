"""All prices of an installation: shipped catalogues with `catalog.yaml` of its home over them."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from providers.catalog_file import catalog_file
from providers.errors import PlaceUnknown
from providers.offers import Offers, offers
from providers.overrides import FILE_NAME, Overrides, read_overrides

CLOUDS = ("aws", "google", "azure", "digitalocean", "upcloud", "hetzner")
"""Clouds with a catalogue, in the order people are told them."""


@dataclass(frozen=True, slots=True)
class PriceList:
    """One reading of it. Without `catalog.yaml` it knows what is sold, and no price."""

    overrides: Overrides = field(default_factory=Overrides)

    def offers(self, cloud: str, region: str) -> Offers | None:
        """What a region sells; None for a cloud that sells nothing (`local`) or that nobody has a catalogue of."""
        shipped = catalog_file(cloud)
        return None if shipped is None else offers(shipped, region, self.overrides.region(cloud, region))

    def sold(self, cloud: str = "", region: str = "") -> tuple[Offers, ...]:
        """What there is, by cloud and region; both narrow it. Without a region, each that has a price here, and a cloud
        without any as it is shipped. Raises `PlaceUnknown` for a cloud or a region that no catalogue has."""
        if cloud and cloud not in CLOUDS:
            raise PlaceUnknown(f"no cloud {cloud!r} has a catalogue; there is {', '.join(CLOUDS)}")
        clouds = [one for one in CLOUDS if cloud in ("", one)]
        if region:
            clouds = [one for one in clouds if region in self._regions(one)]
            if not clouds:
                raise PlaceUnknown(f"{cloud or 'no cloud'} has {'no' if cloud else 'a'} region {region!r}")
        asked = [(one, where) for one in clouds for where in ([region] if region else self._priced(one))]
        return tuple(found for one, where in asked if (found := self.offers(one, where)) is not None)

    def _regions(self, cloud: str) -> set[str]:
        shipped = catalog_file(cloud)
        return {*(shipped.regions() if shipped else ()), *self.overrides.regions(cloud)}

    def _priced(self, cloud: str) -> tuple[str, ...]:
        return self.overrides.regions(cloud) or ("",)


def read_price_list(home: Path) -> PriceList:
    """The price list as it is in a home now. Raises `PlaceUnknown` when `catalog.yaml` makes no sense."""
    path = home / FILE_NAME
    try:
        about = path.stat()
    except OSError:
        return PriceList(read_overrides(path))
    return _read(path, about.st_mtime_ns, about.st_size, about.st_ino)


@lru_cache(maxsize=8)
def _read(path: Path, _written_ns: int, _size_bytes: int, _inode: int) -> PriceList:
    """Read once for each time it was written: with all types of a cloud it takes a second."""
    return PriceList(read_overrides(path))
