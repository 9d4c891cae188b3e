"""May the CAs of the user's own that a spec names sign for that cluster? By their files, as they are now."""

from collections.abc import Iterator

from controlplane.cluster.believed_authorities import own_names, root_of
from controlplane.cluster.view import ClusterView
from controlplane.storage.certificates.own_authorities import OwnAuthorities, OwnAuthorityUnusable
from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Path, Problem

_KEYS = {"cluster": "clusterCa", "clients": "clientsCa"}


def own_authority_problems(
    view: ClusterView, document: KafkaClusterDocument, known: OwnAuthorities, positions: Positions
) -> Iterator[Problem]:
    """What refuses a name that the spec in force does not have there: files of one that it has are a condition's, as
    another change must not wait for them."""
    before = own_names(view.document) if view.document is not None else {}
    wanted = own_names(document)
    roots: dict[str, str] = {}
    for kind, name in wanted.items():
        path: Path = ("spec", "security", _KEYS[kind], "own")
        try:
            root = root_of(known.wanted(name).pem)
        except OwnAuthorityUnusable as unusable:
            if before.get(kind) != name:
                fix = "Put that right on the server's machine and apply again, or leave it out: Kedge makes one."
                yield positions.problem(p.OWN_CA_FILES, path, str(unusable), fix)
            continue
        if root in roots.values() and before != wanted:
            message = f"CA `{name}` has the root that nodes are to believe: who signs users could sign a node"
            fix = "Use one with another root, or leave one of the two out: Kedge makes it."
            yield positions.problem(p.OWN_CA, path, message, fix)
        roots[kind] = root
