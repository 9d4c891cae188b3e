"""Makes a topic of agents where it is missing, with the settings the control plane names.

Without it the first message would make it, by Kafka's auto-creation: with one replica and timestamps of the producer.
"""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType

from agent.wire import AgentTopic

_log = logging.getLogger(__name__)

_PAUSE_S = 15.0


class TopicNotMade(Exception):
    """Kafka did not make the topic (yet): it does not answer, or too few brokers are up for the replicas. Try later."""


def topic_is_there(
    bootstrap: str,
    topic: AgentTopic,
    what: str,
    *,
    pause: Callable[[float], bool],
    client: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Tries until it is; False when `pause` says that it is time to leave. `what` waits for it. `client`: librdkafka's
    properties of TLS."""
    is_logged = False
    while True:
        try:
            ensure_topic(bootstrap, topic, client=client)
        except TopicNotMade as error:
            if not is_logged:
                _log.warning("%s wait: %s", what, error)
            is_logged = True
        else:
            return True
        if pause(_PAUSE_S):
            return False


def ensure_topic(
    bootstrap: str,
    topic: AgentTopic,
    *,
    timeout_s: float = 10.0,
    client: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Makes the topic; one that is there is left as it is. Raises `TopicNotMade`."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({**client, "bootstrap.servers": bootstrap, "log_level": 0})
    wanted = NewTopic(topic.name, topic.partitions, topic.replication, config=dict(topic.config))
    made = admin.create_topics([wanted], operation_timeout=timeout_s, request_timeout=timeout_s)[topic.name]
    try:
        made.result(timeout_s + 5)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise TopicNotMade(f"topic {topic.name} at {bootstrap}: {error}") from error
    except TimeoutError as error:
        raise TopicNotMade(f"topic {topic.name} at {bootstrap}: no answer in {timeout_s:.0f} s") from error
