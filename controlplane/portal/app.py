"""The HTTP API and the portal of `kedge server`, as one ASGI app. It builds nothing: what it needs is handed in."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from controlplane.api import agents_app, approvals, feed, problems
from controlplane.api.history import History
from controlplane.api.hooks import Hooks
from controlplane.api.read_models import event_tail as live, roll_stages, topic_rates, uptimes
from controlplane.api.report_buffer import KEPT_EVERY_S
from controlplane.api.routes import (
    about,
    access,
    acls,
    agent_releases,
    agents,
    anomalies,
    brokers as broker_routes,
    certificates as certificate_routes,
    chaos,
    clusters,
    diff as diff_routes,
    doctor as doctor_routes,
    drift,
    failovers,
    figures as figure_routes,
    freezes as freeze_routes,
    games,
    generations,
    groups as group_routes,
    hooks,
    images as image_routes,
    kafka_users as kafka_user_routes,
    logs as log_routes,
    loop as loop_routes,
    machines as machine_routes,
    metrics,
    moves as move_routes,
    networks,
    nodes,
    people,
    proposals as proposal_routes,
    queries,
    resets as reset_routes,
    rollback as rollback_routes,
    search as search_routes,
    sources,
    spec_requests as spec_request_routes,
    state,
    system,
    terraform,
    topics as topic_routes,
)
from controlplane.api.services import PortalServices
from controlplane.background.topic_names.index import TopicIndex
from controlplane.fleet.proposals.stream import ProposalFold
from controlplane.portal import (
    agents as agent_pages,
    anomalies as anomaly_pages,
    assets,
    audit,
    broker_settings,
    brokers,
    certificates as certificate_pages,
    change_spec,
    chaos as chaos_pages,
    cluster,
    cluster_verbs,
    comparison,
    failover_orders as failover_order_pages,
    failovers as failover_pages,
    fleet,
    freezes,
    games as game_pages,
    groups,
    history,
    images as image_pages,
    kafka_user_verbs,
    kafka_users as kafka_user_pages,
    loop as loop_pages,
    losses,
    matrix,
    moves,
    new_spec as newspec_pages,
    nodes as node_pages,
    notifiers,
    past,
    people as people_pages,
    proposals as proposal_pages,
    provider as provider_pages,
    resets,
    revocations,
    rollback as rollback_pages,
    rollout,
    signing,
    sources as source_pages,
    takeover as takeover_pages,
    topic_access,
    topic_factor,
    topic_logs,
    topic_settings,
    topic_verbs,
    topics,
)
from controlplane.portal.errors import error_page
from controlplane.portal.frame import PositionNoted

API = (
    clusters,
    search_routes,
    broker_routes,
    figure_routes,
    diff_routes,
    spec_request_routes,
    topic_routes,
    kafka_user_routes,
    queries,
    acls,
    group_routes,
    reset_routes,
    log_routes,
    drift,
    anomalies,
    nodes,
    certificate_routes,
    move_routes,
    networks,
    image_routes,
    failovers,
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
    about,
    system,
    loop_routes,
    machine_routes,
    doctor_routes,
    terraform,
)
PAGES = (
    fleet,
    cluster,
    cluster_verbs,
    losses,
    takeover_pages,
    node_pages,
    rollout,
    brokers,
    broker_settings,
    topics,
    topic_access,
    topic_logs,
    topic_settings,
    topic_factor,
    topic_verbs,
    groups,
    resets,
    kafka_user_pages,
    kafka_user_verbs,
    certificate_pages,
    revocations,
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
    failover_pages,
    failover_order_pages,
    freezes,
    proposal_pages,
    newspec_pages,
    change_spec,
    agent_pages,
    people_pages,
    audit,
    loop_pages,
    notifiers,
)
BESIDE_PAGES = (signing, provider_pages, live, assets)


def create_app(services: PortalServices, *, reports_every_s: float = KEPT_EVERY_S) -> FastAPI:
    """The app. `app.state.feed.close()` sends long polls and live pages away before a stop. Reports of agents that are
    in memory are kept each `reports_every_s`.
    """
    app = FastAPI(
        title="Kedge",
        version=services.operations.version,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        routes=_routes(),
    )
    services = replace(
        services,
        access=replace(
            services.access, proposals=approvals.ProposalService(ProposalFold(services.store, services.clock), services)
        ),
        brokers=replace(
            services.brokers,
            topic_names=services.brokers.topic_names
            or TopicIndex(services.fleet.clusters, services.cluster.latest, services.clock),
        ),
    )
    app.openapi = partial(_described, services.operations.version)  # type: ignore[method-assign]  # as FastAPI's manual does
    app.state.services = services
    app.state.tailer = live.Tailer(services.store, services.fleet.clusters, pairs=services.fleet.failovers.pairs)
    app.state.hooks = Hooks(services.fleet.sources, services.operations.leadership)
    app.state.feed = feed.Feed(services.fleet.clusters, also_close=app.state.tailer.close)
    app.state.history = History()
    app.state.rolls = roll_stages.Rolls(services.store)
    app.state.rated_topics = topic_rates.RatedTopics()
    app.state.uptimes = uptimes.UptimeQueries(services.cluster.latest, services.clock)
    agents_app.serve_agents_by(app, services, reports_every_s=reports_every_s)
    problems.answer_problems(app, error_page)
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
