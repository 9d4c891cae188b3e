"""/v1/images: the image catalogue, publishing and withdrawing, and who still has to roll."""

from fastapi import APIRouter

from controlplane.api.auth import Actor
from controlplane.api.paging import MOST_ON_A_PAGE, AfterId, Most, Turning, following
from controlplane.api.presenters.images import image_named, images_out
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import images as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import Services
from events import facts

router = APIRouter(prefix=API_PREFIX, tags=["images"])


@router.get("/images")
def list_images(services: Services, turn: Turning, after: AfterId = "", limit: Most = MOST_ON_A_PAGE) -> api.ImagesOut:
    """Every revision, the newest first; `after` is the name of one."""
    left = following(services.fleet.images.statuses(), lambda status: status.revision.name, after)
    return images_out(turn.page(left, lambda status: status.revision.name, limit))


@router.get("/images/{name}")
def image(name: str, services: Services) -> api.ImageOut:
    """One revision: who is on it, who still has to roll and what they wait for."""
    return image_named(name, services.fleet.images.statuses())


@router.post("/images")
def publish(body: api.ImageIn, services: Services, actor: Actor, key: CommandId) -> api.ImagePublishedOut:
    """A revision can be had from here on; clusters that follow it roll to it."""
    wanted = facts.ImagePublished(
        kafka_version=body.kafka,
        number=body.number or 0,
        images=body.regions(),
        url=str(body.archive.url) if body.archive else "",
        sha256=body.archive.sha256 if body.archive else "",
        security=body.security,
        reason=body.reason,
        notes=body.notes,
    )
    published = services.fleet.images.publish(wanted, actor=actor, command_id=key)
    services.cluster.wake("")
    return api.ImagePublishedOut(name=published.name, sentence=published.sentence)


@router.post("/images/{name}/withdraw")
def withdraw(
    name: str, body: api.ImageWithdrawalIn, services: Services, actor: Actor, key: CommandId
) -> api.ImagePublishedOut:
    """Nobody begins to roll to it any more."""
    sentence = services.fleet.images.withdraw(name, reason=body.reason, actor=actor, command_id=key)
    services.cluster.wake("")
    return api.ImagePublishedOut(name=name, sentence=sentence)
