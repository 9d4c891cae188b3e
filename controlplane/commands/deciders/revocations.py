"""The decision on the revocation of what one VM was given, and the plan of it in words. Pure.

It is for an emergency: it waits for nothing, and what cannot follow it now does not keep it from being recorded.
"""

from controlplane.cluster.commands import CommandRefused, ReplaceAuthority, ReplaceNode, RevokeCertificates
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.deciders.authorities import authority_replacement_asked
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.commands.deciders.nodes import how_it_is_replaced
from events import facts


def revocation_asked(view: ClusterView, command: RevokeCertificates, known: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused where the name is not typed out, or no VM, or more than one, is meant."""
    if command.confirm != view.name:
        message = f"to revoke certificates of {view.name} its name must be typed out; {command.confirm!r} is not it"
        raise CommandRefused("name-mismatch", message, f"{_again(view, command.node)} --confirm {view.name}")
    instance = _meant(view, command.node)
    replaces = instance.phase is Phase.JOINED and not instance.lost and instance.key not in view.requests.to_replace
    is_new = instance.key not in view.vms.revoked
    authority, what_of_ca = _of_authority(view, command, known)
    if not is_new and not replaces:
        since = f"{view.vms.revoked[instance.key]:%Y-%m-%d %H:%M} UTC"
        return CommandDecision(authority, f"{instance.key} is revoked since {since}. {what_of_ca}")
    fact = facts.CertificatesRevoked(instance.key, asked_by(command, command.reason), replaces)
    sentence = f"{_of_agent(view, instance)}. {_of_node(view, instance, command, replaces=replaces)}. {what_of_ca}"
    return CommandDecision(authority or fact, sentence, before=fact if authority is not None else None)


def _meant(view: ClusterView, name: str) -> InstanceView:
    there = [i for i in view.alive() if name in (i.node, i.key)]
    if not there:
        nodes = ", ".join(sorted({i.node for i in view.alive()})) or "none"
        raise CommandRefused("unknown-node", f"{view.name} has no node `{name}`", f"Nodes: {nodes}.")
    if len(there) > 1:
        keys = " or ".join(i.key for i in there)
        message = f"{name} of {view.name} has {len(there)} VMs: it is being replaced"
        raise CommandRefused("name-one", message, f"Name one of them: {keys}.")
    return there[0]


def _of_agent(view: ClusterView, instance: InstanceView) -> str:
    signed = "agent or node certificate" if view.nodes_speak_tls else "certificate"
    return (
        f"from now on the agent of {instance.key} is not recognised, and no {signed} is signed for it; what its "
        "service runs with goes on, and Kedge cannot stop it"
    )


def _of_node(view: ClusterView, instance: InstanceView, command: RevokeCertificates, *, replaces: bool) -> str:
    if instance.lost:
        return "Its VM is gone, and is replaced without being asked"
    if instance.key in view.requests.to_replace:
        return f"It is to be replaced already, {view.requests.to_replace[instance.key].reason}. {_POWER_OFF}"
    if not replaces:
        return f"It is {instance.phase}, on its way in or out, and that goes on as with any agent that is silent"
    order = ReplaceNode(
        name=view.name, actor=command.actor, command_id=command.command_id, reason="", node=command.node
    )
    return f"It is replaced by a new VM, {how_it_is_replaced(view, instance, order)}. {_POWER_OFF}"


def _of_authority(view: ClusterView, command: RevokeCertificates, known: Lookups) -> tuple[object | None, str]:
    """What is recorded for the cluster CA, and what is said of it. What is refused there is said, and refuses nothing
    here."""
    if not view.nodes_speak_tls or view.vms.authorities is None:
        return None, "Nodes of this cluster have no certificates"
    opens = (
        "Kafka asks no revocation list: the certificate it has opens the cluster until the cluster CA is replaced, or "
        "it ends; close the network to it"
    )
    again = f"kedge replace-ca {view.name}"
    if not command.replace_ca:
        return None, f"{opens}. Replace that CA, too: {again}, once the node is replaced, or at once: --replace-ca"
    order = ReplaceAuthority(
        name=view.name, actor=command.actor, command_id=command.command_id, reason=command.reason, kind="cluster"
    )
    try:
        decided = authority_replacement_asked(view, order, known)
    except CommandRefused as refused:
        return None, f"{opens}. The CA is not replaced now, as {refused}. Later: {again}"
    return decided.fact, f"{opens}. {decided.sentence}"


def _again(view: ClusterView, node: str) -> str:
    return f"kedge revoke-certificates {view.name} {node}"


_POWER_OFF = (
    "Kedge deletes no VM whose service may run: power this one off in the cloud, whose word is proof, at once or when "
    "`kedge describe` asks for it"
)
