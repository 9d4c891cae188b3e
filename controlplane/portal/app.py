"""The HTTP API of `kedge server`, as an ASGI app. It builds nothing: what it needs is handed in."""

from fastapi import FastAPI

from controlplane.portal.feed import Feed
from controlplane.portal.gate import Gate
from controlplane.portal.history import History
from controlplane.portal.problems import answer_problems
from controlplane.portal.routes import agents, clusters, sources, state, system, terraform
from controlplane.portal.services import PortalServices


def create_app(services: PortalServices) -> FastAPI:
    """The app. `app.state.feed.close()` sends long polls away before a stop."""
    app = FastAPI(title="Kedge", version=services.version, openapi_url=None, docs_url=None, redoc_url=None)
    app.state.services = services
    app.state.feed = Feed(services.fleet)
    app.state.history = History()
    app.add_middleware(Gate, services=services)
    answer_problems(app)
    for router in (clusters.router, sources.router, state.router, agents.router, system.router, terraform.router):
        app.include_router(router)
    return app
