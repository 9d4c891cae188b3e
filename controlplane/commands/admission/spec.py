"""May this document come into force on that cluster? Asked by `plan` and by `apply`, so both give one answer."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from controlplane.cluster.data_size import bytes_per_pool
from controlplane.cluster.folds.images import image_in, image_in_force
from controlplane.cluster.places import place_named
from controlplane.cluster.sized_nodes import is_sized_by_machine, pool_size
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.admission.migration import in_force, migration_admission, newborn_problems
from controlplane.commands.admission.scale_down import room_after
from controlplane.commands.admission.security import security_admission
from controlplane.converger.questions.quorum.protocol import target_of
from controlplane.kafka.features import METADATA, metadata_level_of
from events import facts
from events.quantities import counted
from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem, has_errors
from events.spec.releases import as_numbers
from events.spec.rules import check_change
from events.spec.storage_rules import with_grown_disks
from planner.observed import KafkaSnapshot
from planner.rollout.desired import DEFAULT_HEAP_MIB
from providers.base import Place
from providers.bootable import NextVm
from providers.catalog_file import catalog_file
from providers.catalogs import catalog
from providers.cost_tags import misfit
from providers.given_machines import differing, given_by_pool
from providers.registry import names

_OF_POOL = ("machine", "alternatives", "spot", "ipv6", "publicAddress")
_KINDS = {"spot": p.SPOT, "ipv6": p.IPV6, "publicAddress": p.PUBLIC_ADDRESS}


Unbootable = Callable[[Place, NextVm], str]
"""See `providers.bootable.TellsBootable`; "" also where the place cannot be told of."""


ImageFor = Callable[[ClusterView], facts.ImageChosen | None]
"""The revision of the image catalogue that VMs of the spec in force would be made from next, None where there is none:
then it is the image that the cloud's settings name."""


def no_image(view: ClusterView) -> None:
    """Of an installation without a catalogue."""


def nothing_unbootable(place: Place, vm: NextVm) -> str:
    """Of an installation that cannot tell."""
    return ""


def admission_problems(
    view: ClusterView,
    document: KafkaClusterDocument,
    *,
    positions: Positions,
    snapshot: KafkaSnapshot | None,
    unbootable: Unbootable = nothing_unbootable,
    cost_tags: Collection[str] = (),
    image_for: ImageFor = no_image,
) -> list[Problem]:
    """What refuses the step from what is in force, warnings too. `cost_tags`: labels the server puts on clouds."""
    missing = _clouds(document, positions) or [
        *_places(document, positions),
        *_heaps(view, document, positions),
        *_cost_tags(document, positions, cost_tags),
    ]
    if missing:
        return missing
    before = in_force(view, document)
    differ = list(_figures(document, positions))
    wrong_images = _architectures(view, before, document, positions, unbootable, image_for)
    if before is None:
        return [*newborn_problems(document, positions), *wrong_images, *differ]
    held = bytes_per_pool(view, snapshot)
    grown = view.vms.grown_pools
    found = check_change(
        with_grown_disks(before, grown),
        with_grown_disks(document, grown),
        data_bytes_per_pool=held,
        positions=positions,
    )
    found = [
        *found,
        *migration_admission(view, document, positions),
        *security_admission(view, document, positions),
        *wrong_images,
    ]
    if snapshot is not None and not has_errors(found):
        found = [*found, *_room(view, document, positions, snapshot)]
    levels, alone = _levels(view, document, positions, snapshot), _single_copies(document, positions, snapshot)
    return [*found, *levels, *alone, *differ]


def _clouds(document: KafkaClusterDocument, positions: Positions) -> list[Problem]:
    """A cloud this release cannot reach is told now, not by a cluster that never begins."""
    known = names()
    return [
        positions.problem(
            p.CLOUD,
            ("spec", "pools", index, "place", "cloud"),
            f"pool `{pool.name}` lives in {pool.place.cloud!r}, which this release has no provider for",
            f"Use one of: {', '.join(known)}.",
        )
        for index, pool in enumerate(document.spec.pools)
        if pool.place.cloud not in known
    ]


def _places(document: KafkaClusterDocument, positions: Positions) -> list[Problem]:
    """A region or a machine the cloud does not have would be refused by it in the middle of a roll."""
    return [
        positions.problem(
            _KINDS.get(found.field, p.PLACE),
            ("spec", "pools", index, *((found.field,) if found.field in _OF_POOL else ("place", found.field))),
            f"pool `{pool.name}`: {found.message}",
            found.fix,
        )
        for index, pool in enumerate(document.spec.pools)
        for found in catalog(pool.place.cloud, given_by_pool(pool)).misfits(
            pool.place.region,
            pool.machine,
            pool.alternatives,
            controllers=pool.size if pool.is_controller else 0,
            ensemble="zookeeper" in pool.services and not pool.has_members,
            spot=pool.spot,
            ipv6=pool.ipv6,
            public_address=pool.public_address,
            disk=pool.disk.kind,
        )
    ]


