"""What a plan says of other listeners, or of another authorization, where nodes speak TLS."""

from collections.abc import Iterable, Iterator, Sequence

from controlplane.cluster.view import ClusterView
from events.quantities import counted, named
from events.spec.change import FieldChange
from events.spec.client_security import ClientSecurity, client_security
from events.spec.model import KafkaClusterDocument
from planner.rollout.diff import Change, NodeChange

_NEW_STARTS = (Change.RESTART, Change.REPLACE)
SECURITY_RESTARTS = "services are started anew in place, one after the other; no VM is replaced"


def security_effects(
    changes: Iterable[FieldChange], document: KafkaClusterDocument, nodes: Sequence[NodeChange]
) -> dict[str, str]:
    """What each changed field comes to, by its path; nothing where nodes speak plaintext."""
    if document.spec.security.internal != "tls":
        return {}
    if any(node.security for node in nodes):
        effect = SECURITY_RESTARTS
    elif any(node.change is Change.REPLACE for node in nodes):
        effect = "comes with the replaced VMs"
    else:
        effect = "changes nothing: the services have it"
    paths = (change.path for change in changes)
    return {path: effect for path in paths if path.startswith(("spec.listeners", "spec.authorization"))}


def security_warnings(old: KafkaClusterDocument | None, new: KafkaClusterDocument) -> list[str]:
    """What clients notice of the step from one spec to the other."""
    before = client_security(old, "broker") if old is not None else None
    after = client_security(new, "broker")
    if before is None or after is None:
        return []
    return [*_noticed(before, after), *_named_anew(before, after)]


def least_rights_notes(view: ClusterView, nodes: Sequence[NodeChange]) -> Iterator[str]:
    """That a start which comes anyway takes Kedge out of the super users, in a cluster of before it had ACLs."""
    if not view.settings.least_rights:
        return
    keys = {node.incumbent.key for node in nodes if node.incumbent is not None and node.change in _NEW_STARTS}
    told = [key for key in sorted(keys) if key in view.instances and not view.instances[key].start.least_rights]
    if told:
        yield (
            f"with this start {counted(len(told), 'service')} ({named(told)}) take Kedge out of super.users: from then "
            "on it works by its ACLs there, which are in place (docs/kafka-security.md)"
        )


def _noticed(before: ClientSecurity, after: ClientSecurity) -> Iterator[str]:
    old, new = ({one.name: one for one in each.listeners} for each in (before, after))
    for name in new:
        if name not in old:
            yield f"listener {name} is whole once the last broker is started anew: let its clients come after that"
    for name, one in old.items():
        if name not in new:
            yield (
                f"listener {name} (port {one.port}) goes: its clients are cut off broker by broker, from the first "
                "restart on; have them move before"
            )
    unasked = ", ".join(name for name, one in new.items() if name in old and not one.asks)
    if before.anonymous and not after.anonymous and unasked:
        yield f"clients of listener {unasked} may do nothing from then on but what rules for User:ANONYMOUS let them"
    if after.anonymous and not before.anonymous:
        yield "whoever is not asked may do everything from then on"


def _named_anew(before: ClientSecurity, after: ClientSecurity) -> Iterator[str]:
    if after.takes_tokens and not before.takes_tokens:
        yield (
            "before a listener asks for tokens nodes get names that no token can have, once in a cluster's life: for "
            "it controllers and brokers are started anew twice each, in place"
        )
