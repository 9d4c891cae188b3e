"""/v1/clusters/NAME/brokers: the table of brokers, what each holds, and the matrix of leaders and followers."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from controlplane.api.cluster_lookup import living
from controlplane.api.paging import MOST_ON_A_PAGE, AfterId, AfterNumber, Most, Turning, following
from controlplane.api.problems import ApiError
from controlplane.api.read_models.brokers import BrokerRow, broker_rows, chosen, hosted_like, role_on
from controlplane.api.read_models.leader_matrix import LeaderMatrix, leader_matrix
from controlplane.api.read_models.uptimes import UptimeQueries
from controlplane.api.routes.topics import is_recorded, topics_seen
from controlplane.api.schemas import brokers, messages as message_api
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.view import ClusterView
from planner.observed import KafkaSnapshot, PartitionSeen

router = APIRouter(prefix=message_api.API_PREFIX, tags=["brokers"])

Text = Annotated[str, Query(max_length=100, description="a part of its id, VM, address, zone, version or image")]
Topic = Annotated[str, Query(max_length=250, description="a part of the partition's name, as in `payments-1`")]


@router.get("/clusters/{name}/brokers")
def list_brokers(
    request: Request,
    name: str,
    services: Services,
    turn: Turning,
    q: Text = "",
    after: AfterNumber = -1,
    limit: Most = MOST_ON_A_PAGE,
) -> brokers.BrokersOut:
    """Every broker whose VM may exist, and those that others run: what it holds and leads, how full and busy it is."""
    view = living(services, name)
    found = chosen(brokers_of(request, services, view), text=q, sort="id", down=False)
    return brokers.BrokersOut(
        cluster=view.name,
        **_seen(services, view, topics_seen(services, view.uid)),
        brokers=[_broker(row) for row in turn.page([r for r in found if r.id > after], lambda r: r.id, limit)],
        total=len(found),
    )


@router.get("/clusters/{name}/brokers/{broker}/partitions")
def list_hosted(
    name: str,
    broker: int,
    services: Services,
    turn: Turning,
    q: Topic = "",
    after: AfterId = "",
    limit: Most = MOST_ON_A_PAGE,
) -> brokers.HostedPartitionsOut:
    """The partitions a broker has a replica of, and what it is to each. `after` is the last as TOPIC-PARTITION."""
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    ours = {i.service_id for i in view.brokers()}
    if broker not in ours and (snapshot is None or broker not in snapshot.brokers):
        then = f"GET /v1/clusters/{name}/brokers lists them."
        raise ApiError(404, "broker-not-found", f"{name} has no broker {broker}", next_step=then)
    found = hosted_like(snapshot.hosted_by(broker) if snapshot else (), q)
    page = turn.page(following(found, lambda p: str(p.name), after), lambda p: p.name, limit)
    return brokers.HostedPartitionsOut(
        cluster=view.name,
        broker=broker,
        **_seen(services, view, snapshot),
        partitions=[_hosted(broker, p, snapshot) for p in page],
        total=len(found),
    )


@router.get("/clusters/{name}/matrix")
def get_matrix(
    name: str, services: Services, turn: Turning, after: AfterNumber = -1, limit: Most = MOST_ON_A_PAGE
) -> brokers.MatrixOut:
    """For each pair of brokers, how many partitions the one leads have a replica on the other."""
    view = living(services, name)
    snapshot = topics_seen(services, view.uid)
    matrix = leader_matrix(snapshot) if snapshot else LeaderMatrix((), (), (), 0, 0)
    behind = [pair for pair in zip(matrix.rows, matrix.follows, strict=True) if pair[0].broker > after]
    return brokers.MatrixOut(
        cluster=view.name,
        **_seen(services, view, snapshot),
        rows=[
            brokers.MatrixRowOut.like(
                row,
                followed_by={b: cell.count for b, cell in zip(matrix.brokers, row.cells, strict=True) if cell.count},
                follows=follows,
            )
            for row, follows in turn.page(behind, lambda pair: pair[0].broker, limit)
        ],
        total=len(matrix.rows),
        leaderless=matrix.leaderless,
    )


def brokers_of(request: Request, services: PortalServices, view: ClusterView) -> list[BrokerRow]:
    """The table of brokers, for the API and the pages. Raises StoreUnavailable."""
    uptimes: UptimeQueries = request.app.state.uptimes
    return broker_rows(
        view,
        topics_seen(services, view.uid),
        services.fleet.clusters.traffic(view.uid),
        uptimes.of(view.uid),
        recorded=is_recorded(services, view.uid),
        console_page=services.cluster.console_page,
    )


def _seen(services: PortalServices, view: ClusterView, snapshot: KafkaSnapshot | None) -> dict[str, Any]:
    age_s = max(0.0, (services.clock() - snapshot.at).total_seconds()) if snapshot else None
    return {"metadata_age_s": age_s, "recorded": snapshot is not None and is_recorded(services, view.uid)}


def _broker(row: BrokerRow) -> brokers.BrokerOut:
    return brokers.BrokerOut.like(
        row,
        kafka_version=row.version,
        state=row.figures.state,
        is_controller=row.figures.is_controller,
        leaders=row.figures.leaders,
        replicas=row.figures.replicas,
        in_sync=row.figures.in_sync,
        disk_used_bytes=row.figures.disk_used_bytes,
        disk_total_bytes=row.figures.disk_total_bytes,
        write_bytes_per_s=row.figures.write_bytes_per_s,
        read_bytes_per_s=row.figures.read_bytes_per_s,
        leader_skew=row.figures.leader_skew,
        leader_skew_level=row.figures.leader_level,
        replica_skew=row.figures.replica_skew,
        replica_skew_level=row.figures.replica_level,
        disk_level=row.figures.disk_level,
    )


def _hosted(broker: int, seen: PartitionSeen, snapshot: KafkaSnapshot | None) -> brokers.HostedOut:
    return brokers.HostedOut.like(
        seen,
        topic=seen.name.topic,
        partition=seen.name.partition,
        role=role_on(broker, seen),
        size_bytes=snapshot.bytes_of(seen) if snapshot is not None else None,
    )
