"""May these users come into force in that cluster? Asked by `plan` and by `apply`, so both give one answer."""

from collections.abc import Sequence

from controlplane.cluster.view import ClusterView
from controlplane.commands.user_declaration import user_declaration_of
from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.spec.user_model import KafkaUserDocument
from events.spec.user_rules import check_user_change, check_user_in


def user_problems(
    view: ClusterView, cluster: KafkaClusterDocument | None, users: Sequence[tuple[KafkaUserDocument, Positions]]
) -> list[Problem]:
    """What refuses these users in that cluster, warnings too. `cluster` is the document in force, or about to be."""
    if cluster is None:
        return [_homeless(document, where) for document, where in users]
    found: list[Problem] = []
    for document, where in users:
        found += check_user_in(document, cluster, positions=where)
        before = view.users.by_name.get(document.user)
        if before is not None:
            found += check_user_change(document, type_before=before.declared.authentication, positions=where)
    return found


def is_declared(view: ClusterView, document: KafkaUserDocument) -> bool:
    """Whether it is declared like this already, wherever from; of a user that no file declares any more nothing is."""
    known = view.users.by_name.get(document.user)
    return known is not None and not known.undeclared and known.declared == user_declaration_of(document)


def _homeless(document: KafkaUserDocument, where: Positions) -> Problem:
    message = f"there is no cluster `{document.spec.cluster}`"
    fix = "Correct the name, or declare the cluster first."
    return where.problem(p.USER_HOME, ("spec", "cluster"), message, fix)
