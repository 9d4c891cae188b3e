"""Details of a broker: its effective settings, as it reports them, and what depends on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.groups import TONES
from controlplane.api.presenters.queries import ORIGIN_WORDS
from controlplane.api.read_models.running_settings import applied_settings_of
from controlplane.api.routes.queries import broker_of, dependents_seen
from controlplane.api.services import Services
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.throttle import FOLLOWER_RATE, LEADER_RATE
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page
from planner.broker_answers import ValueOrigin, ValueSeen

router = APIRouter(prefix="/clusters/{name}/brokers/{broker}", tags=["pages"], include_in_schema=False)


MOST_ROWS = 200
"""Of topics and of groups, those with the most; the API has all."""

MIN_ISR = "min.insync.replicas"
"""Kedge sets it for all brokers live: topics without their own would get 1 from a broker's file."""


@dataclass(frozen=True, slots=True)
class RunningRow:
    """One setting: what the broker says of it and who wanted it so."""

    name: str
    seen: ValueSeen
    by: str


@router.get("/dependents")
def broker_dependents(request: Request, name: str, broker: int, services: Services, rights: Caller) -> Response:
    """Who depends on it. A page of its own: brokers are asked for groups, which may take some seconds."""
    view = living(services, name)
    found, kafka, why = dependents_seen(services, view, broker)
    return page(
        request,
        "dependents.html",
        head=head_of(request, services, rights, view),
        tab="brokers",
        broker=broker,
        found=found,
        snapshot=kafka,
        why=why,
        tones=TONES,
        most=MOST_ROWS,
        rates=services.fleet.clusters.traffic(view.uid).words(services.clock()),
        ours=frozenset(i.service_id for i in view.brokers()),
    )


@router.get("/settings")
def broker_settings(
    request: Request,
    name: str,
    broker: int,
    services: Services,
    rights: Caller,
    q: Annotated[str, Query(max_length=100)] = "",
    every: bool = False,
) -> Response:
    """A page of its own: the broker is asked for it, which may take some seconds. `every`: with Kafka's defaults."""
    view = living(services, name)
    instance = broker_of(view, broker)
    found: Mapping[str, ValueSeen] = {}
    why = ""
    try:
        found = services.brokers.kafka_queries.broker_values(view, broker)
    except KafkaFault as fault:
        why = str(fault)
    rows = running_rows(view, instance, found)
    named = [r for r in rows if q.strip().lower() in r.name.lower()]
    return page(
        request,
        "brokersettings.html",
        head=head_of(request, services, rights, view),
        tab="brokers",
        broker=broker,
        rows=[r for r in named if every or r.seen.origin is not ValueOrigin.KAFKA_DEFAULT],
        total=len(named),
        every=every,
        origins=ORIGIN_WORDS,
        why=why,
        q=q,
    )


def running_rows(view: ClusterView, instance: InstanceView, found: Mapping[str, ValueSeen]) -> list[RunningRow]:
    """Every setting the broker told of, by name."""
    return [RunningRow(key, seen, wanted_by(view, instance, key, seen.origin)) for key, seen in sorted(found.items())]


def wanted_by(view: ClusterView, instance: InstanceView, name: str, origin: ValueOrigin) -> str:
    """Whose word a value is: the spec's, Kedge's own, Kafka's, or somebody else's."""
    applied = applied_settings_of(instance) or {}
    match origin:
        case ValueOrigin.KAFKA_DEFAULT:
            return "Kafka"
        case ValueOrigin.FILE:
            return "the spec" if name in applied else "Kedge" if name in instance.settings else "its file"
        case ValueOrigin.BROKER_LIVE if name in view.settings.of_pools.get(instance.planned.pool, {}):
            return f"the spec, of pool {instance.planned.pool}"
        case ValueOrigin.CLUSTER_LIVE | ValueOrigin.BROKER_LIVE if name in view.settings.live:
            return "the spec"
        case ValueOrigin.CLUSTER_LIVE if name == MIN_ISR:
            return "Kedge"
        case _:
            return "a throttle" if name in (LEADER_RATE, FOLLOWER_RATE) else "set by hand"
