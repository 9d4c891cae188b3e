"""Topics on real brokers for tests: made and filled with a client that is not the code under test."""

from collections.abc import Mapping, Sequence

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.waiting import until

_RECORD_BYTES = 50_000


def create_topic(
    bootstrap: Sequence[str],
    name: str,
    *,
    partitions: int,
    rf: int,
    min_isr: int | None = None,
    bytes_per_partition: int = 0,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Create, wait until every partition has a leader, fill with incompressible-enough filler, acks=all."""
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": ",".join(bootstrap), "log_level": 0}
    admin = AdminClient(servers)
    config = dict(settings or {}) | ({} if min_isr is None else {"min.insync.replicas": str(min_isr)})
    admin.create_topics([NewTopic(name, partitions, rf, config=config)])[name].result(20)

    def is_led() -> bool:
        found = admin.list_topics(timeout=5).topics.get(name)
        return (
            found is not None
            and len(found.partitions) == partitions
            and all(p.leader >= 0 for p in found.partitions.values())
        )

    until(is_led, f"leaders of {name}")
    if bytes_per_partition:
        producer = Producer({**servers, "acks": "all", "linger.ms": 20, "enable.idempotence": True})
        for _ in range(-(-bytes_per_partition // _RECORD_BYTES)):
            for partition in range(partitions):
                while True:
                    try:
                        producer.produce(name, b"x" * _RECORD_BYTES, partition=partition)
                        break
                    except BufferError:
                        producer.poll(0.1)
        assert producer.flush(60) == 0
