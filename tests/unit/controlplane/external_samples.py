"""Samples of what is recorded of clusters that others made, and the states in which it may happen."""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.external import ExternalBrokerView, ExternalView
from events import facts
from tests.builders import BEFORE, a_view
from tests.changed_view import changed_view
from tests.external_clusters import CLUSTER_ID

_VOTER = facts.FoundingVoter("external-9", 9, "theirs.example", 9093, "")
_FOUND = (facts.ExternalBrokerFound(1, "a", "theirs-1.example", 9092),)

EXTERNAL_SAMPLES: tuple[object, ...] = (
    facts.ClusterImported(CLUSTER_ID, "4.1", (_VOTER,), _FOUND, 1010),
    facts.ExternalFound(_FOUND),
    facts.ExternalQuorumChanged((_VOTER,)),
    facts.ExternalDrained("", (1,), 600, 12),
    facts.ExternalStopped(1),
    facts.ExternalReturned(1, "it serves again"),
    facts.ExternalLeft(1),
)


def external_states() -> Mapping[type, ClusterView]:
    """Where each of them may happen."""
    there = ExternalBrokerView(1, "a", "theirs-1.example:9092")
    serving, empty = _with(there), _with(replace(there, empty_at=BEFORE))
    stopped = _with(replace(there, empty_at=BEFORE, stopped_at=BEFORE))
    return {
        facts.ClusterImported: changed_view(a_view(), instances={}, founding=None),
        facts.ExternalFound: a_view(external=ExternalView(CLUSTER_ID, {})),
        facts.ExternalQuorumChanged: serving,
        facts.ExternalDrained: serving,
        facts.ExternalStopped: empty,
        facts.ExternalReturned: stopped,
        facts.ExternalLeft: stopped,
    }


def _with(broker: ExternalBrokerView) -> ClusterView:
    return a_view(external=ExternalView(CLUSTER_ID, {broker.id: broker}))
