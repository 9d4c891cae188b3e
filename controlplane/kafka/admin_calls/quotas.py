"""Quotas of clients. Neither client library has a call for them: Kafka's own messages (KIP-546), as kafka-python knows
them, are sent."""

from collections.abc import Iterator, Mapping
from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.errors import KafkaUnavailable, fault_of
from planner.rights.step import QuotaChange
from planner.rights.wanted import QuotaEntity

PRODUCER_RATE = "producer_byte_rate"
_DEFAULT_NAME = 1
"""Match type of the entity that stands for whoever has none of its own."""
_CLIENTS = {"user", "client-id"}
"""Entities of clients; another one is an address (`ip`), which has quotas of connections."""


class QuotaCalls(AdminCalls):
    """See `QuotaGateway`."""

    def producer_quota(self) -> float | None:
        what = "reading the default quota of users"
        component = DescribeClientQuotasRequest.ComponentData(entity_type="user", match_type=_DEFAULT_NAME, match=None)
        request = DescribeClientQuotasRequest(components=[component], strict=True)
        with self._call() as (connection, deadline):
            answer = connection.ask(request, what=what, deadline=deadline)
        self._check(answer, what)
        values = [v for entry in answer.entries or () for v in entry.values]
        return next((float(v.value) for v in values if v.key == PRODUCER_RATE), None)

    def set_producer_quota(self, bytes_per_s: float | None) -> None:
        what = "setting the default quota of users' producers"
        request = alteration({(("user", None),): {PRODUCER_RATE: bytes_per_s}})
        with self._call() as (connection, deadline):
            answer = connection.ask(request, what=what, deadline=deadline)
        for told in answer.entries:
            self._check(told, what)

    def client_quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        what = "reading quotas of clients"
        with self._call() as (connection, deadline):
            request = DescribeClientQuotasRequest(components=[], strict=False)
            answer = connection.ask(request, what=what, deadline=deadline)
        self._check(answer, what)
        return {e: values for e, values in quotas_in(answer) if _is_of_many(dict(e))}

    def change_client_quotas(self, changes: Mapping[QuotaEntity, QuotaChange]) -> Mapping[QuotaEntity, str]:
        what = "setting quotas of clients"
        with self._call() as (connection, deadline):
            answer = connection.ask(alteration(changes), what=what, deadline=deadline)
            where = connection.name
        refused: dict[QuotaEntity, str] = {}
        for told in answer.entries:
            if told.error_code:
                fault = fault_of(told.error_code, told.error_message, what=what, where=where)
                if isinstance(fault, KafkaUnavailable):
                    raise fault
                refused[entity_of(told)] = fault.why
        return refused


def _is_of_many(entity: Mapping[str, str | None]) -> bool:
    return entity.get("user") is None and entity.keys() <= _CLIENTS


def alteration(changes: Mapping[QuotaEntity, QuotaChange]) -> Any:
    """The request that makes these changes, an entry for each entity."""
    entry: Any = AlterClientQuotasRequest.EntryData
    entries = [
        entry(
            entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            ops=[entry.OpData(key=k, value=v or 0.0, remove=v is None) for k, v in sorted(change.items())],
        )
        for entity, change in changes.items()
    ]
    return AlterClientQuotasRequest(entries=entries, validate_only=False)


def quotas_in(answer: Any) -> Iterator[tuple[QuotaEntity, dict[str, float]]]:
    """What a description tells, by entity."""
    for entry in answer.entries or ():
        yield entity_of(entry), {v.key: float(v.value) for v in entry.values}


def entity_of(entry: Any) -> QuotaEntity:
    """Whom an entry of an answer is about."""
    return tuple(sorted((e.entity_type, e.entity_name) for e in entry.entity))
