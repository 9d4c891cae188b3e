"""What the machines of a cluster are made of, as its spec says or their cloud publishes: the network of each broker and
its volumes, whatever clients use of them and whatever moves are allowed to. What neither says is unknown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.cluster.bandwidth import CLIENTS_KEEP, nic_bytes_per_s
from controlplane.cluster.view import ClusterView
from events.instance_facts import PlannedDisk, PlannedInstance, PlannedVolume
from events.spec.model import Pool
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource
from planner.quantities import brokers_named, human_bytes
from providers.catalog import EPHEMERAL
from providers.catalog_file import catalog_file
from providers.catalogs import catalog
from providers.errors import PlaceUnknown
from providers.given_machines import GivenMachine
from providers.volume_limits import volume_limit

_WORDS = {
    FigureOrigin.SPEC: "as the spec says of the machine (machineFigures)",
    FigureOrigin.CATALOGUE: "as the catalogue says of the machine",
}


@dataclass(frozen=True, slots=True)
class BrokerVolumes:
    """What all volumes of a broker read and write together, bytes/s. `words`: which limit that is, and who says so."""

    bytes_per_s: float
    origin: FigureOrigin
    words: str


def hardware_sources(view: ClusterView) -> tuple[FigureSource, ...]:
    """What is told of the network of each broker: by the spec, and by the catalogue. A figure of the spec counts where
    the catalogue has no such machine (`providers.given_machines`), so no figure is in both.
    """
    found: dict[FigureOrigin, dict[int, Capacity]] = {FigureOrigin.SPEC: {}, FigureOrigin.CATALOGUE: {}}
    for instance in view.brokers():
        cloud, machine = cloud_of(view, instance.planned), instance.planned.shape
        for origin, given in ((FigureOrigin.CATALOGUE, ()), (FigureOrigin.SPEC, view.declaration.machines)):
            nic = _nic(cloud, machine, given)
            if nic is not None:
                found[origin][instance.service_id] = Capacity(nic_in_bytes_per_s=nic, nic_out_bytes_per_s=nic)
                break
    return tuple(
        FigureSource(origin=origin, by_broker=known, by_broker_words=_WORDS[origin]) for origin, known in found.items()
    )


def processors_of(view: ClusterView) -> Mapping[int, int]:
    """How many CPUs each broker's machine has; one that is missing is of a type nobody knows."""
    found = {}
    for instance in view.brokers():
        known = processors_at(cloud_of(view, instance.planned), instance.planned.shape, view.declaration.machines)
        if known is not None:
            found[instance.service_id] = known
    return found


def processors_at(cloud: str, machine: str, given: Iterable[GivenMachine] = ()) -> int | None:
    """How many CPUs such a machine has; None for a type nobody knows."""
    try:
        return catalog(cloud, given).shape(machine).vcpus
    except PlaceUnknown:
        return None


def volumes_of(view: ClusterView) -> Mapping[int, BrokerVolumes]:
    """By broker; one that is missing has volumes of which nobody knows what they do."""
    found = {}
    for instance in view.brokers():
        planned = instance.planned
        now = tuple(replace(v, size_gib=view.vms.volume_sizes.get(v.key, v.size_gib)) for v in planned.volumes)
        limits = [*_limits(cloud_of(view, planned), planned.shape, now, view.declaration.machines)]
        measured = [*_measured(view, planned.volumes, limits), *_at_work(view, planned.volumes, limits)]
        known = min([*measured, *limits], key=lambda each: each.bytes_per_s, default=None)
        if known is not None:
            found[instance.service_id] = known
    return found


def pool_volumes(pool: Pool, given: Iterable[GivenMachine] = ()) -> BrokerVolumes | None:
    """What the volumes of a broker that a pool asks for do together; None where nobody knows."""
    disk = pool.disk
    options = PlannedDisk(disk.type or "", disk.iops or 0, disk.throughput_mib_per_s or 0)
    volumes = [PlannedVolume("", "", 1, disk.kind, disk.size_gib, "", options)] * disk.count
    return least_limit(pool.place.cloud, pool.machine, volumes, given)


def least_limit(
    cloud: str, machine: str, volumes: Sequence[PlannedVolume], given: Iterable[GivenMachine] = ()
) -> BrokerVolumes | None:
    """The least of what these volumes do, and of what the machine reaches of all of them; None where nobody knows."""
    return min(_limits(cloud, machine, volumes, given), key=lambda each: each.bytes_per_s, default=None)


