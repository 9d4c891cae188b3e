"""The HTTP API and the portal of `kedge server`, as one ASGI app. It builds nothing: what it needs is handed in."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from controlplane.certificates.shown import ShownCertificates
from controlplane.portal.approvals import ProposalDesk
from controlplane.portal.feed import Feed
from controlplane.portal.gate import Gate
from controlplane.portal.history import History
from controlplane.portal.hooks import Hooks
from controlplane.portal.overload import OverloadGuard
from controlplane.portal.pages import (
    agents as agent_pages,
)
from controlplane.portal.pages import (
    anomalies as anomaly_pages,
)
from controlplane.portal.pages import (
    assets,
    audit,
    brokers,
    brokersettings,
    changespec,
    cluster,
    clusterverbs,
    comparison,
    fleet,
    freezes,
    groups,
    history,
    live,
    losses,
    matrix,
    moves,
    past,
    resets,
    rollout,
    signing,
    topiclogs,
    topics,
    topicsettings,
    topicverbs,
)
from controlplane.portal.pages import (
    chaos as chaos_pages,
)
from controlplane.portal.pages import (
    games as game_pages,
)
from controlplane.portal.pages import (
    images as image_pages,
)
from controlplane.portal.pages import (
    loop as loop_pages,
)
from controlplane.portal.pages import (
    newspec as newspec_pages,
)
from controlplane.portal.pages import (
    nodes as node_pages,
)
from controlplane.portal.pages import (
    people as people_pages,
)
from controlplane.portal.pages import (
    proposals as proposal_pages,
)
from controlplane.portal.pages import (
    provider as provider_pages,
)
from controlplane.portal.pages import (
    rollback as rollback_pages,
)
from controlplane.portal.pages import (
    sources as source_pages,
)
from controlplane.portal.pages import (
    takeover as takeover_pages,
)
from controlplane.portal.pages.errors import error_page
from controlplane.portal.pages.frame import PositionNoted
from controlplane.portal.pages.stages import Rolls
from controlplane.portal.pages.topicrates import RatedTopics
from controlplane.portal.pages.uptimes import UptimeLooks
from controlplane.portal.problems import answer_problems
from controlplane.portal.routes import (
    access,
    agents,
    anomalies,
    chaos,
    clusters,
    drift,
    games,
    generations,
    hooks,
    looks,
    metrics,
    networks,
    nodes,
    people,
    sources,
    state,
    system,
    terraform,
)
from controlplane.portal.routes import (
    agentreleases as agent_releases,
)
from controlplane.portal.routes import (
    brokers as broker_routes,
)
from controlplane.portal.routes import (
    diff as diff_routes,
)
from controlplane.portal.routes import (
    doctor as doctor_routes,
)
from controlplane.portal.routes import (
    freezes as freeze_routes,
)
from controlplane.portal.routes import (
    groups as group_routes,
)
from controlplane.portal.routes import (
    images as image_routes,
)
from controlplane.portal.routes import (
    logs as log_routes,
)
from controlplane.portal.routes import (
    loop as loop_routes,
)
from controlplane.portal.routes import (
    machines as machine_routes,
)
from controlplane.portal.routes import (
    moves as move_routes,
)
from controlplane.portal.routes import (
    proposals as proposal_routes,
)
from controlplane.portal.routes import (
    resets as reset_routes,
)
from controlplane.portal.routes import (
    rollback as rollback_routes,
)
from controlplane.portal.routes import (
    search as search_routes,
)
from controlplane.portal.routes import (
    specrequests as spec_request_routes,
)
from controlplane.portal.routes import (
    topics as topic_routes,
)
from controlplane.portal.services import PortalServices
from controlplane.proposals.book import ProposalBook
from controlplane.topicnames.index import TopicIndex

API = (
    clusters,
    search_routes,
    broker_routes,
    diff_routes,
    spec_request_routes,
    topic_routes,
    looks,
    group_routes,
    reset_routes,
    log_routes,
    drift,
    anomalies,
    nodes,
    move_routes,
    networks,
    image_routes,
    freeze_routes,
    agent_releases,
    chaos,
    games,
    sources,
    hooks,
    generations,
    rollback_routes,
    proposal_routes,
    people,
    access,
    state,
    agents,
    metrics,
    system,
    loop_routes,
    machine_routes,
    doctor_routes,
    terraform,
)
PAGES = (
    fleet,
    cluster,
    clusterverbs,
    losses,
    takeover_pages,
    node_pages,
    rollout,
    brokers,
    brokersettings,
    topics,
    topiclogs,
    topicsettings,
    topicverbs,
    groups,
    resets,
    anomaly_pages,
    moves,
    chaos_pages,
    game_pages,
    matrix,
    history,
    past,
    comparison,
    rollback_pages,
    source_pages,
    image_pages,
    freezes,
    proposal_pages,
    newspec_pages,
    changespec,
    agent_pages,
    people_pages,
    audit,
    loop_pages,
)
BESIDE_PAGES = (signing, provider_pages, live, assets)


def create_app(services: PortalServices) -> FastAPI:
    """The app. `app.state.feed.close()` sends long polls and live pages away before a stop."""
    app = FastAPI(
        title="Kedge", version=services.version, openapi_url=None, docs_url=None, redoc_url=None, routes=_routes()
    )
    services = replace(
        services,
        proposals=ProposalDesk(ProposalBook(services.store, services.clock), services),
        topic_names=services.topic_names or TopicIndex(services.fleet, services.latest, services.clock),
    )
    app.openapi = partial(_described, services.version)  # type: ignore[method-assign]  # as FastAPI's manual does
    app.state.services = services
    app.state.tailer = live.Tailer(services.store, services.fleet)
    app.state.hooks = Hooks(services.sources, services.leadership)
    app.state.feed = Feed(services.fleet, also_close=app.state.tailer.close)
    app.state.history = History()
    app.state.rolls = Rolls(services.store)
    app.state.rated_topics = RatedTopics()
    app.state.uptimes = UptimeLooks(services.latest, services.clock)
    app.state.shown_certificates = ShownCertificates(services.latest, services.clock)
    app.add_middleware(Gate, services=services)
    app.add_middleware(OverloadGuard, services=services)  # the last one added is the first one passed
    answer_problems(app, error_page)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """The routes, which know nothing of an app. FastAPI works out what each takes as it is first asked, about a
    third of a second for all of them: apps of one process share that."""
    whole = APIRouter()
    for module in (*API, *BESIDE_PAGES):
        whole.include_router(module.router)
    for module in PAGES:
        whole.include_router(module.router, dependencies=[PositionNoted])
    return whole.routes


@cache
def _described(version: str) -> dict[str, Any]:
    """FastAPI's document of the routes, which takes it two seconds: apps of one process share it. Not to be changed."""
    return FastAPI(title="Kedge", version=version, routes=_routes()).openapi()
