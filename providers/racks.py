"""What keeps two racks of a place apart, cloud by cloud: Kafka is told a rack for each zone a spec names, and spreads
copies over racks, which is worth what stands behind the word."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Any

from providers.catalog_file import CatalogFile, catalog_file


class RackKind(StrEnum):
    """What a rack is there."""

    ZONE = "zone"
    FAULT_DOMAIN = "fault domain"
    PARTITION_GROUP = "partition group"
    SPREAD_GROUP = "spread group"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Racks:
    """The racks of one cloud whose zones are named so: `zones` is a pattern found in the name, "" for any other.

    `apart` says what they share and what not; `source` says where that is from, and `read` when it was read.
    """

    kind: RackKind
    zones: str
    apart: str
    source: str
    read: date


def racks_in(shipped: CatalogFile) -> tuple[Racks, ...]:
    """What a catalogue says of racks; the first whose pattern is in a zone's name is that zone's."""
    return tuple(_racks_of(one, shipped.raw["sources"]) for one in shipped.raw["racks"])


@lru_cache(maxsize=4096)
def racks_of(cloud: str, zone: str) -> Racks | None:
    """What keeps a zone's rack apart from others. None where there is no catalogue: on the local cloud."""
    shipped = catalog_file(cloud)
    return next((one for one in racks_in(shipped) if re.search(one.zones, zone)), None) if shipped else None


def site_of(cloud: str, zone: str) -> str:
    """Where bytes do not leave a zone of the cloud: racks of one site are kept apart within it, or not at all."""
    racks = racks_of(cloud, zone)
    if racks is None or racks.kind is RackKind.ZONE:
        return zone
    return re.split(racks.zones, zone)[0] if racks.zones else zone.rpartition("-")[0]


def _racks_of(one: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> Racks:
    source = sources[one["source"]]
    kind, read = RackKind(one["kind"]), date.fromisoformat(source["read"])
    return Racks(kind, one.get("zones", ""), one["apart"], source["what"], read)