def volume_sources(view: ClusterView) -> tuple[FigureSource, ...]:
    """What migration may use of the volumes of each broker: all but the clients' share. One source for each way of
    knowing it."""
    by_words: dict[tuple[FigureOrigin, str], dict[int, Capacity]] = {}
    for broker, known in volumes_of(view).items():
        figures = Capacity(disk_io_bytes_per_s=known.bytes_per_s * (1 - CLIENTS_KEEP))
        by_words.setdefault((known.origin, known.words), {})[broker] = figures
    share = f"{CLIENTS_KEEP:.0%} left to clients"
    return tuple(
        FigureSource(origin=origin, by_broker=by_broker, by_broker_words=f"{words}, {share}")
        for (origin, words), by_broker in by_words.items()
    )


def volume_lines(known: Mapping[int, BrokerVolumes]) -> tuple[str, ...]:
    """For a certificate: whose volumes do what, and who says so."""
    groups: dict[tuple[float, str], list[int]] = {}
    for broker, each in sorted(known.items()):
        groups.setdefault((each.bytes_per_s, each.words), []).append(broker)
    return tuple(
        f"volumes of {brokers_named(ids)} write and read {human_bytes(rate)}/s together: {words}"
        for (rate, words), ids in groups.items()
    )


def _limits(
    cloud: str, machine: str, volumes: Sequence[PlannedVolume], given: Iterable[GivenMachine]
) -> Iterator[BrokerVolumes]:
    """Disks of the `local` cloud are directories that share this machine's: what its catalogue says of them nobody
    enforces, so they are not known.
    """
    kept = catalog_file(cloud, given)
    if kept is None:
        return
    try:
        own, reached = kept.own_disks_bytes_per_s(machine), kept.volumes_bytes_per_s(machine)
    except PlaceUnknown:
        own = reached = None
    said = FigureOrigin.CATALOGUE
    if any(volume.kind == EPHEMERAL for volume in volumes):
        if own is not None:
            yield BrokerVolumes(own, said, f"as the catalogue says of the disks of {machine} itself")
        return
    each = [volume_limit(cloud, volume) for volume in volumes]
    known = [limit for limit in each if limit is not None]
    if known and len(known) == len(each):
        asked = all(limit.asked for limit in known)
        who = "the spec asks (throughputMibPerS)" if asked else f"{cloud} publishes"
        names = " and ".join(f"{count} x {name}" for name, count in Counter(one.type for one in known).items())
        total = sum(limit.bytes_per_s for limit in known)
        blind = "" if reached is not None else "; what the machine reaches of them is not known"
        yield BrokerVolumes(total, FigureOrigin.SPEC if asked else said, f"{names}, as {who}{blind}")
    if reached is not None:
        yield BrokerVolumes(reached, said, f"as far as the machine {machine} reaches them, says the catalogue")


def _measured(
    view: ClusterView, volumes: Sequence[PlannedVolume], limits: Sequence[BrokerVolumes]
) -> Iterator[BrokerVolumes]:
    """What its agent found when the volumes were new, where it did of all of them: what writing reached, or reading.

    It lowers what is published, or stands where nothing is: a disk that lives on credits is faster at its birth than
    it is for long.
    """
    if any(volume.key in view.vms.volume_sizes for volume in volumes):
        return  # grown since: many a cloud's larger disks are faster
    rates = [view.vms.measured_volumes.get(volume.key) for volume in volumes]
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return
    total = sum(min(rate.write_bytes_per_s, rate.read_bytes_per_s) for rate in known)
    yield BrokerVolumes(total, FigureOrigin.MEASURED, f"as measured when new{_differing(limits)}")


def _at_work(
    view: ClusterView, volumes: Sequence[PlannedVolume], limits: Sequence[BrokerVolumes]
) -> Iterator[BrokerVolumes]:
    """What they did at most while they were saturated of late, where that is known of all of them: a disk whose credits
    are spent, or that others wear out. It lowers what is published or was measured when they were new, as that does.
    """
    found = [view.vms.volume_limits.get(volume.key) for volume in volumes]
    known = [limit for limit in found if limit is not None]
    if known and len(known) == len(found):
        total, since = sum(limit.bytes_per_s for limit in known), min(limit.at for limit in known)
        words = f"as found at work on {since:%Y-%m-%d}, when they were saturated{_differing(limits)}"
        yield BrokerVolumes(float(total), FigureOrigin.MEASURED, words)


def _differing(limits: Sequence[BrokerVolumes]) -> str:
    told = min(limits, key=lambda each: each.bytes_per_s, default=None)
    return f"; {told.words}, would be {human_bytes(told.bytes_per_s)}/s" if told is not None else ""


def cloud_of(view: ClusterView, planned: PlannedInstance) -> str:
    """Where a VM was made, "" where nobody knows."""
    if planned.place is not None:
        return planned.place.cloud
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    return clouds.get(planned.pool, "")


def _nic(cloud: str, machine: str, given: Iterable[GivenMachine]) -> float | None:
    known = nic_bytes_per_s(cloud, machine, given)
    return None if known is None else float(known)
