"""/v1/clusters/NAME: what brokers say of a topic or of themselves at the moment somebody asks."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from fastapi import APIRouter

from controlplane.api.cluster_lookup import living
from controlplane.api.dependents import Dependents, dependents_of
from controlplane.api.paging import MOST_ON_A_PAGE, AfterNumber, Most, Turning
from controlplane.api.presenters.queries import topic_logs_out, values_out
from controlplane.api.problems import ApiError
from controlplane.api.schemas import messages as message_api, queries as look_api
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.kafka.errors import KafkaFault
from events.spec.settings import spec_config
from planner.observed import KafkaSnapshot

router = APIRouter(prefix=message_api.API_PREFIX, tags=["topics"])

_T = TypeVar("_T")


@router.get("/clusters/{name}/topics/{topic}/logs")
def get_topic_logs(
    name: str, topic: str, services: Services, turn: Turning, after: AfterNumber = -1, limit: Most = MOST_ON_A_PAGE
) -> look_api.TopicLogsOut:
    """Where each log of a topic begins and ends, by its leader's word, and how fast they grow.

    Records per second are known from the second look on, 5 seconds to 10 minutes after the first. Answers are kept for
    10 seconds.
    """
    view = living(services, name)
    out = logs_of(services, view, topic)
    left = sorted((one for one in out.partitions if one.partition > after), key=lambda one: one.partition)
    return out.model_copy(update={"partitions": turn.page(left, lambda one: one.partition, limit)})


@router.get("/clusters/{name}/topics/{topic}/settings")
def get_topic_settings(name: str, topic: str, services: Services) -> look_api.ValuesOut:
    """Every setting of a topic as it counts: where it comes from, what is declared, and what would count without it."""
    view = living(services, name)
    found = asked(view, lambda: services.brokers.kafka_queries.topic_values(view, topic))
    if found is None:
        raise no_topic(view, topic)
    known = view.topics.by_name.get(topic)
    return values_out(view.name, found, (known.declared.config or {}) if known else {})


@router.get("/clusters/{name}/brokers/{broker}/settings", tags=["clusters"])
def get_broker_settings(name: str, broker: int, services: Services) -> look_api.ValuesOut:
    """Every setting a broker runs with, by its own word: where it comes from and what the spec says of it."""
    view = living(services, name)
    pool = broker_of(view, broker).planned.pool
    found = asked(view, lambda: services.brokers.kafka_queries.broker_values(view, broker))
    return values_out(view.name, found, spec_config(view.document, pool) if view.document else {})


@router.get("/clusters/{name}/brokers/{broker}/dependents", tags=["clusters"])
def get_dependents(name: str, broker: int, services: Services) -> look_api.DependentsOut:
    """Who depends on a broker: the groups that read from it, the brokers that copy from it, what is written to it, and
    the partitions nobody else could lead. Groups are asked of the brokers, and kept for 10 seconds."""
    view = living(services, name)
    found, kafka, why = dependents_seen(services, view, broker)
    return look_api.DependentsOut(
        cluster=view.name,
        broker=broker,
        read_at=kafka.at,
        topics=[look_api.LedTopicOut(**asdict(t)) for t in found.topics],
        followers=dict(found.followers),
        sole=[str(p.name) for p in found.sole],
        readers=[look_api.ReaderOut(**asdict(r) | {"clients": list(r.clients)}) for r in found.readers],
        readers_unknown=why,
    )


def dependents_seen(services: PortalServices, view: ClusterView, broker: int) -> tuple[Dependents, KafkaSnapshot, str]:
    """For the API and the page, with the metadata it is by, and why groups are not known. 404 for a broker that is not
    ours, 503 before any metadata was read."""
    broker_of(view, broker)
    kafka = services.fleet.clusters.last_snapshot(view.uid)
    if kafka is None:
        then = f"kedge describe {view.name} says what it waits for; then ask again."
        raise ApiError(503, "kafka-unknown", f"Kafka of {view.name} was not read yet by this server", next_step=then)
    groups, why = None, ""
    try:
        groups = services.brokers.groups.look(view)
    except KafkaFault as fault:
        why = str(fault)
    written = services.fleet.clusters.traffic(view.uid).write_bytes_per_s
    return dependents_of(broker, kafka, written, groups), kafka, why


def logs_of(services: PortalServices, view: ClusterView, topic: str) -> look_api.TopicLogsOut:
    """For the API and the page. 404 for a topic that is not there, 503 while Kafka cannot be asked."""
    found = asked(view, lambda: services.brokers.kafka_queries.topic_logs(view, topic))
    if found is None:
        raise no_topic(view, topic)
    lake = services.brokers.kafka_queries.lake_rates(view)
    return topic_logs_out(
        view.name, topic, found, services.fleet.clusters.traffic(view.uid), lake, now=services.clock()
    )


def broker_of(view: ClusterView, broker: int) -> InstanceView:
    """A broker of ours. 404 for another: one that others run is asked nothing."""
    found = next((i for i in view.brokers() if i.service_id == broker), None)
    if found is None:
        then = f"kedge brokers {view.name} lists them."
        raise ApiError(404, "broker-not-found", f"{view.name} has no broker {broker} of Kedge's", next_step=then)
    return found


def no_topic(view: ClusterView, topic: str) -> ApiError:
    """The answer for a topic Kafka does not have."""
    then = f"kedge topics {view.name} lists them; one that was declared may not be made yet."
    return ApiError(404, "topic-not-found", f"{view.name} has no topic called {topic}", next_step=then)


def asked(view: ClusterView, ask: Callable[[], _T]) -> _T:
    """What brokers say. 503 while they do not."""
    try:
        return ask()
    except KafkaFault as fault:
        then = f"kedge describe {view.name} says how its brokers are; then ask again."
        raise ApiError(
            503, "kafka-unavailable", f"brokers of {view.name} did not tell: {fault}", next_step=then
        ) from fault
