"""Starts the heartbeats with the real parts, librdkafka among them: one that is kept up, and in every agent already.

One producer and one consumer without a group, whatever the number of brokers; nothing here is in a broker's way.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from agent.heartbeats.beating import HeartbeatLoop, LineDown, beat
from agent.heartbeats.latest import LatestPulses
from agent.wire import Heartbeats

_ASK_S = 3.0
_COMMON = {"log_level": 0, "reconnect.backoff.max.ms": 2000, "socket.connection.setup.timeout.ms": 5000}


def start_heartbeats(
    wanted: Heartbeats,
    /,
    *,
    leaving: threading.Event,
    latest: LatestPulses,
    client: Mapping[str, str] = MappingProxyType({}),
) -> threading.Thread:
    """A daemon thread: neither the agent's passes nor its end wait for it. If it dies its traceback is in agent.out.

    `client`: librdkafka's properties of TLS.
    """

    def run() -> None:
        line = KafkaLine(wanted.bootstrap, wanted.topic, client)
        beat(HeartbeatLoop(wanted, line, time.monotonic, latest), line, leaving=leaving)

    thread = threading.Thread(target=run, name="heartbeats", daemon=True)
    thread.start()
    return thread


class KafkaLine:
    """The way to Kafka by librdkafka. It makes no topic: its consumer asks for one without having it made."""

    def __init__(self, bootstrap: str, topic: str, client: Mapping[str, str] = MappingProxyType({})) -> None:
        from confluent_kafka import Consumer, Producer

        self._topic = topic
        self._producer: Any = Producer(
            {**_COMMON, **client, "bootstrap.servers": bootstrap, "acks": 1, "linger.ms": 0, "message.timeout.ms": 5000}
        )
        self._consumer: Any = Consumer(
            {
                **_COMMON,
                **client,
                "bootstrap.servers": bootstrap,
                "group.id": topic,  # librdkafka wants one; nothing is committed and no group is joined
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                "fetch.wait.max.ms": 2500,  # answered at once when there is a record; the rest is idle talk
                "fetch.error.backoff.ms": 200,
                "topic.metadata.refresh.interval.ms": 30_000,
                "allow.auto.create.topics": False,
            }
        )

    def leaders(self) -> Mapping[int, int]:
        from confluent_kafka import KafkaException

        try:
            metadata = self._consumer.list_topics(self._topic, timeout=_ASK_S).topics[self._topic]
        except KafkaException as error:
            raise LineDown(f"no broker tells who leads: {error.args[0].str()}") from error
        return {} if metadata.error is not None else {n: p.leader for n, p in metadata.partitions.items()}

    def follow(self, partitions: Collection[int]) -> None:
        from confluent_kafka import OFFSET_END, TopicPartition

        self._consumer.assign([TopicPartition(self._topic, n, OFFSET_END) for n in partitions])

    def send(self, partition: int, payload: bytes, done: Callable[[float, str], None]) -> None:
        def report(error: Any, message: Any) -> None:
            done(message.latency() or 0.0, f"not taken: {error.str()}" if error is not None else "")

        try:
            self._producer.produce(self._topic, payload, partition=partition, on_delivery=report)
        except BufferError:
            done(0.0, "not taken: too many wait for an answer")
        self._producer.poll(0)

    def read(self, within_s: float) -> Iterable[bytes]:
        """Polls the consumer, so a record is seen when it comes; the producer measures latencies by itself."""
        message = self._consumer.poll(within_s)
        while message is not None:
            if message.error() is None and message.value() is not None:
                yield message.value()
            message = self._consumer.poll(0)
        self._producer.poll(0)

    def close(self) -> None:
        self._consumer.close()
        self._producer.purge()
        self._producer.flush(1)
