"""The page of the leader and follower matrix."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.read_models.leader_matrix import busiest, leader_matrix, of_pair
from controlplane.api.routes.topics import is_recorded, topics_seen
from controlplane.api.services import Services
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

PAIRS_IN_WORDS = 3

MOST_PARTITIONS = 500
"""Of one pair, shown on the page."""


@router.get("/matrix")
def matrix(
    request: Request, name: str, services: Services, rights: Caller, leader: int = -1, follower: int = -1
) -> Response:
    """Brokers by brokers, from the last metadata anybody read; the pairs that stand out are said in words, too. Of one
    pair, the partitions."""
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    drawn = leader_matrix(snapshot) if snapshot else None
    listed = of_pair(snapshot, leader, follower) if snapshot else ()
    return page(
        request,
        "matrix.html",
        head=head_of(request, services, rights, view),
        tab="matrix",
        snapshot=snapshot,
        matrix=drawn,
        busiest=busiest(drawn, PAIRS_IN_WORDS) if drawn else (),
        racks={i.service_id: i.planned.rack for i in view.brokers()},
        leader=leader,
        follower=follower,
        found=len(listed),
        listed=listed[:MOST_PARTITIONS],
        recorded=is_recorded(services, view.uid),
    )
