"""What a cluster's spec declares of quotas, by whom they are for. Pure."""

from collections.abc import Mapping

from controlplane.cluster.view import ClusterView
from events.spec.model import KafkaClusterDocument
from events.spec.quota_rules import values_of
from events.spec.quotas import ClientRates, QuotaRates, UserQuotas
from planner.rights.wanted import QuotaEntity, client_entity, user_entity


def declared_quotas(document: KafkaClusterDocument | None) -> Mapping[QuotaEntity, Mapping[str, int]]:
    """Each entity with all its values; none of single users, whose documents say theirs."""
    if document is None:
        return {}
    quotas = document.spec.quotas
    found = _clients_of((), quotas.client_ids, quotas.default_client_id)
    if quotas.default_user is not None:
        found |= quotas_of_user(None, quotas.default_user)
    return found


def quotas_of_user(user: str | None, quotas: UserQuotas) -> dict[QuotaEntity, Mapping[str, int]]:
    """Its own, and those of it with one client. None: of whoever has none of their own."""
    own = values_of(quotas)
    found = _clients_of(user_entity(user), quotas.by_client_id, quotas.default_client_id)
    return found | ({user_entity(user): own} if own else {})


def quotas_wait(view: ClusterView) -> bool:
    """Whether a change of them is in hand, or the spec declares others than Kafka was last seen to have."""
    known = view.settings.client_quotas
    if known.change is not None:
        return True
    return declared_quotas(view.document) != known.owned and not known.refused


def _clients_of(
    user: QuotaEntity, clients: tuple[ClientRates, ...], default: QuotaRates | None
) -> dict[QuotaEntity, Mapping[str, int]]:
    told: list[tuple[str | None, QuotaRates]] = [(one.client_id, one) for one in clients]
    told += [(None, default)] if default is not None else []
    return {client_entity(name, user): values_of(rates) for name, rates in told}
