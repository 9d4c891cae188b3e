"""/v1/clusters/NAME/rollback, and of a topic: an earlier spec again, and which there were of a topic."""

from fastapi import APIRouter

from controlplane.api import auth, paging, pull_requests, topic_rollback
from controlplane.api.access.caller import Caller
from controlplane.api.request_identity import CommandId
from controlplane.api.rollback import roll_back, rollback_of
from controlplane.api.schemas import messages as message_api
from controlplane.api.schemas.rollbacks import RollbackIn, RollbackOut, TopicDeclarationsOut
from controlplane.api.services import Services

router = APIRouter(prefix=message_api.API_PREFIX, tags=["clusters"])


@router.post("/clusters/{name}/rollback")
def rollback(
    name: str, body: RollbackIn, services: Services, rights: Caller, actor: auth.Actor, key: CommandId
) -> RollbackOut:
    """Puts an earlier spec back. What comes from git becomes a pull request to its file, in the caller's name.

    What the API declared is declared again: by the same checks, policies and proposals as any other change.
    """
    found = rollback_of(services, rights, name, body.to)
    if body.dry_run:
        rights.trail.note = "dry run"
    return roll_back(services, found, body, pull_requests.Requester(rights, actor, key))


@router.get("/clusters/{name}/topics/{topic}/declarations", tags=["topics"])
def declarations(
    name: str,
    topic: str,
    services: Services,
    turn: paging.Turning,
    after: paging.BelowNumber = 0,
    limit: paging.Most = paging.MOST_ON_A_PAGE,
) -> TopicDeclarationsOut:
    """What was declared of a topic, the newest first, each with what it changed. Also of a topic that is deleted."""
    out = topic_rollback.declarations_of(services, name, topic)
    left = [one for one in out.declarations if not after or one.number < after]
    return out.model_copy(update={"declarations": turn.page(left, lambda one: one.number, limit)})


@router.post("/clusters/{name}/topics/{topic}/rollback", tags=["topics"])
def rollback_topic(
    name: str, topic: str, body: RollbackIn, services: Services, rights: Caller, actor: auth.Actor, key: CommandId
) -> RollbackOut:
    """Puts an earlier declaration of a topic back, as `rollback` does for its cluster.

    Only what a topic can take back: partitions never shrink, so one that grew since is refused.
    """
    found = topic_rollback.topic_rollback_of(services, rights, name, topic, body.to)
    if body.dry_run:
        rights.trail.note = "dry run"
    return roll_back(services, found, body, pull_requests.Requester(rights, actor, key))
