"""The image catalogue as people read it: a line each, and one revision with every cluster it concerns."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.images import ClusterAtOut, ImageOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago
from controlplane.runtime.styled_text import styled

_STYLE = {"critical": "red", "high": "red", "low": "yellow", "": ""}


def image_table(images: Sequence[ImageOut], *, now: datetime) -> Table:
    """One line a revision."""
    headers = ["NAME", "SECURITY", "STATE", "AGE", "ON IT", "STILL TO ROLL", "NOT FOLLOWING", "NOTES"]
    rows: list[list[Text | str]] = [
        [
            image.name,
            styled(image.security or "-", _STYLE[image.security]),
            styled("withdrawn", "yellow") if image.withdrawn else "published",
            ago(image.published_at, now),
            str(len(image.on)),
            str(len(image.due)),
            str(len(image.left)),
            image.withdrawn or image.reason or image.notes or "-",
        ]
        for image in images
    ]
    return listing(headers, rows)


def image_lines(image: ImageOut, *, now: datetime) -> Iterator[RenderableType]:
    """One revision, whole."""
    yield f"{image.name}, published {ago(image.published_at, now)} by {image.published_by}"
    if image.security:
        yield styled(f"{image.security} for security: {image.reason}", _STYLE[image.security])
    if image.withdrawn:
        yield styled(f"withdrawn: {image.withdrawn}", "yellow")
    if image.notes:
        yield image.notes
    for place, by in sorted(image.images.items()):
        yield f"  {place}: {', '.join(f'{architecture} {identity}' for architecture, identity in sorted(by.items()))}"
    if image.archive:
        yield f"  plain images: {image.archive} (SHA-256 {image.sha256})"
    for title, clusters in (("STILL TO ROLL", image.due), ("NOT FOLLOWING", image.left), ("ON IT", image.on)):
        if clusters:
            yield ""
            yield _clusters(title, clusters)


def _clusters(title: str, clusters: Sequence[ClusterAtOut]) -> Table:
    rows: list[list[Text | str]] = [[c.name, c.stage, f"{c.vms} of {c.of}", c.why or "-"] for c in clusters]
    return listing([title, "STAGE", "VMS", "WHY"], rows)
