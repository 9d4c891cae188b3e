"""/v1/networks: the networks Kedge makes for clusters, their removal and their repair."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.auth import Actor
from controlplane.api.paging import MOST_ON_A_PAGE, Most, Turning, following
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import networks as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import Services
from controlplane.fleet.networks.address_pool import free_networks
from controlplane.fleet.networks.commands import NetworkStatus

router = APIRouter(prefix=API_PREFIX, tags=["networks"])

AfterNetwork = Annotated[
    str, Query(max_length=600, description="the last of the page before, as CLOUD/ACCOUNT/REGION/NAME")
]


@router.get("/networks")
def list_networks(
    services: Services, rights: Caller, turn: Turning, after: AfterNetwork = "", limit: Most = MOST_ON_A_PAGE
) -> api.NetworksOut:
    """All networks that are not removed, by place and name."""
    rights.require_somewhere(Verb.READ, "networks")
    service = services.fleet.networks
    pool, statuses = service.pool(), service.statuses()
    taken = [*(s.network.cidr for s in statuses), *pool.reserved]
    free = free_networks(pool.cidr, pool.prefix, taken)
    items = turn.page(following([_out(status) for status in statuses], _id_of, after), _id_of, limit)
    return api.NetworksOut(items=items, pool=str(pool.cidr), prefix=pool.prefix, free=free)


@router.post("/networks/{name}/remove")
def remove(
    name: str, body: api.NetworkRemovalIn, services: Services, actor: Actor, key: CommandId
) -> api.NetworkAskedOut:
    """A person wants it gone. Refused while a living cluster names it, or the name was not typed again."""
    sentence = services.fleet.networks.remove(name, **body.model_dump(), actor=actor, command_id=key)
    services.cluster.wake("")
    return api.NetworkAskedOut(name=name, sentence=sentence)


@router.post("/networks/{name}/repair")
def repair(name: str, body: api.NetworkIn, services: Services, actor: Actor, key: CommandId) -> api.NetworkAskedOut:
    """What is missing of it is made again."""
    sentence = services.fleet.networks.repair(name, **body.model_dump(), actor=actor, command_id=key)
    services.cluster.wake("")
    return api.NetworkAskedOut(name=name, sentence=sentence)


def _out(status: NetworkStatus) -> api.NetworkOut:
    network = status.network
    return api.NetworkOut(
        name=network.name,
        cloud=network.place.cloud,
        account=network.place.account,
        region=network.place.region,
        cidr=str(network.cidr),
        state=str(network.state),
        told=status.sentence,
        zones=sorted(network.zones),
        clients=list(network.access.clients),
        broker_ports=list(network.access.ports.brokers),
        member_ports=list(network.access.ports.members),
        port_clients={port: list(clients) for port, clients in network.access.port_clients},
        peers=list(network.access.peers),
        servers=list(network.access.servers),
        overlay_ports=list(network.access.overlay.members),
        open_overlay_ports=list(network.access.overlay.anybody),
        clusters=list(status.clusters),
        since=status.since,
        tries=network.work.tries if network.work else 0,
        error=status.error,
        audited_at=status.audit.at if status.audit else None,
        drifts=[drift.sentence for drift in status.audit.drifts] if status.audit else [],
        audit_error=status.audit.error if status.audit else "",
    )


def _id_of(network: api.NetworkOut) -> str:
    return f"{network.cloud}/{network.account}/{network.region}/{network.name}"
