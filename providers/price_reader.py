"""Who asks a cloud for its types and prices; a cloud that sells nothing is asked nothing."""

from datetime import date
from importlib import import_module
from pathlib import Path

from providers.base import Place
from providers.errors import PlaceUnknown
from providers.overrides import RegionIn

_READERS = {
    cloud: f"providers.{cloud}.prices" for cloud in ("aws", "azure", "digitalocean", "google", "hetzner", "upcloud")
}


def can_read_prices(cloud: str) -> bool:
    """Whether `read_prices` asks that cloud."""
    return cloud in _READERS


def read_prices(settings_file: Path, place: Place, *, today: date) -> RegionIn:
    """What a cloud says now of all types it sells, in one account and region; `today` is the day it was read.

    What the cloud does not tell is left out. Raises `ProviderError`; `PlaceUnknown` for a cloud nobody asks yet.
    """
    if not can_read_prices(place.cloud):
        there = ", ".join(_READERS)
        raise PlaceUnknown(f"there are no prices of {place.cloud} to read; there are those of {there}")
    found: RegionIn = import_module(_READERS[place.cloud]).read_prices(settings_file, place, today=today)
    return found
