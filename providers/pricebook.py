"""All prices of an installation: shipped catalogues with `catalog.yaml` of its home over them."""

from dataclasses import dataclass, field
from pathlib import Path

from providers.catalogfile import catalog_file
from providers.offers import Offers, offers
from providers.overrides import FILE_NAME, Overrides, read_overrides


@dataclass(frozen=True, slots=True)
class PriceBook:
    """One reading of it. Without `catalog.yaml` it knows what is sold, and no price."""

    overrides: Overrides = field(default_factory=Overrides)

    def offers(self, cloud: str, region: str) -> Offers | None:
        """What a region sells; None for a cloud that sells nothing (`local`) or that nobody has a catalogue of."""
        shipped = catalog_file(cloud)
        return None if shipped is None else offers(shipped, region, self.overrides.region(cloud, region))


def read_price_book(home: Path) -> PriceBook:
    """The book as it is in a home now. Raises `PlaceUnknown` when `catalog.yaml` makes no sense."""
    return PriceBook(read_overrides(home / FILE_NAME))
