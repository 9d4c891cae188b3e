"""What a person should know of a cluster before it is resumed: what differs, what was assumed, what goes on. Pure."""

from collections.abc import Mapping

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.documents import document_after_release
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.server.rebuild.evidence import FoundCluster, RebuildFinding, Weight
from controlplane.server.rebuild.instances import PlacedInstance
from planner.rollout.diff import Change

_WORDS = {
    Change.CREATE: "made",
    Change.REPLACE: "replaced",
    Change.RESTART: "restarted",
    Change.GROW: "given a larger disk",
    Change.REMOVE: "drained and removed",
    Change.KEEP: "kept",
}


def remarks_on_vms(placed: Mapping[str, PlacedInstance]) -> list[RebuildFinding]:
    differs = [
        RebuildFinding(Weight.DIFFERS, key, "; ".join(p.differs)) for key, p in sorted(placed.items()) if p.differs
    ]
    assumed = [
        RebuildFinding(Weight.ASSUMED, key, f"{', '.join(p.assumed)}: as the spec has it")
        for key, p in sorted(placed.items())
        if p.assumed
    ]
    return [*differs, *assumed]


def remarks_on_kafka(found: FoundCluster, by_key: Mapping[str, int]) -> list[RebuildFinding]:
    if found.kafka is None:
        message = f"Kafka could not be asked: {found.kafka_missing or 'no broker has an address'}"
        return [RebuildFinding(Weight.ASSUMED, found.name, f"{message}; agents' documents alone say who serves")]
    remarks = [
        RebuildFinding(
            Weight.DIFFERS, f"broker {b}", "Kafka knows it, no VM runs it", "Its replicas have to be moved by hand."
        )
        for b in sorted(set(found.kafka.brokers) - set(by_key.values()))
    ]
    moving = found.kafka.moving()
    if moving:
        message = f"{len(moving)} partitions are being moved; they are let finish"
        remarks.append(RebuildFinding(Weight.NOTED, found.name, message))
    return remarks


def remarks_on_release(found: FoundCluster, view: ClusterView) -> list[RebuildFinding]:
    """What the converger would have to do, and which agents would be told something new, once it is resumed."""
    remarks = [
        RebuildFinding(Weight.DIFFERS, c.node, f"{c.reason}: {_WORDS[c.change]} once it is resumed")
        for c in pending_changes(view)
        if c.change is not Change.KEEP
    ]
    on_their_way = [i for i in view.alive() if i.phase is not Phase.JOINED]
    remarks += [RebuildFinding(Weight.NOTED, i.key, f"taken up where it stands: {i.phase}") for i in on_their_way]
    attached = {v.key for i in view.alive() for v in i.planned.volumes}
    remarks += [
        RebuildFinding(Weight.NOTED, key, "a volume no VM of this cluster needs: left alone")
        for key in sorted(set(found.volumes) - attached)
    ]
    for vm in found.vms:
        after = document_after_release(view, vm.key)
        if vm.service is not None and after is not None and vm.document is not None:
            changed = _changes(vm.service.model_dump(), after.services[0].model_dump() if after.services else {})
            if changed:
                remarks.append(
                    RebuildFinding(Weight.DIFFERS, vm.key, f"its agent is told something new: {', '.join(changed)}")
                )
    return remarks


def remarks_on_certificates(found: FoundCluster) -> list[RebuildFinding]:
    if found.authorities is None:
        return []
    message = "until when its nodes' certificates count was in the history that is lost: no condition tells before"
    next_step = f"Once it is resumed: kedge restart {found.name} --rolling, which gives each node a new one"
    return [RebuildFinding(Weight.NOTED, found.name, message, next_step)]


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Fields that differ; that a used disk is called used is no news."""

    def used(service: Mapping[str, object]) -> dict[str, object]:
        dirs = service.get("log_dirs")
        return {
            **service,
            "log_dirs": [{**d, "fresh": False} for d in dirs] if isinstance(dirs, tuple | list) else None,
        }

    was, then = used(before), used(after)
    return sorted(k for k in {*was, *then} if was.get(k) != then.get(k))
