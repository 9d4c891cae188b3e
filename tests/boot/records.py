"""One record through a broker and back, by a client in a network namespace."""

import sys

from tests.boot.debian_vm import ran

_CLIENT = """
import sys
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
bootstrap, topic, value = sys.argv[1:]
common = {"bootstrap.servers": bootstrap}
admin = AdminClient(common)
for made in admin.create_topics([NewTopic(topic, 1, 1)], operation_timeout=30).values():
    made.result(60)
producer = Producer(common)
producer.produce(topic, value.encode())
assert producer.flush(60) == 0, "not acknowledged"
consumer = Consumer(common | {"group.id": topic})
consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
read = consumer.poll(60)
assert read is not None, "nothing was read"
assert read.error() is None, read.error()
print(read.value().decode())
consumer.close()
"""


def through(namespace: str, bootstrap: str, topic: str, value: str) -> str:
    """What was read of a new topic after `value` was written to it. Raises AssertionError with the client's words."""
    command = ("ip", "netns", "exec", namespace, sys.executable, "-c", _CLIENT, bootstrap, topic, value)
    return ran(*command)
