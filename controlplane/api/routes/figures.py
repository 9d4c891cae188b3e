"""/v1/clusters/NAME/figures: what its brokers did of late, as their agents measured it."""

from fastapi import APIRouter, Request

from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.figures import figures_out
from controlplane.api.read_models.roll_stages import Rolls
from controlplane.api.schemas import figures as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import Services

router = APIRouter(prefix=API_PREFIX, tags=["brokers"])


@router.get("/clusters/{name}/figures")
def get_figures(request: Request, name: str, services: Services) -> api.FiguresOut:
    """CPU, garbage collections, network, disks and latencies of each broker in its newest minute, and the traffic of
    the last six hours with the steps of the roll in it. By the metric lake: a minute is there some five minutes later.
    """
    view = living(services, name)
    rolls: Rolls = request.app.state.rolls
    return figures_out(services, view, rolls.of(view.uid, view.version).roll)
