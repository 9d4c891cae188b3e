"""/v1/freezes: which there are, declaring one, ending one before its time."""

from operator import itemgetter
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.auth import Actor
from controlplane.api.paging import MOST_ON_A_PAGE, Most, Turning, following
from controlplane.api.presenters.freezes import ENDED, freezes_out, named_freezes
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import freezes as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import Services
from controlplane.fleet.freezes.commands import WantedFreeze

router = APIRouter(prefix=API_PREFIX, tags=["freezes"])


@router.get("/freezes")
def list_freezes(
    services: Services,
    turn: Turning,
    past: Annotated[bool, Query(description="also those that are over")] = False,
    after: Annotated[
        str,
        Query(max_length=250, description="the id of the last before; of the settings' `settings/` and which of them"),
    ] = "",
    limit: Most = MOST_ON_A_PAGE,
) -> api.FreezesOut:
    """The freezes that hold something the caller may read."""
    # One that ended since the page before is still where the next one begins.
    every = named_freezes(freezes_out(services.fleet.freezes.status(), services.clock(), past=True))
    left = [(its_id, f) for its_id, f in following(every, itemgetter(0), after) if past or f.state not in ENDED]
    return api.FreezesOut(items=[freeze for _, freeze in turn.page(left, itemgetter(0), limit)])


@router.post("/freezes", responses={404: {"description": "it names a cluster that is not there, or not theirs"}})
def freeze(body: api.FreezeIn, services: Services, actor: Actor, key: CommandId) -> api.FreezeSaidOut:
    """Nothing voluntary begins on what is named until then. What has begun is ended; repairs go on."""
    wanted = WantedFreeze(
        until=body.until,
        reason=body.reason,
        clusters=tuple(body.clusters),
        teams=tuple(body.teams),
        labels=tuple(sorted(body.labels.items())),
        everything=body.everything,
        silence=body.silence,
    )
    answer = services.fleet.freezes.declare(wanted, actor=actor, command_id=key)
    services.cluster.wake("")
    return api.FreezeSaidOut(id=answer.id, sentence=answer.sentence)


@router.post("/freezes/{name}/thaw")
def thaw(name: str, body: api.ThawIn, services: Services, actor: Actor, key: CommandId) -> api.FreezeSaidOut:
    """What it held goes on, where no other freeze holds it."""
    answer = services.fleet.freezes.thaw(name, reason=body.reason, actor=actor, command_id=key)
    services.cluster.wake("")
    return api.FreezeSaidOut(id=answer.id, sentence=answer.sentence)
