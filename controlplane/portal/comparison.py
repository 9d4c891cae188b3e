"""The page of what differs: desired beside observed."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.field_diff import field_diff
from controlplane.api.presenters.drift import drift_out
from controlplane.api.read_models.rolls import change_word, reason_words
from controlplane.api.services import Services
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)


@router.get("/diff")
def diff(
    request: Request, name: str, services: Services, rights: Caller, unchanged: bool = False, ask: bool = False
) -> Response:
    """What differs, and why each node is to be changed; with `unchanged` the rest too. `ask`: brokers are asked for the
    settings they run with, which may take some seconds."""
    view = living(services, name)
    found = field_diff(services, view, ask=ask)
    differ = len(found.differing)
    return page(
        request,
        "diff.html",
        head=head_of(request, services, rights, view),
        tab="diff",
        fields=found.fields if unchanged else found.differing,
        same=len(found.fields) - differ,
        differ=differ,
        unchanged=unchanged,
        ask=ask,
        reported=found.reported,
        why=found.unknown,
        asked_of=found.asked_of,
        snapshot=found.snapshot,
        cloud=drift_out(view, services.cluster.latest, services.fleet.networks.audits_for(view)),
        steps=[(s, change_word(s), reason_words(s)) for s in found.steps],
    )
