"""Where the logs of a topic begin and end, and how fast they grow: asked of their leaders when somebody looks."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.problems import ApiError
from controlplane.api.routes.queries import logs_of
from controlplane.api.schemas.queries import TopicLogsOut
from controlplane.api.services import Services
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page

router = APIRouter(prefix="/clusters/{name}/topics/{topic}", tags=["pages"], include_in_schema=False)

MOST_ROWS = 500


@router.get("/logs")
def topic_logs(request: Request, name: str, topic: str, services: Services, rights: Caller) -> Response:
    """A page of its own, which may take some seconds. Where Kafka cannot be asked the page says why."""
    view = living(services, name)
    told: TopicLogsOut | None = None
    why = ""
    try:
        told = logs_of(services, view, topic)
    except ApiError as error:
        if error.status_code == 404:
            raise
        why = error.body.title
    return page(
        request,
        "topiclogs.html",
        head=head_of(request, services, rights, view),
        tab="topics",
        topic=topic,
        told=told,
        rows=told.partitions[:MOST_ROWS] if told else [],
        why=why,
    )
