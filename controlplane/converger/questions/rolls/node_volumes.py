"""The volumes a node's next VM gets: those its node has, or new ones. Pure.

A volume is `<node>.<dir>.v<version>`; each is a log directory of the service.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controlplane.cluster.folds.growth import size_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events import facts
from events.ids import kafka_uuid
from events.spec.settings import spec_config
from planner.rollout.desired import DesiredNode

FIRST_DIRECTORY = "data"
"""The only one of most VMs. Where there are more, a broker keeps its copy of the metadata here."""


def directory_names(count: int) -> tuple[str, ...]:
    """`data`, `data2`, `data3`: the directories of a VM with so many disks, in the order of `log.dirs`."""
    return (FIRST_DIRECTORY, *(f"{FIRST_DIRECTORY}{number}" for number in range(2, count + 1)))


def volumes_of_node(view: ClusterView, line: Sequence[InstanceView]) -> tuple[facts.PlannedVolume, ...]:
    """Those its newest instance was given, as large as they are by now: a successor takes them over."""
    volumes = max(line, key=lambda i: i.planned.generation).planned.volumes
    return tuple(replace(v, size_gib=size_of(view, v)) for v in volumes)


def with_new_ones(
    view: ClusterView,
    want: DesiredNode,
    kept: Sequence[facts.PlannedVolume],
    directories: Sequence[str],
    past: Sequence[InstanceView],
) -> tuple[facts.PlannedVolume, ...]:
    """The volumes a successor takes over, but new ones of the same size for `directories`."""
    version = _next_version(view, want, past)
    return tuple(
        replace(_new_volume(view, want, v.dir, version), size_gib=v.size_gib) if v.dir in directories else v
        for v in kept
    )


def new_volumes(view: ClusterView, want: DesiredNode, past: Sequence[InstanceView]) -> tuple[facts.PlannedVolume, ...]:
    """New ones, all of one version, which is above that of every volume its node ever had."""
    version = _next_version(view, want, past)
    return tuple(_new_volume(view, want, directory, version) for directory in directory_names(want.disks.count))


def disks_are_as_wanted(view: ClusterView, instance: InstanceView, want: DesiredNode) -> bool:
    """Whether its disks are what the spec says, or can grow to it: others are filled by copying."""
    if len(instance.planned.volumes) != want.disks.count:
        return False
    if any(volume.options != want.disks.options for volume in instance.planned.volumes):
        return False
    size = size_of(view, instance.planned.volumes[0])
    return want.disks.kind == "persistent" and (size == want.disks.gib or (size < want.disks.gib and want.disks.grows))


def digest_made_with(
    view: ClusterView, want: DesiredNode, config: Mapping[str, str] | None, volumes: Sequence[facts.PlannedVolume]
) -> str:
    """A disk that is taken over has the size it has: what the spec says of it is grown later."""
    if volumes[0].size_gib == want.disks.gib:
        return want.digest if config is None else want.digest_with(config)
    made_with = config if config is not None or view.document is None else spec_config(view.document, want.pool)
    return want.digest_with(made_with or {}, volumes[0].size_gib)


def _next_version(view: ClusterView, want: DesiredNode, past: Sequence[InstanceView]) -> int:
    spent = view.vms.spent.get(want.node)
    version = max((v.version for i in past for v in i.planned.volumes), default=0) + 1
    return max(version, spent.volume_version + 1 if spent else 0)


def _new_volume(view: ClusterView, want: DesiredNode, directory: str, version: int) -> facts.PlannedVolume:
    key = f"{want.node}.{directory}.v{version}"
    return facts.PlannedVolume(
        key=key,
        dir=directory,
        version=version,
        kind=want.disks.kind,
        size_gib=want.disks.gib,
        directory_id=kafka_uuid("directory", view.uid, key),
        options=want.disks.options,
    )


def disk_is_no_use(view: ClusterView, past: Sequence[InstanceView]) -> bool:
    """Lost, given up by a person, or without a vote: then it holds nothing that the voters do not hold."""
    newest = max(past, key=lambda i: i.planned.generation)
    if view.is_broken(newest) or any(
        i.key in view.requests.to_replace and view.requests.to_replace[i.key].new_disk for i in past
    ):
        return True
    if newest.departure.unheard:
        return True  # the others vote without it, and have all that it could have
    directory = newest.planned.volumes[0].directory_id
    if newest.planned.service != view.quorum_service:  # a controller of a migration
        return view.quorum.migration is None or all(v.directory_id != directory for v in view.quorum.migration.voters)
    voter = view.quorum.voters.get(newest.service_id)
    voting = voter is not None and voter.directory_id == directory
    return bool(view.quorum.voters) and not voting
