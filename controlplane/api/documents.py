"""A VM's document as it goes over the wire, with an ETag that ignores the epoch: a new term restarts nothing."""

import hashlib
from dataclasses import dataclass

from agent.wire import OVERLAY_WIRE_VERSION, Document
from controlplane.background.log_reader.topic import logs_topic
from controlplane.background.metric_pipeline.topic import MetricsTo
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_for
from controlplane.fleet.failovers.pair_documents import NO_PART, PairPart
from events.ids import Epoch


@dataclass(frozen=True, slots=True)
class Offer:
    """`body` is the document's JSON, `version` that of the view it was made from, and `pair` what the cluster's pair
    had to say then. Without an `etag` there is none for now."""

    body: str
    etag: str
    version: int
    pair: PairPart = NO_PART


def offer(
    view: ClusterView,
    key: str,
    *,
    epoch: Epoch,
    metrics: MetricsTo | None = None,
    logs: bool = False,
    super_digest: str = "",
    packet_filter: str = "",
    pair: PairPart = NO_PART,
) -> Offer:
    """The document of an instance; with `metrics`, brokers are told where to send some, with `logs` every VM to send
    lines of its logs. `super_digest` is what a ZooKeeper server is to know its super user by, `packet_filter` the rules
    of a VM that filters packets itself, `pair` what its cluster's pair says at brokers.

    Raises LookupError for an instance that is retired or unknown.
    """
    document = document_for(view, key, epoch=epoch)
    if document is None:
        raise LookupError(f"there is no document for {key} of {view.uid}")
    if metrics is not None and view.instances[key].is_broker:
        document = document.model_copy(update={"metrics": metrics.topic_of(view)})
    if logs:
        document = document.model_copy(update={"logs": logs_topic(view)})
    if view.instances[key].is_broker:
        document = _of_pair(document, key, pair)
    if packet_filter:
        document = document.model_copy(update={"packet_filter": packet_filter})
    if super_digest:
        knows = {"super_digest": super_digest}
        services = [s.model_copy(update=knows) if s.name == "zookeeper" else s for s in document.services]
        document = document.model_copy(update={"services": tuple(services)})
    content = document.model_dump_json(exclude={"epoch"})
    etag = hashlib.sha256(content.encode()).hexdigest()[:32]
    return Offer(document.model_dump_json(), etag, view.version, pair)


def _of_pair(document: Document, key: str, pair: PairPart) -> Document:
    if pair.door is not None:
        document = document.model_copy(update={"door": pair.door, "wire": max(document.wire, OVERLAY_WIRE_VERSION)})
    broker = next((service for service in document.services if service.name == "broker"), None)
    if pair.replicator is None or broker is None:
        return document
    return document.model_copy(update={"replicator": pair.replicator.of(key, broker.kafka_version)})


def stale_stop_offer(view: ClusterView) -> Offer:
    """No document, for as long as what it asks for is not found safe again."""
    return Offer("", "", view.version)
