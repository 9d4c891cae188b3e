"""What keeps a found cluster from being taken over: to go on would be to guess. Pure."""

from collections import Counter
from dataclasses import replace

from controlplane.cluster.places import places_of
from controlplane.cluster.view import empty_view
from controlplane.kafka.features import METADATA, metadata_level_of
from controlplane.server.rebuild.evidence import DeclaredSpec, FoundCluster, RebuildFinding, Weight


def place_refusals(found: FoundCluster, spec: DeclaredSpec) -> list[RebuildFinding]:
    """A spec that cannot have been the one in force."""
    refusals = []
    asked = places_of(replace(empty_view(found.uid), document=spec.document))
    strays = [p for p in found.places if str(p) not in {str(one) for one in asked}]
    if strays:
        there, wanted = ", ".join(map(str, strays)), ", ".join(map(str, asked))
        message = f"its VMs are in {there}; {spec.file} puts it into {wanted}"
        refusals.append(_refusal(found.name, message, "Give the spec that was in force."))
    if spec.document.spec.kafka.mode == "zookeeper":
        message = (
            f"{spec.file} declares a cluster in ZooKeeper mode, which cannot be taken over without its history yet"
        )
        return [*refusals, _refusal(found.name, message, f"Restore a backup, or --leave-out {found.uid}")]
    refusals += _authority_refusals(found, spec)
    if spec.document.spec.external is not None:
        message = f"others run a part of what {spec.file} declares, which cannot be taken over without its history yet"
        return [*refusals, _refusal(found.name, message, f"Restore a backup, or --leave-out {found.uid}")]
    level, version = finalised_level(found), spec.document.spec.kafka.version
    if level > metadata_level_of(version):
        message = f"metadata level {level} is finalised; Kafka {version} of {spec.file} cannot read it"
        refusals.append(_refusal(found.name, message, "Give the newest spec, not an older one."))
    return refusals


def identity_refusals(found: FoundCluster) -> list[RebuildFinding]:
    """VMs, ids and Kafka clusters that cannot all be who they say they are."""
    twice = [key for key, times in Counter(vm.key for vm in found.vms).items() if times > 1]
    refusals = [
        _refusal(key, "two VMs say they are this one", "Find out which serves; shut the other one down.")
        for key in twice
    ]
    ids = {vm.service.cluster_id for vm in found.vms if vm.service}
    ids |= {found.kafka.cluster_id} if found.kafka else set()
    if len(ids) > 1:
        message = f"agents and Kafka name different Kafka clusters: {', '.join(sorted(ids))}"
        refusals.append(_refusal(found.name, message, "Look at what listens at the brokers' addresses."))
    owners: dict[int, set[str]] = {}
    for vm in found.vms:
        if vm.service:
            owners.setdefault(vm.service.node_id, set()).add(vm.seen.node)
    refusals += [
        _refusal(found.name, f"id {number} is used by {' and '.join(sorted(nodes))}")
        for number, nodes in sorted(owners.items())
        if len(nodes) > 1
    ]
    return refusals


def _authority_refusals(found: FoundCluster, spec: DeclaredSpec) -> list[RebuildFinding]:
    """Nodes were born with TLS or without, which no spec changes; and with TLS they believe their own CAs alone."""
    spoken = [vm.service.tls for vm in found.vms if vm.service and vm.service.tls]
    if steps := sorted({tls.step for tls in spoken if tls.step is not None}):
        message = (
            f"it is on its way between plaintext and TLS ({', '.join(steps)}), and which step comes next is in its "
            "history alone: a controller that skips one ends itself"
        )
        return [_refusal(found.name, message, f"Restore a backup, or --leave-out {found.uid}")]
    is_asked = spec.document.spec.security.internal == "tls"
    born = {vm.service.tls is not None for vm in found.vms if vm.service}
    if born and born != {is_asked}:
        speak, says = ("TLS", "plaintext") if True in born else ("plaintext", "TLS")
        message = f"its nodes speak {speak} among themselves, and {spec.file} says {says}"
        return [_refusal(found.name, message, "Give the spec that was in force.")]
    if is_asked and found.authorities is None:
        why = found.authorities_missing or "this home has no copy of those"
        message = f"its nodes believe its own CAs alone, and new ones would be let in by none: {why}"
        files = "cluster-authorities.json and server-key"
        return [_refusal(found.name, message, f"Put {files} back into the home, or --leave-out {found.uid}")]
    return []


def finalised_level(found: FoundCluster) -> int:
    """The finalised metadata.version, 0 when Kafka could not be asked."""
    feature = found.kafka.features.get(METADATA) if found.kafka else None
    return feature.finalised if feature else 0


def _refusal(subject: str, message: str, next_step: str = "") -> RebuildFinding:
    return RebuildFinding(Weight.REFUSES, subject, message, next_step)
