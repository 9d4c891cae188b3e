"""How the demo's own clients sign in: as nobody in plaintext, or each as a user of its own over TLS."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import KafkaError, Producer

from controlplane.kafka.client_access import OneAccess, client_access
from controlplane.kafka.dialer import DirectDialer

Properties = Mapping[str, str]


def _anonymous() -> Properties:
    return MappingProxyType({})


NOBODY = _anonymous()
_ANSWER_S = 20.0


@dataclass(frozen=True, slots=True)
class DemoClients:
    """librdkafka's properties of who writes, who reads, and who watches replicas. None of them is ever shown."""

    writer: Properties = field(default_factory=_anonymous, repr=False)
    reader: Properties = field(default_factory=_anonymous, repr=False)
    watcher: Properties = field(default_factory=_anonymous, repr=False)

    def dialer(self) -> DirectDialer:
        """For the one who watches replicas."""
        return DirectDialer(tls=OneAccess(client_access(self.watcher)) if self.watcher else None)


IN_PLAINTEXT = DemoClients()


def signed_in(user: str, password: str, ca: Path) -> Properties:
    """A user of a SCRAM listener, who believes the cluster's CA alone."""
    return {
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": str(ca),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": password,
    }


def answer_to_a_record(bootstrap: str, client: Properties, topic: str) -> str:
    """What comes of one record: `OK`, or librdkafka's name of why not, as soon as anybody says so."""
    answers: list[str] = []

    def refused(error: KafkaError) -> None:
        answers.append(error.name())

    producer = Producer({**client, "bootstrap.servers": bootstrap, "log_level": 0, "error_cb": refused})
    producer.produce(topic, b"x", on_delivery=lambda error, _: answers.append(error.name() if error else "OK"))
    deadline = time.monotonic() + _ANSWER_S
    while not answers and time.monotonic() < deadline:
        producer.poll(0.1)
    producer.purge()
    return answers[0] if answers else "no answer"
