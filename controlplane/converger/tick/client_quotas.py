"""Carries out a change of quotas, and keeps what Kafka said no to for the next look, which ends the change: one row a
cluster among the latest values; where it is lost Kafka is asked again."""

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.effects import ChangeClientQuotas
from controlplane.converger.situation.ports import Ports
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from planner.rights.wanted import entity_words

QUOTA_REFUSAL = "quota-refusal"
"""Kind of the latest-value row: what of a change of quotas was refused, in words."""

_NAMED = 3


def change_client_quotas(effect: ChangeClientQuotas, view: ClusterView, ports: Ports) -> str:
    """Makes the change as far as Kafka takes it. Returns what was refused, in words, or "". Raises KafkaFault."""
    refused = ports.kafka(view).change_client_quotas(effect.changes)
    if not refused:
        return ""
    said = "; ".join(f"{entity_words(entity)}: {why}" for entity, why in list(refused.items())[:_NAMED])
    row = {"change": effect.change, "refused": said}
    ports.latest.put(LatestValue(Subject(QUOTA_REFUSAL, view.uid, "change"), row, "converger", ports.clock()))
    return f"Kafka refused quotas: {said}"


def refusal_of(latest: LatestStore, view: ClusterView) -> str:
    """Why Kafka said no to the change in hand, "" where it did not, or has not been asked."""
    change = view.settings.client_quotas.change
    row = latest.get(Subject(QUOTA_REFUSAL, view.uid, "change")) if change is not None else None
    if row is None or change is None or row.value.get("change") != change.id:
        return ""
    return str(row.value.get("refused") or "")
