"""The topic of the audit: its last entry, and the next one. Entries are in partition 0, one record each, in order."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.audit.entry import Kept
from controlplane.background.notifications.binding import NotifierUnusable, kept_secret
from controlplane.kafka.client_properties import client_properties
from events.errors import EventsError

VERSION = 1
TIMEOUT_S = 5.0
_PARTITION = 0


class AuditNotSent(EventsError):
    """The topic did not take an entry, or nobody knows whether it did. What now: it is tried again by itself. `why` in
    a few words, for where there is little room.
    """

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why or "not sent"


class AuditTopicForeign(EventsError):
    """What the topic holds is not this audit. What now: a person names another topic, or looks who changed the audit.
    Nothing is written meanwhile.
    """


@dataclass(frozen=True, slots=True)
class Sent:
    """What the topic's last record says of the entry it is."""

    position: int
    sha256: str


class AuditTopic(Protocol):
    """Contract: tests/kafka/test_live_audit_topic.py, on brokers."""

    def last(self) -> Sent | None:
        """The entry of the last record, None where there is no record. Raises AuditNotSent, AuditTopicForeign."""

    def send(self, kept: Kept) -> None:
        """Returns once every replica in sync has it. Raises AuditNotSent."""

    def close(self) -> None:
        """Gives back what is held; what was not taken is sent again."""


def document_of(kept: Kept) -> dict[str, Any]:
    """An entry as its record says it: with `previous` and `sha256`, by which a reader finds one that was changed."""
    entry = asdict(kept.entry) | {"at": kept.entry.at.astimezone(UTC).isoformat(timespec="microseconds")}
    place = {"position": kept.position, "previous": kept.previous, "sha256": kept.sha256}
    return {"audit_version": VERSION, **entry, **place}


class KafkaAuditTopic:
    """An `AuditTopic` on brokers. One record at a time: what is sent after one that failed would hide the gap."""

    def __init__(self, binding: AuditTopicBinding, *, timeout_s: float = TIMEOUT_S) -> None:
        self._binding, self._timeout_s = binding, timeout_s
        self._producer: Producer | None = None

    def last(self) -> Sent | None:
        values = {"group.id": "kedge-audit", "enable.auto.commit": False, "enable.partition.eof": True}
        with self._answered():
            consumer = Consumer({**self._config(), **values})
        try:
            with self._answered():
                return self._last_by(consumer)
        finally:
            consumer.close()

    def send(self, kept: Kept) -> None:
        errors: list[KafkaError | None] = []
        with self._answered():
            producer = self._made()
            producer.produce(
                self._binding.topic,
                json.dumps(document_of(kept), sort_keys=True).encode(),
                key=str(kept.position).encode(),
                partition=_PARTITION,
                on_delivery=lambda error, _message: errors.append(error),
            )
            producer.flush(self._timeout_s + 1)
        if not errors or errors[0] is not None:
            self.close()
            why = errors[0].name() if errors and errors[0] is not None else "no broker took it in time"
            raise self._not_sent(f"entry {kept.position}: {why}")

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer = None

    def _last_by(self, consumer: Consumer) -> Sent | None:
        binding = self._binding
        low, end = consumer.get_watermark_offsets(TopicPartition(binding.topic, _PARTITION), self._timeout_s)
        if low >= end:
            return None
        consumer.assign([TopicPartition(binding.topic, _PARTITION, end - 1)])
        found = consumer.consume(1, timeout=self._timeout_s)
        error = found[0].error() if found else None
        if not found or error is not None:
            raise self._not_sent(f"its last record was not read: {error.name() if error else 'no answer in time'}")
        try:
            document = json.loads(found[0].value() or b"")
            return Sent(int(document["position"]), str(document["sha256"]))
        except (ValueError, KeyError, TypeError):
            raise AuditTopicForeign(
                f"the last record of {binding.where} is not an entry of an audit: [audit_topic] needs a topic of its "
                "own. Nothing is written to it"
            ) from None

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """What goes wrong in here is said as AuditNotSent."""
        try:
            yield
        except NotifierUnusable as error:
            raise AuditNotSent(str(error), "its properties_file is unusable") from error
        except (KafkaException, BufferError) as error:
            why = error.args[0] if error.args else error
            raise self._not_sent(why.name() if isinstance(why, KafkaError) else type(error).__name__) from None

    def _not_sent(self, why: str) -> AuditNotSent:
        return AuditNotSent(
            f"the audit does not reach {self._binding.where}: {why}. Nothing is lost: it goes on from there once the "
            "topic is there and takes records",
            why,
        )

    def _made(self) -> Producer:
        if self._producer is None:
            values = {
                "acks": "all",
                "enable.idempotence": True,
                "max.in.flight.requests.per.connection": 1,  # what is refused is not lost: docs/producers.md
                "message.timeout.ms": int(self._timeout_s * 1000),
                "linger.ms": 0,
            }
            self._producer = Producer({**self._config(), **values})
        return self._producer

    def _config(self) -> dict[str, Any]:
        path = self._binding.properties_file
        own = client_properties(kept_secret(path, "[audit_topic]").get_secret_value()) if path is not None else {}
        return {**own, "bootstrap.servers": ",".join(self._binding.bootstrap), "log_level": 0}