def _figures(document: KafkaClusterDocument, positions: Positions) -> Iterator[Problem]:
    """Figures of a type the catalogue has too, and has otherwise: the catalogue's count, and both are told."""
    for index, pool in enumerate(document.spec.pools):
        kept = catalog_file(pool.place.cloud)
        for at, one in enumerate(given_by_pool(pool)):
            if kept is None or one.type not in kept.raw["machines"]:
                continue
            if differ := list(differing(kept.raw["machines"][one.type], one)):
                words = "; ".join(
                    f"{figure}: the catalogue {known}, the spec {given}" for figure, known, given in differ
                )
                message = f"pool `{pool.name}`: the figures of `{one.type}` are not those of the catalogue: {words}"
                fix = "The catalogue's count. Remove these, or correct catalog.yaml of the server's home."
                where = ("spec", "pools", index, "machineFigures", at)
                yield positions.problem(p.FIGURES_DIFFER, where, message, fix)


def _heaps(view: ClusterView, document: KafkaClusterDocument, positions: Positions) -> Iterator[Problem]:
    """Two services on a VM share its memory: their heaps leave a quarter of it to what Java needs beside them, to the
    agent, and to the files Kafka reads. A machine whose memory nobody has a figure of is not judged."""
    for index, pool in enumerate(document.spec.pools):
        if not pool.has_members:
            continue
        size = pool_size(pool, given_by_pool(pool)) if is_sized_by_machine(view) else None
        broker = size.heap_mib if size else pool.heap_mib or DEFAULT_HEAP_MIB["broker"]
        server = size.member_heap_mib if size else pool.zookeeper_heap_mib or DEFAULT_HEAP_MIB["zookeeper"]
        shapes = catalog(pool.place.cloud, given_by_pool(pool)).shapes
        for field, machine in (("machine", pool.machine), *(("alternatives", other) for other in pool.alternatives)):
            memory_mib = shapes[machine].memory_mib if machine in shapes else 0
            if memory_mib and 4 * (broker + server) > 3 * memory_mib:
                message = (
                    f"pool `{pool.name}`: the broker's heap of {broker} MiB and the ZooKeeper server's of {server} MiB "
                    f"are more than three quarters of the {memory_mib} MiB of `{machine}`"
                )
                fix = "Use a larger machine, or lower `heapMib` or `zookeeperHeapMib`."
                yield positions.problem(p.MEMBERS, ("spec", "pools", index, field), message, fix)


def _cost_tags(document: KafkaClusterDocument, positions: Positions, listed: Collection[str]) -> Iterator[Problem]:
    """A label that is on the server's list and that a cloud of the spec cannot hold as it is written."""
    labels = document.metadata.labels
    for key in sorted(set(listed) & labels.keys()):
        for cloud in sorted({pool.place.cloud for pool in document.spec.pools}):
            if why := misfit(cloud, key, labels[key]):
                setting = "`clouds.cost_tags` of the server's settings"
                message = f"label `{key}` is put on what is made in {cloud} ({setting}): {why}"
                fix = f"Write it as the cloud can hold it, take the label away, or have its key taken off {setting}."
                yield positions.problem(p.COST_TAG, ("metadata", "labels", key), message, fix)


def _architectures(
    view: ClusterView,
    before: KafkaClusterDocument | None,
    document: KafkaClusterDocument,
    positions: Positions,
    unbootable: Unbootable,
    image_for: ImageFor,
) -> Iterator[Problem]:
    """A VM whose image, or agent, is for another processor would never serve. Asked only of pools that get new VMs by
    this step: what stands was made, and nothing else may wait for a settings file."""
    kafka = document.spec.kafka
    wanted = replace(view, document=document)
    image = image_in_force(wanted)
    chosen = image.chosen if image is not None else None if kafka.image.is_idle else image_for(wanted)
    known = {pool.name: pool for pool in before.spec.pools} if before is not None else {}
    rolls = before is None or _build(before) != _build(document)
    for index, pool in enumerate(document.spec.pools):
        old, place = known.get(pool.name), place_named(pool.place)
        if old is not None and not rolls and all(getattr(old, f) == getattr(pool, f) for f in _MADE_BY):
            continue
        planned = image_in(chosen, place.cloud, place.region) if chosen is not None else None
        for field, machine in (("machine", pool.machine), *(("alternatives", other) for other in pool.alternatives)):
            ids = planned.ids if planned is not None else {}
            vm = NextVm(machine, kafka.version, ids, given_by_pool(pool), own_build=kafka.distribution is not None)
            if why := unbootable(place, vm):
                fix = f"Choose another machine, or fix {place.cloud}.yaml (docs/images-and-security.md)."
                if place.cloud == "local":
                    fix = "Use a version that is there, or unpack the other beside it, as `<version>/libs`."
                yield positions.problem(p.PLACE, ("spec", "pools", index, field), f"pool `{pool.name}`: {why}", fix)


_MADE_BY = ("machine", "alternatives", "place")


