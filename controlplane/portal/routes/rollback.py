"""/v1/clusters/NAME/rollback: the spec of an earlier generation again."""

from fastapi import APIRouter

from controlplane.portal import schemas as api
from controlplane.portal.auth import Actor
from controlplane.portal.pages.frame import Caller
from controlplane.portal.pullrequests import Asked
from controlplane.portal.rollback import roll_back, rollback_of
from controlplane.portal.rollbackschemas import RollbackIn, RollbackOut
from controlplane.portal.routes.clusters import CommandId
from controlplane.portal.services import Services

router = APIRouter(prefix=api.API_PREFIX, tags=["clusters"])


@router.post("/clusters/{name}/rollback")
def rollback(
    name: str, body: RollbackIn, services: Services, rights: Caller, actor: Actor, key: CommandId
) -> RollbackOut:
    """Puts an earlier spec back. What comes from git becomes a pull request to its file, in the caller's name.

    What the API declared is declared again: by the same checks, policies and proposals as any other change.
    """
    found = rollback_of(services, rights, name, body.to)
    if body.dry_run:
        rights.trail.note = "dry run"
    return roll_back(services, found, body, Asked(rights, actor, key))
