"""What the image catalogue means for one cluster at a time, as a value a decision may look at."""

from dataclasses import dataclass

from events import facts

NOT_PUBLISHED = "NotPublished"
NO_IMAGE = "NoImageHere"
WITHDRAWN = "Withdrawn"
FLEET_ORDER = "FleetOrder"
UNREADABLE = "CatalogueUnreadable"


@dataclass(frozen=True, slots=True)
class ImageOffer:
    """What the catalogue means for one cluster now.

    `chosen`: the revision it is to have from here on. Else `reason` is a stable CamelCase word for why a revision that
    concerns it is not chosen, and `waits` says it in a sentence. `holds`: what it has was withdrawn before it was
    reached, so nothing more is rolled to it.
    """

    chosen: facts.ImageChosen | None = None
    reason: str = ""
    waits: str = ""
    holds: bool = False
    target: int = 0
    """Number of the revision that `waits` is about."""


NOTHING = ImageOffer()
