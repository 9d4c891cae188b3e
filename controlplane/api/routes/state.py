"""/v1/clusters/NAME/state: a living cluster as the document that planners read, offline too."""

from fastapi import APIRouter

from controlplane.api.cluster_lookup import living
from controlplane.api.problems import ApiError
from controlplane.api.schemas import clusters as api, messages as message_api
from controlplane.api.services import Services
from controlplane.cluster.planner_state import cluster_document
from planner.drain.model.observed import RacksMissing

router = APIRouter(prefix=message_api.API_PREFIX, tags=["clusters"])


@router.get("/clusters/{name}/state", responses={409: {"description": "its Kafka was not read yet by this server"}})
def get_state(name: str, services: Services) -> api.StateOut:
    """The state file of the cluster, as its metadata was last read (`at`)."""
    view = living(services, name)
    snapshot = services.fleet.clusters.last_snapshot(view.uid)
    if snapshot is None:
        then = "Try again when its brokers are up: `kedge describe` says what it waits for."
        raise ApiError(409, "kafka-unknown", f"Kafka of {name} was not read yet by this server", next_step=then)
    try:
        document = cluster_document(
            view, snapshot, traffic=services.fleet.clusters.traffic(view.uid), now=services.clock()
        )
    except RacksMissing as missing:
        raise ApiError(409, "racks-missing", f"the racks of {name} are not known", detail=str(missing)) from None
    age_s = max(0.0, (services.clock() - snapshot.at).total_seconds())
    return api.StateOut(cluster=name, at=snapshot.at, age_s=age_s, document=document)
