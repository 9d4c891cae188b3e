"""What the topics of one file say together, and beside the clusters of the same file."""

from collections.abc import Iterator, Sequence

from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.spec.topic_model import KafkaTopicDocument
from events.spec.topic_rules import check_topic_in, collision_problem

Placed = tuple[KafkaTopicDocument, Positions]


def topics_together(clusters: Sequence[KafkaClusterDocument], topics: Sequence[Placed]) -> Iterator[Problem]:
    """Topics declared twice, names that collide, and what their cluster, if it is in the file, makes impossible."""
    by_name = {cluster.metadata.name: cluster for cluster in clusters}
    seen: dict[tuple[str, str], str] = {}
    for document, where in topics:
        cluster, name = document.spec.cluster, document.topic
        as_in_metrics = cluster, name.replace(".", "_")
        held = seen.get(as_in_metrics)
        if held == name:
            path = ("spec", "topicName") if document.spec.topic_name else ("metadata", "name")
            message = f"the topic `{name}` of {cluster} is declared twice in this file"
            yield where.problem(p.SAME_TOPIC, path, message, "Keep one of the documents.")
        elif held is not None:
            yield collision_problem(document, held, where)
        seen.setdefault(as_in_metrics, name)
        if cluster in by_name:
            yield from check_topic_in(document, by_name[cluster], positions=where)
