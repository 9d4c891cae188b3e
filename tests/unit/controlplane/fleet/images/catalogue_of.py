"""Catalogues for tests."""

from controlplane.fleet.images.fold import Catalogue, evolve
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import BEFORE


def published(number: int = 1, **changes: object) -> facts.ImagePublished:
    """A revision of 4.1.1 with an image for the local region."""
    told: dict[str, object] = {
        "kafka_version": "4.1.1",
        "number": number,
        "images": (facts.RegionImage("local", "local-1", "any", f"r{number}"),),
        "url": "",
        "sha256": "",
        "security": "",
        "reason": "",
        "notes": "",
    }
    return facts.ImagePublished(**{**told, **changes})  # type: ignore[arg-type]


def flagged(number: int, security: str = "critical") -> facts.ImagePublished:
    return published(number, security=security, reason=f"CVE-{number}")


def withdrawn(number: int) -> facts.ImageWithdrawn:
    return facts.ImageWithdrawn("4.1.1", number, "bad")


def a_catalogue(*history: object) -> Catalogue:
    """The fold of these facts."""
    catalogue = Catalogue()
    for version, fact in enumerate(history, 1):
        catalogue = evolve(catalogue, recorded(fact, version))
    return catalogue


def recorded(fact: object, version: int) -> Recorded:
    new = encode(fact, f"e{version}")
    told = (new.event_id, new.type, new.schema, new.data)
    return Recorded(version, "images", version, *told, "person:anna", None, None, 1, BEFORE)
