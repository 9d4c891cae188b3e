"""The search over everything a caller may read: clusters, their VMs and brokers, and the topics of all of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from controlplane.api.services import PortalServices
from controlplane.background.topic_names.store import TopicsFound
from controlplane.cluster.view import ClusterView

CLUSTER = "cluster"
MOST_THINGS = 1000
"""Clusters and VMs that are told of at all; as many topics are counted."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A cluster or a VM that was found: what it is, its name, what else is known of it, and the page it is on."""

    kind: str
    name: str
    detail: str
    address: str
    cluster: str

    @property
    def id(self) -> str:
        """Its own in a list."""
        return f"cluster/{self.name}" if self.kind == CLUSTER else f"vm/{self.cluster}/{self.name}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a text was found in. `recorded`: clusters whose topics are from an earlier reading, `unread` those of
    which nobody knows any."""

    things: Sequence[Hit]
    more_things: bool
    topics: TopicsFound
    recorded: int
    unread: int


def search_all(services: PortalServices, text: str, *, things: int, topics: int) -> SearchResult:
    """At most so many of each, clusters first, of clusters the caller may read. Topics are those of the last metadata,
    by this server or by one before it. Raises StoreUnavailable."""
    if services.brokers.topic_names is None:
        raise RuntimeError("the app makes an index of topic names where none is given")
    views = [v for v in services.fleet.clusters.views() if not v.deleted]
    hits = list(islice(hits_of(views, text.strip()), things + 1)) if text.strip() else []
    searched = services.brokers.topic_names.search(views, text, most=topics)
    return SearchResult(hits[:things], len(hits) > things, searched.found, searched.recorded, searched.unread)


def hits_of(views: Iterable[ClusterView], text: str) -> Iterator[Hit]:
    """Everything with the text in its name, id or address; clusters first."""
    wanted = text.lower()
    living = [v for v in views if not v.deleted]
    for view in living:
        if wanted in view.name.lower() or wanted == view.uid:
            yield Hit(CLUSTER, view.name, "", f"/clusters/{view.name}", view.name)
    for view in living:
        for i in view.alive():
            address = view.address_of(i)
            if wanted in f"{i.key} {i.cloud_id} {address}".lower() or wanted == str(i.service_id):
                where = f"/clusters/{view.name}/brokers/{i.service_id}" if i.is_broker else f"/clusters/{view.name}"
                detail = ", ".join(part for part in (view.name, i.cloud_id, address, i.planned.rack) if part)
                yield Hit(f"{i.planned.service} {i.service_id}", i.key, detail, where, view.name)
