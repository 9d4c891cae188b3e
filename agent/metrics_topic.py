"""Makes the metrics topic where it is missing, with the settings the control plane names.

Without it the first message would make it, by Kafka's auto-creation: with one replica and timestamps of the producer.
"""

from agent.wire import MetricsTopic


class TopicNotMade(Exception):
    """Kafka did not make the topic (yet): it does not answer, or too few brokers are up for the replicas. Try later."""


def ensure_topic(bootstrap: str, topic: MetricsTopic, *, timeout_s: float = 10.0) -> None:
    """Makes the topic; one that is there is left as it is. Raises `TopicNotMade`."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = NewTopic(topic.name, topic.partitions, topic.replication, config=dict(topic.config))
    made = admin.create_topics([wanted], operation_timeout=timeout_s, request_timeout=timeout_s)[topic.name]
    try:
        made.result(timeout_s + 5)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise TopicNotMade(f"topic {topic.name} at {bootstrap}: {error}") from error
    except TimeoutError as error:
        raise TopicNotMade(f"topic {topic.name} at {bootstrap}: no answer in {timeout_s:.0f} s") from error
