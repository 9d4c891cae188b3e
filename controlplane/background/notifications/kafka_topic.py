"""A record of a Kafka topic for each notice."""

import json
import threading
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaException, Producer

from controlplane.background.notifications.binding import NotifierBinding, NotifierUnusable, kept_secret
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.webhook import NOTICE_ID
from controlplane.kafka.client_properties import client_properties


class TopicNotifier:
    """A record of a Kafka topic, keyed by the anomaly, so that the notices of one stay in order."""

    def __init__(self, binding: NotifierBinding, timeout_s: float) -> None:
        self._binding, self._timeout_s = binding, timeout_s
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def tell(self, notices: Sequence[Notice]) -> None:
        """See Notifier. Taken once every replica in sync has it."""
        for notice in notices:
            self._send(notice)

    def _send(self, notice: Notice) -> None:
        errors: list[str] = []
        taken = threading.Event()

        def on_delivery(error: Any, _message: Any) -> None:
            if error is not None:
                errors.append(error.name())
            taken.set()

        try:
            with self._lock:
                producer = self._made()
                body = json.dumps(notice.document(), sort_keys=True).encode()
                key = notice.anomaly.encode()
                producer.produce(
                    self._binding.topic, body, key=key, headers={NOTICE_ID: notice.id}, on_delivery=on_delivery
                )
                producer.flush(self._timeout_s + 1)
        except (KafkaException, BufferError, NotifierUnusable) as error:
            raise NotDelivered(f"{self._binding.where}: {type(error).__name__}") from None
        if not taken.is_set() or errors:
            raise NotDelivered(f"{self._binding.where}: {errors[0] if errors else 'no broker took it in time'}")

    def close(self) -> None:
        """See Notifier. What is still on its way is dropped: it is in the outbox."""
        with self._lock:
            if self._producer is not None:
                self._producer.purge()
                self._producer = None

    def _made(self) -> Producer:
        if self._producer is None:
            config = {
                "bootstrap.servers": ",".join(self._binding.bootstrap),
                "acks": "all",
                "enable.idempotence": True,
                "max.in.flight.requests.per.connection": 1,  # what is refused is not lost: docs/producers.md
                "message.timeout.ms": int(self._timeout_s * 1000),
                "log_level": 0,
            }
            self._producer = Producer({**config, **self._properties()})
        return self._producer

    def _properties(self) -> dict[str, str]:
        path = self._binding.properties_file
        if path is None:
            return {}
        return client_properties(kept_secret(path, f"notifier {self._binding.name}").get_secret_value())
