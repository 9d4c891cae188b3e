"""A cold standby as large as it has to be to take over. Pure."""

from controlplane.cluster.view import ClusterView
from events.spec.model import KafkaClusterDocument
from events.spec.settings import broker_count


def declared_brokers(view: ClusterView | None) -> int | None:
    """How many a cluster is to have; None where no document of it says so."""
    return broker_count(view.document.spec.pools) if view is not None and view.document else None


def grown_to(document: KafkaClusterDocument, brokers: int) -> KafkaClusterDocument:
    """The same with that many brokers, each one more in the smallest pool of brokers, the first of several; as it is
    where it has as many already. It never shrinks: a standby that was the primary has records."""
    pools = list(document.spec.pools)
    places = [place for place, pool in enumerate(pools) if pool.is_broker]
    for _ in range(brokers - broker_count(document.spec.pools) if places else 0):
        smallest = min(places, key=lambda place: pools[place].size)
        pools[smallest] = pools[smallest].model_copy(update={"size": pools[smallest].size + 1})
    return document.model_copy(update={"spec": document.spec.model_copy(update={"pools": tuple(pools)})})
