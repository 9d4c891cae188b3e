"""The default quota of users' producers. Neither client library has a call for quotas of users: Kafka's own messages
(KIP-546), as kafka-python knows them, are sent."""

from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from controlplane.kafka.admin_calls.calls import AdminCalls

PRODUCER_RATE = "producer_byte_rate"
_DEFAULT_NAME = 1
"""Match type of the entity that stands for whoever has none of its own."""


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
        entry: Any = AlterClientQuotasRequest.EntryData
        user = entry.EntityData(entity_type="user", entity_name=None)
        change = entry.OpData(key=PRODUCER_RATE, value=bytes_per_s or 0.0, remove=bytes_per_s is None)
        request = AlterClientQuotasRequest(entries=[entry(entity=[user], ops=[change])], validate_only=False)
        with self._call() as (connection, deadline):
            answer = connection.ask(request, what=what, deadline=deadline)
        for told in answer.entries:
            self._check(told, what)
