"""Who asks a cloud for its types and prices; some clouds nobody asks yet."""

from datetime import date
from importlib import import_module
from pathlib import Path

from providers.base import Place
from providers.errors import PlaceUnknown
from providers.overrides import RegionIn

_READERS = {cloud: f"providers.{cloud}.prices" for cloud in ("aws", "digitalocean", "hetzner")}


def can_read_prices(cloud: str) -> bool:
    """Whether `read_prices` asks that cloud."""
    return cloud in _READERS


def read_prices(settings_file: Path, place: Place, *, today: date) -> RegionIn:
    """What a cloud says now of the types its catalogue has, in one account and region; `today` is the day it was read.

    What the cloud does not tell is left out. Raises `ProviderError`; `PlaceUnknown` for a cloud nobody asks yet.
    """
    if not can_read_prices(place.cloud):
        there = ", ".join(_READERS)
        raise PlaceUnknown(f"prices of {place.cloud} are not read from its API yet; those of {there} are")
    found: RegionIn = import_module(_READERS[place.cloud]).read_prices(settings_file, place, today=today)
    return found
