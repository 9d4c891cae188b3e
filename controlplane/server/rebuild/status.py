"""Where one found VM stands in its life, from what its agent was last told and from what Kafka says of it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.cluster.lifecycle import Phase
from controlplane.server.rebuild.evidence import FoundCluster, FoundVm
from events import facts
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class InstanceStatus:
    """A phase, and the flags beside it."""

    phase: Phase
    bound: bool
    drained: bool


def status_of(
    found: FoundCluster, vm: FoundVm, planned: facts.PlannedInstance, siblings: Sequence[facts.PlannedInstance]
) -> InstanceStatus:
    """`siblings` are the other instances of its node.

    What is in doubt is put earlier in its life rather than later: the converger then waits for proof once more.
    """
    older = [s for s in siblings if s.generation < planned.generation]
    newer = [s for s in siblings if s.generation > planned.generation]
    service = vm.service
    if service is None and _is_let_go(found, vm, planned, newer):
        return InstanceStatus(Phase.RELEASED, bound=False, drained=False)
    bound = _is_bound(found, vm, planned)
    if service is None:
        return InstanceStatus(Phase.LAUNCHED, bound, drained=False)
    if service.state == "running":
        is_successor = planned.handover and bool(older)
        arrives = is_successor or (service.log_dirs[0].fresh and not _serves(found.kafka, planned))
        return InstanceStatus(Phase.LAUNCHED if arrives else Phase.JOINED, bound, drained=False)
    if planned.service == "broker" and older and not newer and not planned.handover:
        return InstanceStatus(Phase.FAILED, bound, drained=False)
    if not bound:
        return InstanceStatus(Phase.RELEASED, bound, drained=False)
    if any(_has_moved(found, vm, successor) for successor in newer):
        return InstanceStatus(Phase.FENCED, bound, drained=False)
    hands_over = planned.service == "controller" or any(s.service_id == planned.service_id for s in newer)
    return InstanceStatus(Phase.FENCING, bound, drained=not hands_over)


def _is_let_go(
    found: FoundCluster, vm: FoundVm, planned: facts.PlannedInstance, newer: Sequence[facts.PlannedInstance]
) -> bool:
    """Whether a disk of it is on its way to a later VM of its node, or there: that begins once it is proved stopped."""
    on_the_way = {None, *(s.key for s in newer)} if newer else set()
    return any(v.key in found.volumes and _holder(found, vm, v.key) in on_the_way for v in planned.volumes)


def _has_moved(found: FoundCluster, vm: FoundVm, successor: facts.PlannedInstance) -> bool:
    """Whether its id was passed on: nobody is told to run under it before who had it is proved stopped."""
    service = next((v.service for v in found.vms if v.key == successor.key), None)
    return successor.relieves == vm.key and service is not None and service.state == "running"


def _serves(kafka: KafkaSnapshot | None, planned: facts.PlannedInstance) -> bool:
    if kafka is None:
        return False
    if planned.service == "broker":
        return planned.service_id in kafka.live_brokers()
    directory = planned.volumes[0].directory_id
    return any(m.is_voter and (m.id, m.directory_id) == (planned.service_id, directory) for m in kafka.quorum.members)


def _is_bound(found: FoundCluster, vm: FoundVm, planned: facts.PlannedInstance) -> bool:
    """Whether the VM has what can be handed over: its volumes, and its node's address for a controller that has one."""
    if planned.relieves and vm.service is None:
        return False
    if planned.service == "broker" and not planned.handover and not _is_shared(found, planned):
        return True
    attached = all(_holder(found, vm, v.key) == vm.key for v in planned.volumes)
    address = found.node_addresses.get(planned.node)
    return attached and (planned.service == "broker" or planned.vm_address or address in vm.seen.addresses)


def _is_shared(found: FoundCluster, planned: facts.PlannedInstance) -> bool:
    """Whether another VM of the node was told of the same volume."""
    keys = {v.key for v in planned.volumes}
    others = [v for v in found.vms if v.seen.node == planned.node and v.key != planned.key and v.service]
    held = {key for other in others for key in other.seen.volumes}
    return bool(keys & held)


def _holder(found: FoundCluster, vm: FoundVm, volume: str) -> str | None:
    known = found.volumes.get(volume)
    return known.attached_to if known else vm.key if volume in vm.seen.volumes else None