def _build(document: KafkaClusterDocument) -> tuple[str, str]:
    """Which Kafka VMs are made with: another one makes all of them anew."""
    kafka = document.spec.kafka
    return kafka.version, kafka.distribution.sha256 if kafka.distribution is not None else ""


def _single_copies(
    document: KafkaClusterDocument, positions: Positions, snapshot: KafkaSnapshot | None
) -> list[Problem]:
    """A warning where partitions have one replica, by what Kafka says, and it may be on a VM the cloud takes back."""
    spot = [index for index, pool in enumerate(document.spec.pools) if pool.spot]
    if not spot or snapshot is None:
        return []
    alone = [one.name.topic for one in snapshot.partitions if len(one.replicas) == 1]
    if not alone:
        return []
    topics = counted(len(set(alone)), "topic")
    message = (
        f"{counted(len(alone), 'partition')} of {topics} have one replica; on a pre-emptible broker it goes with it"
    )
    fix = "Give them more replicas (`kedge topics`), or leave it if they may be lost."
    return [positions.problem(p.SPOT_RISK, ("spec", "pools", spot[0], "spot"), message, fix)]


def _room(
    view: ClusterView, document: KafkaClusterDocument, positions: Positions, snapshot: KafkaSnapshot
) -> list[Problem]:
    """By what the disks really have, and whether each partition finds enough brokers among those that stay."""
    gate = room_after(view, document, snapshot)
    if gate.open:
        return []
    fix = "Take fewer brokers away, add disk or brokers first, or delete data."
    return [positions.problem(p.BELOW_DATA, ("spec", "pools"), gate.reason, fix, key=True)]


def _levels(
    view: ClusterView, document: KafkaClusterDocument, positions: Positions, snapshot: KafkaSnapshot | None
) -> list[Problem]:
    """A finalised metadata level is a one-way door: Kafka below it cannot read what the quorum has written. Anybody may
    have raised it (`kafka-features.sh`), so Kafka's word counts beside the record, and without it nothing goes back."""
    version = document.spec.kafka.version
    if view.in_zookeeper_mode:
        return _protocol(view, document, positions)
    seen = snapshot.features.get(METADATA) if snapshot is not None else None
    reached = max(finalised_level(view), seen.finalised if seen is not None else 0)
    reads_to = metadata_level_of(version)
    if reads_to < reached:
        message = f"metadata level {reached} is finalised and Kafka {version} reads only up to {reads_to}"
        fix = "Stay on the release that was finalised, or a later one. To keep a way back, pin `metadataVersion` first."
        return [positions.problem(p.METADATA_PIN, ("spec", "kafka", "version"), message, fix)]
    if seen is None and view.quorum.founding is not None and any(_reads_to(i) > reads_to for i in view.alive()):
        message = f"Kafka {version} reads metadata levels up to {reads_to}, and the finalised one is not known"
        fix = f"Kafka's metadata could not be read. Try again once `kedge describe {view.name}` shows its brokers."
        return [positions.problem(p.METADATA_PIN, ("spec", "kafka", "version"), message, fix)]
    return _late_pin(view, document, positions, reached)


def _reads_to(instance: InstanceView) -> int:
    return metadata_level_of(instance.planned.kafka_version)


def _late_pin(view: ClusterView, document: KafkaClusterDocument, positions: Positions, reached: int) -> list[Problem]:
    """A new pin below the level that is finalised would look like a way back, and be none. One that has been there is
    left alone: its spec was accepted."""
    pin, before = document.spec.kafka.metadata_version, view.document.spec.kafka if view.document else None
    if pin is None or metadata_level_of(pin) >= reached or (before is not None and before.metadata_version == pin):
        return []
    message = f"metadata level {reached} is finalised, and a pin at {pin} ({metadata_level_of(pin)}) keeps no way back"
    fix = "Remove the pin, or pin the level of a later release before the roll to it."
    return [positions.problem(p.METADATA_PIN, ("spec", "kafka", "metadataVersion"), message, fix)]


def _protocol(view: ClusterView, document: KafkaClusterDocument, positions: Positions) -> list[Problem]:
    """A protocol version that brokers were started with is one, too: what they have stored may be beyond older ones."""
    version, target = document.spec.kafka.version, target_of(document)
    if not view.quorum.protocol or as_numbers(target) >= as_numbers(view.quorum.protocol):
        return []
    message = f"protocol {view.quorum.protocol} is in force, and Kafka {version} would end at protocol {target}"
    fix = "Stay on the release that was reached, or a later one. To keep a way back, pin `metadataVersion` first."
    return [positions.problem(p.METADATA_PIN, ("spec", "kafka", "version"), message, fix)]


def finalised_level(view: ClusterView) -> int:
    """The metadata.version the quorum was founded with or raised to since, 0 before it was founded."""
    level = (
        view.quorum.founding.metadata_level if view.quorum.founding else ""
    )  # "": of a release that has no name here
    founded = metadata_level_of(level) if level else 0
    asked = view.roll.finalising[1] if view.roll.finalising and view.roll.finalising[0] == METADATA else 0
    return max(founded, asked, view.roll.finalised.get(METADATA, 0))
