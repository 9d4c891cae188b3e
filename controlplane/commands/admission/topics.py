"""May these topics come into force in that cluster? Asked by `plan` and by `apply`, so both give one answer."""

from collections import Counter
from collections.abc import Sequence

from controlplane.cluster.view import ClusterView
from controlplane.commands.topic_declaration import declaration_of
from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.spec.topic_model import KafkaTopicDocument
from events.spec.topic_rules import check_topic_change, check_topic_in, collision, collision_problem
from planner.observed import KafkaSnapshot


def topic_problems(
    view: ClusterView,
    cluster: KafkaClusterDocument | None,
    topics: Sequence[tuple[KafkaTopicDocument, Positions]],
    snapshot: KafkaSnapshot | None,
) -> list[Problem]:
    """What refuses these topics in that cluster, warnings too. `cluster` is the document in force, or about to be."""
    if cluster is None:
        return [_homeless(document, where) for document, where in topics]
    there = Counter(p.name.topic for p in snapshot.partitions) if snapshot else Counter[str]()
    known = view.topics.by_name
    names = {name.replace(".", "_"): name for name in (*there, *known)}
    found: list[Problem] = []
    for document, where in topics:
        found += check_topic_in(document, cluster, positions=where)
        before = known.get(document.topic)
        declared = before.declared.partitions if before and before.owned else 0
        found += check_topic_change(document, partitions_before=there[document.topic] or declared, positions=where)
        other = collision(document.topic, [names.get(document.topic.replace(".", "_"), document.topic)])
        if other is not None:
            found.append(collision_problem(document, other, where))
    return found


def is_declared(view: ClusterView, cluster: KafkaClusterDocument, document: KafkaTopicDocument) -> bool:
    """Whether it is declared like this already, wherever from; of a topic that no file declares any more nothing is."""
    known = view.topics.by_name.get(document.topic)
    return known is not None and not known.undeclared and known.declared == declaration_of(document, cluster)


def _homeless(document: KafkaTopicDocument, where: Positions) -> Problem:
    message = f"there is no cluster `{document.spec.cluster}`"
    fix = "Correct the name, or declare the cluster first."
    return where.problem(p.TOPIC_HOME, ("spec", "cluster"), message, fix)
