"""/v1/metrics for Prometheus: as much of the fleet as the caller may see, and the server's own process."""

from collections.abc import Callable, Iterator

from fastapi import APIRouter
from prometheus_client import ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import CollectorRegistry
from starlette.responses import PlainTextResponse, Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.metrics.families import agents_process_families, families
from controlplane.api.metrics.gather import process_snapshot, server_snapshot
from controlplane.api.metrics.snapshot import ServerSnapshot
from controlplane.api.schemas import messages as message_api
from controlplane.api.services import Services

router = APIRouter(prefix=message_api.API_PREFIX, tags=["system"])


class _Collected:
    """One snapshot as a collector of `prometheus_client`."""

    def __init__(self, snapshot: ServerSnapshot, told: Callable[[ServerSnapshot], Iterator[Metric]]) -> None:
        self._snapshot, self._told = snapshot, told

    def collect(self) -> Iterator[Metric]:
        return self._told(self._snapshot)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(services: Services, rights: Caller) -> Response:
    """Prometheus text. Scrape it with the installation's token as bearer, every 15 s or slower."""
    rights.require_somewhere(Verb.READ, "metrics")
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    if services.operations.part == "agents":
        registry.register(_Collected(process_snapshot(services), agents_process_families))
    else:
        registry.register(_Collected(server_snapshot(services), families))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
