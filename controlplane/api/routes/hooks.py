"""/hooks/git: what a forge calls when somebody pushed, signed with a secret of the binding. It shows no bearer."""

from typing import Any

from fastapi import APIRouter, Request

from controlplane.api.auth import HOOK_PATHS
from controlplane.api.hooks import Hooks
from controlplane.api.services import Services

router = APIRouter(tags=["sources"])

_BODY: dict[str, Any] = {
    "requestBody": {"content": {"application/json": {"schema": {}}, "application/x-www-form-urlencoded": {}}}
}


@router.post(HOOK_PATHS + "{name}", status_code=204, openapi_extra=_BODY)
async def deliver(name: str, request: Request, services: Services) -> None:
    """A forge's own webhook, GitHub's or GitLab's: wakes the poll of the binding, whatever the body says.

    204 also where another server leads: that one looks at its next poll.
    """
    hooks: Hooks = request.app.state.hooks
    client = request.client.host if request.client else ""
    await hooks.deliver(name, request.headers, request.stream(), client=client, now=services.clock())
