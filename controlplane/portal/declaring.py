"""What a form comes to once it was agreed to: declared, proposed where a policy asks for that, or taken along."""

from starlette.responses import Response

from controlplane.api.approvals import propose
from controlplane.api.given_commands import spread
from controlplane.api.problems import ApiError
from controlplane.api.services import PortalServices
from controlplane.api.specs import Judged, Order, declare
from controlplane.portal.frame import PAGE_HEADERS


def declared_or_proposed(services: PortalServices, judged: Judged, text: str, *, actor: str, key: str) -> str:
    """Records it, as it was shown and no other way; the address of what came of it. `key` makes a retry safe.

    Raises what `CommandHandler.handle` does, and Forbidden.
    """
    if judged.reserved:
        return f"/proposals/{propose(services, judged, text, actor=actor, key=key).id}"
    outcomes = declare(services, judged, Order(actor=actor, command_id=key, plan_digest=judged.digest)).all
    spread(services, outcomes)
    if not outcomes:
        raise ApiError(422, "nothing", "the form declares nothing")
    return f"/clusters/{outcomes[0].name}" + ("" if judged.documents else "/topics")


def taken_along(text: str, name: str) -> Response:
    """The file as a download."""
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{_safe(name)}.yaml"'}
    return Response(text, media_type="application/yaml", headers=headers)


def _safe(name: str) -> str:
    """A file name out of what somebody typed."""
    return "".join(c for c in name if c.isascii() and (c.isalnum() or c in "._-"))[:100].lstrip(".") or "new"
