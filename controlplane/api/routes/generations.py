"""/v1/clusters/NAME/generations: what was declared when, and what each would cost a month."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.cluster_lookup import living
from controlplane.api.generations import generations_out
from controlplane.api.paging import BelowNumber, PageCut, Turning
from controlplane.api.past import At, past_of, past_out
from controlplane.api.rollback import declared_in
from controlplane.api.schemas import messages as message_api
from controlplane.api.schemas.generations import GenerationsOut
from controlplane.api.services import Services
from controlplane.storage.streams import cluster_stream
from events.envelope import Recorded

router = APIRouter(prefix=message_api.API_PREFIX, tags=["clusters"])


@router.get("/clusters/{name}/generations")
def get_generations(
    name: str,
    services: Services,
    turn: Turning,
    after: BelowNumber = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    at: At = "",
) -> GenerationsOut:
    """The generations of a cluster, the newest first, each with its cost a month and the difference to the one before.

    Prices are those of now: an older spec is told with what it would cost today. With `at`, a position of the log or a
    time, those there were then, and which was in force then.
    """
    if at:
        past = past_of(services, name, at)
        _tell_more(turn, past.events, after, limit)
        then = generations_out(services, past.view, past.events, after=after, limit=limit)
        return then.model_copy(update={"past": past_out(past, services.brokers.past_placements.hint)})
    view = living(services, name)
    history = services.store.read_stream(cluster_stream(view.uid))
    _tell_more(turn, history, after, limit)
    return generations_out(services, view, history, after=after, limit=limit)


def _tell_more(turn: PageCut, history: Sequence[Recorded], after: int, limit: int) -> None:
    """Of what is told alone are prices looked up, so what follows is counted by the log."""
    turn.page(sorted((g for g in declared_in(history) if not after or g < after), reverse=True), int, limit)
