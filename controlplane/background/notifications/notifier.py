"""The port for telling somebody, and the three ways there are. One contract suite runs over all of them."""

import hashlib
import hmac
import json
import logging
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
from confluent_kafka import KafkaException, Producer
from pydantic import SecretStr

from controlplane.background.notifications.binding import NotifierBinding, NotifierUnusable, kept_secret, require_safe
from controlplane.background.notifications.notice import Notice
from controlplane.kafka.client_properties import client_properties
from controlplane.runtime.egress import Egress, EgressRefused

TIMEOUT_S = 5.0
SIGNATURE = "Kedge-Signature"
"""`t=<seconds>,v1=<hex>`: HMAC-SHA256 of `<seconds>.<body>` with the key of the notifier."""
NOTICE_ID = "Kedge-Notice"

_log = logging.getLogger("kedge.notices")


class NotTold(Exception):
    """It did not get there, or nobody knows whether it did. What now: retry later. Holds no secret."""


class Notifier(Protocol):
    """Contract: tests/contract/test_notifiers.py. At least once: whoever hears it twice sees the same id."""

    def tell(self, notice: Notice) -> None:
        """Returns once it is taken. At most a few seconds. Raises NotTold."""

    def close(self) -> None:
        """Gives back what is held."""


def notifier_of(
    binding: NotifierBinding, clock: Callable[[], datetime], egress: Egress, *, timeout_s: float = TIMEOUT_S
) -> Notifier:
    """The notifier itself. Files are read at each telling, so that a rotated secret needs no restart."""
    if binding.kind == "webhook":
        return Webhook(binding, clock, egress, timeout_s)
    return TopicNotifier(binding, timeout_s) if binding.kind == "kafka" else LogNotifier()


class LogNotifier:
    """A line of the server's own log, JSON in it."""

    def tell(self, notice: Notice) -> None:
        """See Notifier."""
        _log.warning("%s %s", notice.sentence, json.dumps(notice.document(), sort_keys=True))

    def close(self) -> None:
        """Nothing is held."""


class Webhook:
    """A POST of the JSON. Redirects are not followed: a notice goes where it was sent and nowhere else."""

    def __init__(
        self, binding: NotifierBinding, clock: Callable[[], datetime], egress: Egress, timeout_s: float
    ) -> None:
        self._binding, self._clock = binding, clock
        self._egress, self._timeout_s = egress, timeout_s
        self._clients: dict[str, httpx.Client] = {}
        for library in ("httpx", "httpcore"):
            # They log whole URLs and headers: here a URL may be a secret.
            logging.getLogger(library).setLevel(logging.WARNING)

    def tell(self, notice: Notice) -> None:
        """See Notifier. An answer of 2xx is one that took it."""
        body = json.dumps(notice.document(), sort_keys=True).encode()
        try:
            headers = {"Content-Type": "application/json", NOTICE_ID: notice.id, **self._signature(body)}
            url = self._url()
            response = self._client(urlsplit(url).hostname or "").post(url, content=body, headers=headers)
        except EgressRefused as refused:
            raise NotTold(f"{self._binding.where} was not called: {refused}") from None
        except (NotifierUnusable, ValueError) as error:
            raise NotTold(str(error)) from error
        except httpx.HTTPError as error:
            # Its text may name the URL, which may be a secret.
            raise NotTold(f"{self._binding.where} did not answer: {type(error).__name__}") from None
        if not response.is_success:
            raise NotTold(f"{self._binding.where} answered {response.status_code}")

    def close(self) -> None:
        """See Notifier."""
        for client in self._clients.values():
            client.close()

    def _client(self, host: str) -> httpx.Client:
        """One for the host the settings or their file name; a file may come to name another."""
        if host not in self._clients:
            self._clients[host] = self._egress.client({host}, timeout=self._timeout_s, by_proxy=False)
        return self._clients[host]

    def _url(self) -> str:
        binding = self._binding
        url = binding.url
        if not url and binding.url_file is not None:
            url = kept_secret(binding.url_file, f"notifier {binding.name}").get_secret_value()
        require_safe(url, binding.name)
        return url

    def _signature(self, body: bytes) -> dict[str, str]:
        if self._binding.secret_file is None:
            return {}
        key = kept_secret(self._binding.secret_file, f"notifier {self._binding.name}")
        return {SIGNATURE: signature(key, body, int(self._clock().timestamp()))}


def signature(key: SecretStr, body: bytes, at_s: int) -> str:
    """What the header says for a body sent at this time (seconds since 1970)."""
    signed = hmac.new(key.get_secret_value().encode(), f"{at_s}.".encode() + body, hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"


class TopicNotifier:
    """A record of a Kafka topic, keyed by the anomaly, so that the notices of one stay in order."""

    def __init__(self, binding: NotifierBinding, timeout_s: float) -> None:
        self._binding, self._timeout_s = binding, timeout_s
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def tell(self, notice: Notice) -> None:
        """See Notifier. Taken once every replica in sync has it."""
        errors: list[str] = []
        taken = threading.Event()

        def told(error: Any, _message: Any) -> None:
            if error is not None:
                errors.append(error.name())
            taken.set()

        try:
            with self._lock:
                producer = self._made()
                body = json.dumps(notice.document(), sort_keys=True).encode()
                key = notice.anomaly.encode()
                producer.produce(self._binding.topic, body, key=key, headers={NOTICE_ID: notice.id}, on_delivery=told)
                producer.flush(self._timeout_s + 1)
        except (KafkaException, BufferError, NotifierUnusable) as error:
            raise NotTold(f"{self._binding.where}: {type(error).__name__}") from None
        if not taken.is_set() or errors:
            raise NotTold(f"{self._binding.where}: {errors[0] if errors else 'no broker took it in time'}")

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
