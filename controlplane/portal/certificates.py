"""Certificates of a cluster: its CAs, what each node was given and shows, and the replacement of a CA in hand."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.certificate_text import authority_text, next_text, replacement_text
from controlplane.api.routes.certificates import certificates_of
from controlplane.api.services import Services
from controlplane.portal.cluster import head_of
from controlplane.portal.confirmation import capital
from controlplane.portal.frame import page

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)


@router.get("/certificates")
def certificates(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """What is recorded, beside what agents said last."""
    view = living(services, name)
    found = certificates_of(services, view)
    change = found.replacement
    return page(
        request,
        "certificates.html",
        head=head_of(request, services, rights, view),
        tab="certificates",
        found=found,
        replacement=capital(replacement_text(change)) if change is not None else "",
        what_next=next_text(view.name, change) if change is not None else "",
        authority_text=authority_text,
        speaks_tls=view.nodes_speak_tls,
    )
