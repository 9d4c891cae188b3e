"""Which process this is, and whether it is well: for who watches it, and for what spreads connections over several."""

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

from controlplane.api.schemas import messages as message_api, system as system_api
from controlplane.api.services import Services

router = APIRouter(tags=["system"])


@router.get("/healthz", include_in_schema=False)
async def health(services: Services) -> PlainTextResponse:
    """The process answers, by itself: no thread, no database. Nothing more is told to whom we do not know than that its
    database does not: to start the process again would not mend that, so the answer is still 200.
    """
    trouble = services.operations.database_trouble()
    since = f"{trouble.since:%Y-%m-%dT%H:%M:%SZ}" if trouble is not None else ""
    return PlainTextResponse(f"ok, but its database takes no writes since {since}\n" if since else "ok\n")


@router.get("/readyz", include_in_schema=False)
async def ready(services: Services) -> PlainTextResponse:
    """Whether calls are to be sent here, by itself as well: 503 while another process would answer them better."""
    why = services.operations.why_not_ready()
    return PlainTextResponse(f"not ready: {why}\n" if why else "ready\n", 503 if why else 200)


@router.get(f"{message_api.API_PREFIX}/version")
def version(services: Services) -> system_api.VersionOut:
    """Who answers, and whether it leads."""
    leadership = services.operations.leadership
    return system_api.VersionOut(
        version=services.operations.version,
        api=message_api.API_PREFIX.strip("/"),
        installation_id=services.access.installation.id,
        epoch=leadership.held_epoch() or 0,
        leader=leadership.may_act,
        planner=services.operations.planner_state(),
        part=services.operations.part,
    )
