"""What the API says of the image catalogue, and takes for it."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints, model_validator

from controlplane.api.schemas.messages import Message
from events.image_facts import RegionImage

Place = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,30}/[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
ImageId = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,300}$")]
Release = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=500)]


class ArchiveIn(Message):
    """A Kafka archive that VMs of a plain image fetch when they boot, known by its SHA-256 (docs/boot.md)."""

    url: AnyHttpUrl
    sha256: Sha256


class ImageIn(Message):
    """A revision to publish. Without a number it is the next one of its Kafka version.

    `images`: `<cloud>/<region>` -> architecture (`arm64`, `x86_64`, `any`) -> id in that cloud's own words.
    """

    kafka: Release
    number: Annotated[int, Field(ge=1, le=100_000)] | None = None
    images: dict[Place, dict[Literal["arm64", "x86_64", "any"], ImageId]] = Field(default_factory=dict, max_length=500)
    archive: ArchiveIn | None = None
    security: Literal["", "low", "high", "critical"] = ""
    reason: Line = ""
    notes: Line = ""

    @model_validator(mode="after")
    def _says_enough(self) -> "ImageIn":
        if self.archive is None and not any(self.images.values()):
            raise ValueError("a revision needs `images`, or an `archive` for plain images, or both")
        if self.security and not self.reason:
            raise ValueError(f"`reason` has to say why it is {self.security} for security, as in `CVE-2026-12345`")
        return self

    def regions(self) -> tuple[RegionImage, ...]:
        """The images, sorted: the same file is the same revision."""
        found = (
            RegionImage(place.partition("/")[0], place.partition("/")[2], architecture, identity)
            for place, by in self.images.items()
            for architecture, identity in by.items()
        )
        return tuple(sorted(found, key=lambda i: (i.cloud, i.region, i.architecture)))


class ImagePublishedOut(Message):
    """The revision it became, and what happens."""

    name: str
    sentence: str


class ImageWithdrawalIn(Message):
    """Why nobody is to roll to it any more."""

    reason: Line = ""


class ClusterAtOut(Message):
    """A cluster as it stands to a revision: `vms` of `of` VMs are made from it or a later one."""

    name: str
    stage: str
    vms: int
    of: int
    why: str = ""


class ImageOut(Message):
    """One revision. `on` are on it or a later one, `due` still have to roll, `left` follow nothing that leads there."""

    name: str
    kafka: str
    number: int
    security: str
    reason: str
    notes: str
    withdrawn: str
    published_at: datetime
    published_by: str
    images: dict[str, dict[str, str]]
    archive: str
    sha256: str
    on: list[ClusterAtOut]
    due: list[ClusterAtOut]
    left: list[ClusterAtOut]


class ImagesOut(Message):
    """The catalogue, the newest first."""

    items: list[ImageOut]
