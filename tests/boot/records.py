"""One record through a broker and back, by a client in a network namespace."""

import sys

from tests.boot.debian_vm import ran

_WRITE = """
import sys
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
bootstrap, topic, value = sys.argv[1:]
common = {"bootstrap.servers": bootstrap}
admin = AdminClient(common)
for made in admin.create_topics([NewTopic(topic, 1, 1)], operation_timeout=30).values():
    made.result(60)
producer = Producer(common)
producer.produce(topic, value.encode())
assert producer.flush(60) == 0, "not acknowledged"
"""

_READ = """
import sys
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
bootstrap, topic = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic})
consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
found = consumer.poll(60)
assert found is not None, "nothing was read"
assert found.error() is None, found.error()
print(found.value().decode())
consumer.close()
"""


def through(namespace: str, bootstrap: str, topic: str, value: str) -> str:
    """What was read of a new topic after `value` was written to it. Raises AssertionError with the client's words."""
    _ran(namespace, _WRITE, bootstrap, topic, value)
    return read(namespace, bootstrap, topic)


def read(namespace: str, bootstrap: str, topic: str) -> str:
    """The first record of a topic. Raises AssertionError with the client's words."""
    return _ran(namespace, _READ, bootstrap, topic)


def _ran(namespace: str, program: str, *told: str) -> str:
    return ran("ip", "netns", "exec", namespace, sys.executable, "-c", program, *told)
