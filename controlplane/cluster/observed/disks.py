"""How full disks are: Kafka names the filesystem it sees, the agent the volume it was given. The smaller one counts.

Where a volume is a directory of a bigger filesystem (the `local` cloud) only the agent knows its size; where a volume
is a disk of its own both say the same. A plan that believed the larger figure would fill a disk.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen


def with_volume_sizes(snapshot: KafkaSnapshot, view: ClusterView, reports: Mapping[str, ReportSeen]) -> KafkaSnapshot:
    """The snapshot with each broker's `total_bytes` and `usable_bytes` no larger than its agent's report allows.

    A broker whose agent has not told of all its volumes keeps Kafka's figures; one Kafka says nothing of stays unknown.
    """
    sizes = {i.service_id: r for i in view.brokers() if (r := _of_volumes(i, reports.get(i.key))) is not None}
    if not sizes:
        return snapshot
    both = {b: _smaller(seen, sizes[b]) if b in sizes else seen for b, seen in snapshot.log_dirs.items()}
    is_same = all(both[b] is seen for b, seen in snapshot.log_dirs.items())  # as where a volume is a disk of its own
    return snapshot if is_same else replace(snapshot, log_dirs=both)


def directory_in(path: str, names: Collection[str]) -> str:
    """Which of these volumes a log directory is on: the last one its path names, as the VM's root may have such a name,
    too; "" where it names none."""
    return next((part for part in reversed(PurePosixPath(path).parts) if part in names), "")


def _of_volumes(instance: InstanceView, seen: ReportSeen | None) -> Mapping[str, tuple[int, int]] | None:
    """By name (total, free) bytes of each volume of the instance, None unless the agent has spoken of all of them."""
    service = seen.service(instance.planned.service) if seen is not None else None
    if service is None or {d.name for d in service.log_dirs} != {v.dir for v in instance.planned.volumes}:
        return None
    return {d.name: (d.total_bytes, d.free_bytes) for d in service.log_dirs}


def _smaller(seen: LogDirsSeen, sizes: Mapping[str, tuple[int, int]]) -> LogDirsSeen:
    if seen.total_bytes <= 0:
        return seen
    total = min(seen.total_bytes, sum(total for total, _ in sizes.values()))
    usable = min(seen.usable_bytes, sum(free for _, free in sizes.values()))
    dirs = _smaller_each(seen.dirs, sizes)
    if (total, usable, dirs) == (seen.total_bytes, seen.usable_bytes, seen.dirs):
        return seen
    return replace(seen, total_bytes=total, usable_bytes=usable, dirs=dirs)


def _smaller_each(dirs: tuple[LogDirSeen, ...], sizes: Mapping[str, tuple[int, int]]) -> tuple[LogDirSeen, ...]:
    """Each directory with its volume; none where it is not clear which one that is."""
    pairs = []
    for seen in dirs:
        name = next(iter(sizes)) if len(dirs) == len(sizes) == 1 else directory_in(seen.path, sizes)
        if not name:
            return ()
        pairs.append((seen, sizes[name]))
    return tuple(
        seen
        if total >= seen.total_bytes and free >= seen.usable_bytes
        else replace(seen, total_bytes=min(seen.total_bytes, total), usable_bytes=min(seen.usable_bytes, free))
        for seen, (total, free) in pairs
    )
