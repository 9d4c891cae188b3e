"""What answers agents: of every server, and as an ASGI app of its own where nothing else is served.

It builds nothing: what it needs is handed in.
"""

from collections.abc import Callable

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import PlainTextResponse, Response

from controlplane.api import agent_calls, document_offers, gate, overload, problems
from controlplane.api.feed import Feed
from controlplane.api.problems import ApiError
from controlplane.api.report_buffer import KEPT_EVERY_S, ReportBuffer
from controlplane.api.report_paces import ReportPaces
from controlplane.api.routes import about, agents, metrics
from controlplane.api.services import PortalServices
from controlplane.cluster.observed.agent_telemetry import AgentTelemetry
from controlplane.storage.certificates.shown import ShownCertificates
from controlplane.storage.channels import FOUND
from events.ids import ClusterUid


def create_agents_app(
    services: PortalServices,
    *,
    telemetry: Callable[[], AgentTelemetry] | None = None,
    reports_every_s: float = KEPT_EVERY_S,
) -> FastAPI:
    """The app where agents alone are served. See `serve_agents_by`."""
    routes = APIRouter()
    for module in (about, agents, metrics):
        routes.include_router(module.router)
    app = FastAPI(
        title="Kedge",
        version=services.operations.version,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        routes=routes.routes,
    )
    app.state.services = services
    app.state.feed = Feed(services.fleet.clusters)
    serve_agents_by(app, services, telemetry=telemetry, reports_every_s=reports_every_s)
    problems.answer_problems(app, _as_text)
    return app


def serve_agents_by(
    app: FastAPI,
    services: PortalServices,
    *,
    telemetry: Callable[[], AgentTelemetry] | None = None,
    reports_every_s: float = KEPT_EVERY_S,
) -> None:
    """Puts the gate before the app's routes, and before that what answers agents on the event loop.

    `telemetry`: what agents are to send, where another server says it. Reports that are in memory are kept each
    `reports_every_s`. `app.state.feed` is there.
    """
    state, feed, channels = app.state, app.state.feed, services.operations.channels

    def tell_found(uid: ClusterUid) -> None:
        feed.ring(uid)
        channels.publish(FOUND, uid)

    def hear_found(uid: str) -> None:
        if uid:
            paces.found(ClusterUid(uid))
            feed.ring(uid)

    paces = ReportPaces(services.clock, tell=tell_found)
    channels.subscribe(FOUND, hear_found)
    services.cluster.pair_parts.also_tell(feed.ring)
    state.shown_certificates = ShownCertificates(services.cluster.latest, services.clock)
    state.offers = document_offers.DocumentOffers(services, paces, telemetry)
    app.add_middleware(gate.AccessGate, services=services)
    # The last one added is the first one passed.
    app.add_middleware(overload.OverloadGuard, services=services, calls=_calls(app, services, feed, reports_every_s))


def _calls(app: FastAPI, services: PortalServices, feed: Feed, reports_every_s: float) -> agent_calls.AgentCalls | None:
    agents_known = services.access.known_agents
    if agents_known is None:
        return None
    return agent_calls.AgentCalls(
        services,
        agents_known,
        feed=feed,
        offers=app.state.offers,
        shown_certificates=app.state.shown_certificates,
        reports=ReportBuffer(services.cluster.latest, services.cluster.wake, every_s=reports_every_s),
    )


def _as_text(request: Request, told: ApiError) -> Response:
    """An error for a browser, where there are no pages."""
    words = [told.body.title, told.body.detail, told.body.next]
    return PlainTextResponse("\n".join(word for word in words if word) + "\n", told.status_code)
