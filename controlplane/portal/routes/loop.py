"""/v1/loop and /v1/events: how the loop does, and the whole log as far as a caller may read it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.handlers import ClusterNotFound
from controlplane.portal import schemas as api
from controlplane.portal.access.rights import Rights
from controlplane.portal.access.roles import Verb
from controlplane.portal.answers import in_utc
from controlplane.portal.eventlog import Asked, Found, browse
from controlplane.portal.loopanswers import log_out, loop_out
from controlplane.portal.loopschemas import LogOut, LoopOut
from controlplane.portal.moments import Moment
from controlplane.portal.pages.frame import Caller
from controlplane.portal.services import PortalServices, Services
from events.ids import ClusterUid

router = APIRouter(prefix=api.API_PREFIX, tags=["system"])

Word = Annotated[str, Query(max_length=200)]


@router.get("/loop")
def get_loop(services: Services, rights: Caller) -> LoopOut:
    """How the loop of this server does: its last beats, how far it is behind the log, timers, jobs, poisoned clusters.

    For administrators: it tells of every cluster.
    """
    return loop_of(services, rights)


@router.get("/events", responses={404: {"description": "there is no cluster of that name that the caller may read"}})
def get_log(
    services: Services,
    rights: Caller,
    cluster: Word = "",
    kind: Annotated[str, Query(alias="type", max_length=200, description="how the type begins, as in `drain.`")] = "",
    actor: Annotated[str, Query(max_length=200, description="a part of who did it")] = "",
    since: Moment | None = None,
    until: Moment | None = None,
    before: Annotated[int, Query(ge=0, description="only events below this position")] = 0,
    after: Annotated[int | None, Query(ge=0, description="only events above this position, oldest first")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> LogOut:
    """Events of all clusters a caller may read, newest first; with `after` oldest first.

    What concerns no single cluster is shown to those who may read everything.
    """
    asked = Asked(
        type=kind.strip(),
        actor=actor.strip(),
        since=in_utc(since),
        until=in_utc(until),
        before=before,
        after=after,
        limit=limit,
    )
    return log_out(*log_of(services, rights, asked, cluster=cluster))


def loop_of(services: PortalServices, rights: Rights) -> LoopOut:
    """For the API and the page. Raises Forbidden, StoreUnavailable."""
    rights.require_everywhere(Verb.ADMINISTER, "the loop")
    return loop_out(services.loop.standing(), services.leadership, services.fleet.views(), now=services.clock())


def log_of(
    services: PortalServices, rights: Rights, asked: Asked, *, cluster: str = ""
) -> tuple[Found, Mapping[ClusterUid, str]]:
    """A page of the log and the names of its clusters, as far as the caller may read; of one cluster by its name.

    Raises ClusterNotFound.
    """
    services.fleet.catch_up()
    names = {view.uid: view.name for view in services.fleet.views()}
    only = [uid for uid, name in names.items() if name == cluster] if cluster else None
    if only == []:
        raise ClusterNotFound(cluster)
    others = rights.may_everywhere(Verb.READ)
    return browse(services.store, replace(asked, clusters=names.keys(), others=others, only=only)), names
