"""Which brokers of a cluster are in which set, by its spec in force: whose topics stay where."""

from controlplane.cluster.view import ClusterView
from controlplane.runtime.once import once
from events.spec.broker_set_rules import broker_sets_of
from events.spec.broker_sets import NO_SETS, BrokerSets


@once
def broker_sets(view: ClusterView) -> BrokerSets:
    """Brokers that are leaving are in the set of their pool; those of a pool the spec has no more are in none."""
    if view.document is None or not view.document.spec.balance.broker_sets:
        return NO_SETS
    return broker_sets_of(view.document.spec.balance, {i.service_id: i.planned.pool for i in view.brokers()})
