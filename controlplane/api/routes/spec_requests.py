"""/v1/pull-requests: a spec file as a pull request in the caller's name."""

from fastapi import APIRouter

from controlplane.api.access.caller import Caller
from controlplane.api.auth import Actor
from controlplane.api.presenters import specs as spec_answers
from controlplane.api.pull_requests import Requester
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import messages as message_api
from controlplane.api.schemas.spec_requests import SpecRequestIn, SpecRequestOut
from controlplane.api.services import Services
from controlplane.api.spec_requests import SpecWish, spec_request

router = APIRouter(prefix=message_api.API_PREFIX, tags=["sources"])


@router.post("/pull-requests")
def open_pull_request(
    body: SpecRequestIn, services: Services, rights: Caller, actor: Actor, key: CommandId
) -> SpecRequestOut:
    """Opens a pull request with a spec file; nothing is declared before it is merged. Asked twice with one
    `Idempotency-Key` it is one request."""
    if body.dry_run:
        rights.trail.note = "dry run"
    wish = SpecWish(
        text=body.text,
        file=body.file,
        binding=body.source,
        plan_digest=body.plan_digest,
        dry_run=body.dry_run,
    )
    found = spec_request(services, wish, Requester(rights, actor, key))
    judged, opened = found.judged, found.opened
    return SpecRequestOut(
        ok=judged.ok,
        problems=[spec_answers.problem_out(p) for p in judged.problems],
        plans=[spec_answers.plan_out(p) for p in judged.plans],
        topics=list(judged.plan_beside),
        digest=judged.digest,
        source=found.binding,
        path=found.path,
        request=opened,
        sentence=f"a pull request is open: {opened.url}" if opened else "",
    )
