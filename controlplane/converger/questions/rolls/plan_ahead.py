"""Plans a drain while the successor still boots. Planning changes nothing, so it needs no intent; it only saves time.

The plan is used only if the drain that is then requested is the very one that was foreseen (`plan_job_id` says so), a
move of it only while its partition is as the plan found it, and a batch only if the disks, which it had to assume
empty, have room for all that is still to come (`disk_room`).
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.instances import InstanceView
from events.ids import derived_id
from events.quantities import GIB
from planner.observed import BrokerSeen, KafkaSnapshot, LogDirSeen, LogDirsSeen


def plan_job_id(drain: DrainView) -> str:
    """Each try to plan a drain is a job of its own; another drain, or the same with other brokers, is another job."""
    asked = f"{drain.outgoing}{sorted(drain.successors.items())}{sorted(drain.targets)}"
    return f"{derived_id('plan', drain.id, asked)}.{drain.planning.tries}"


def foreseen_drain(view: ClusterView, now: datetime) -> DrainView | None:
    """The drain that will be requested when the brokers now on their way have joined, None when none will."""
    arriving = [i for i in view.in_phase(Phase.LAUNCHED) if i.is_broker and not i.lost]
    pairs = [(old, new) for new in arriving if (old := _predecessor(view, new)) is not None]
    if view.moves.drain is not None or not pairs or len(pairs) < len(arriving):
        return None
    outgoing = tuple(old.service_id for old, _ in pairs)
    staying = {i.service_id for i in view.receivers()} - set(outgoing)
    return DrainView(
        id=derived_id("drain", view.uid, str(view.moves.drains + 1)),
        keys=tuple(old.key for old, _ in pairs),
        outgoing=outgoing,
        successors={old.service_id: new.service_id for old, new in pairs},
        targets=tuple(sorted(staying | {new.service_id for _, new in pairs})),
        round=1,
        requested_at=now,
    )


def with_arrivals(view: ClusterView, kafka: KafkaSnapshot) -> KafkaSnapshot:
    """Kafka's metadata as it will be once the launched brokers have joined: live, with the empty disks they got."""
    arriving = [i for i in view.in_phase(Phase.LAUNCHED) if i.is_broker and i.service_id not in kafka.live_brokers()]
    if not arriving:
        return kafka
    brokers: Mapping[int, BrokerSeen] = {
        i.service_id: BrokerSeen(i.service_id, i.planned.rack, fenced=False, host=i.address, port=0) for i in arriving
    }
    disks = {i.service_id: _empty_disk(i) for i in arriving}
    return replace(kafka, brokers={**kafka.brokers, **brokers}, log_dirs={**kafka.log_dirs, **disks})


def _predecessor(view: ClusterView, new: InstanceView) -> InstanceView | None:
    if new.planned.handover:
        return None
    olds = [i for i in view.of_node(new.node) if i.planned.generation < new.planned.generation]
    serving = [i for i in olds if i.phase is Phase.JOINED and not i.lost]
    return serving[0] if len(olds) == 1 and serving else None


def _empty_disk(instance: InstanceView) -> LogDirsSeen:
    size = sum(v.size_gib for v in instance.planned.volumes) * GIB
    # Where the paths of several volumes will be only the broker can tell.
    alone = (LogDirSeen("", used_bytes=0, total_bytes=size, usable_bytes=size),)
    dirs = alone if len(instance.planned.volumes) == 1 else ()
    return LogDirsSeen(replicas=0, used_bytes=0, total_bytes=size, usable_bytes=size, dirs=dirs)
