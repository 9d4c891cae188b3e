"""What a VM is made from where its cluster was given a revision of the image catalogue, fixed with its intent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from providers.errors import PlaceUnknown

EVERY = "any"
"""The architecture of an image that every machine of its place can boot."""

X86_64 = "x86_64"
"""The one architecture of clouds that have one."""


@dataclass(frozen=True, slots=True)
class MadeFrom:
    """`ids`: the image by architecture, none where the one of the cloud's settings serves. `url` and `sha256`: the
    Kafka archive a plain image fetches instead of that of the settings, "" for that."""

    revision: str
    ids: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    url: str = ""
    sha256: str = ""

    def image(self, architecture: str) -> str:
        """The image's id, "" where the cloud's settings say it. Raises `PlaceUnknown` naming what there is."""
        if not self.ids:
            return ""
        found = self.ids.get(architecture) or self.ids.get(EVERY)
        if found is None:
            there = ", ".join(sorted(self.ids))
            raise PlaceUnknown(f"image {self.revision} has none for {architecture} there; it has one for {there}")
        return found
