"""The image catalogue as the API and the pages tell it."""

from collections.abc import Iterable

from controlplane.api.problems import ApiError
from controlplane.api.schemas import images as api
from controlplane.fleet.images.adoption import ClusterAt, RevisionStatus


def images_out(statuses: Iterable[RevisionStatus]) -> api.ImagesOut:
    return api.ImagesOut(items=[image_out(s) for s in statuses])


def image_named(name: str, statuses: Iterable[RevisionStatus]) -> api.ImageOut:
    """The revision of that name. Raises ApiError 404."""
    found = next((s for s in statuses if s.revision.name == name), None)
    if found is None:
        raise ApiError(404, "image-not-found", f"there is no image {name!r}", next_step="`kedge images` lists them.")
    return image_out(found)


def image_out(status: RevisionStatus) -> api.ImageOut:
    revision, fact = status.revision, status.revision.fact
    images: dict[str, dict[str, str]] = {}
    for image in fact.images:
        images.setdefault(f"{image.cloud}/{image.region}", {})[image.architecture] = image.id
    return api.ImageOut.like(
        fact,
        name=revision.name,
        kafka=revision.version,
        number=revision.number,
        withdrawn=revision.withdrawn,
        published_at=revision.at,
        published_by=revision.by,
        images=images,
        archive=fact.url,
        on=_clusters(status.on),
        due=_clusters(status.due),
        left=_clusters(status.left),
    )


def _clusters(found: Iterable[ClusterAt]) -> list[api.ClusterAtOut]:
    return [api.ClusterAtOut(name=c.name, stage=c.stage, vms=c.vms, of=c.of, why=c.why) for c in found]
