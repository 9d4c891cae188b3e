"""Documents of a file about what is in clusters, by the cluster."""

from collections.abc import Iterable
from typing import TypeVar

from controlplane.cluster.commands import DeclaredIn
from events.spec.topic_model import KafkaTopicDocument
from events.spec.user_model import KafkaUserDocument

_D = TypeVar("_D", KafkaTopicDocument, KafkaUserDocument)


def by_cluster(declared: Iterable[DeclaredIn[_D]]) -> dict[str, list[DeclaredIn[_D]]]:
    """In the order of the file."""
    found: dict[str, list[DeclaredIn[_D]]] = {}
    for one in declared:
        found.setdefault(one.document.spec.cluster, []).append(one)
    return found
