"""The roll in hand, or the last one: a row for each node, live."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.read_models.roll_stages import STAGES
from controlplane.api.read_models.rolls import rows_of
from controlplane.api.services import Services
from controlplane.commands.previews.plan import pending_rollout
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)


@router.get("/rollout")
def rollout(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """The timeline."""
    view = living(services, name)
    head = head_of(request, services, rights, view)
    pending = [
        s for p in pending_rollout(view, services.fleet.clusters.last_snapshot(view.uid)).phases for s in p.steps
    ]
    nodes = rows_of(head.roll, pending)
    shown = [stage for stage in STAGES if any(stage in n.stages for n in nodes)] or list(STAGES)
    return page(
        request,
        "rollout.html",
        head=head,
        tab="rollout",
        nodes=nodes,
        stages=shown,
        pending={s.node: s for s in pending},
        left_s=sum(s.seconds for s in pending),
        left_bytes=sum(s.bytes for s in pending),
        drain=view.moves.drain,
        may_abort=head.may_steer and bool(view.roll.recycling) and not view.requests.aborting,
    )
