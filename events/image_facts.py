"""The image catalogue: facts of the fleet's stream `images`, and the revision a cluster was given, in its own.

A revision is named `<Kafka version>-r<number>`, as in `4.2.0-r3`; its images never change once it is published.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from events.registry import fact


@dataclass(frozen=True, slots=True)
class RegionImage:
    """An image of one cloud and region. `architecture` is `arm64`, `x86_64`, or `any` where the cloud has one kind."""

    cloud: str
    region: str
    architecture: str
    id: str


@dataclass(frozen=True, slots=True)
class PlannedImage:
    """What a VM is made from, fixed with its intent: nothing that is published later changes it.

    `ids` are those of its cloud and region by architecture; `url` and `sha256` are the Kafka archive that a
    VM of a plain image fetches, "" for that of the settings.
    """

    revision: str
    ids: Mapping[str, str]
    url: str = ""
    sha256: str = ""


@fact("image.published", schema=1)
@dataclass(frozen=True, slots=True)
class ImagePublished:
    """A revision can be had from here on. `security` is "" or how bad what it cures is, with the reason why."""

    kafka_version: str
    number: int
    images: tuple[RegionImage, ...]
    url: str
    sha256: str
    security: str
    reason: str
    notes: str


@fact("image.withdrawn", schema=1)
@dataclass(frozen=True, slots=True)
class ImageWithdrawn:
    """No cluster begins to roll to it any more. What runs it is left as it is."""

    kafka_version: str
    number: int
    reason: str


@fact("image.chosen", schema=1)
@dataclass(frozen=True, slots=True)
class ImageChosen:
    """VMs of this cluster are made from this revision from here on, and those of another one are outdated.

    `images`, `url` and `sha256` are those it was published with; `security` is the worst of what the cluster is rid of
    by it, "" where it follows for other reasons.
    """

    kafka_version: str
    number: int
    images: tuple[RegionImage, ...]
    url: str
    sha256: str
    security: str
    reason: str

    @property
    def revision(self) -> str:
        return revision_name(self.kafka_version, self.number)


def revision_name(kafka_version: str, number: int) -> str:
    """`4.2.0-r3`."""
    return f"{kafka_version}-r{number}"
