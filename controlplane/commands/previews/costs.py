"""What a spec costs a month, what a change changes of it, and what its roll costs once. Pure.

A part nobody has a price for is named, and is in no sum. Not counted at all: snapshots, traffic of clients, taxes,
discounts, and what clouds bill for hours that have only begun.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from events.quantities import GIB
from events.spec.model import KafkaClusterDocument, Pool
from events.spec.storage_rules import disks_in_words, with_grown_disks
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change
from planner.rollout.steps import RolloutPlan, RolloutStep
from providers import base, figures, offers
from providers.price_list import PriceList
from providers.racks import site_of

MACHINES, ROOT_DISKS, DATA_DISKS = "machines", "root disks", "data disks"
ADDRESSES, PUBLIC_ADDRESSES, SPEED = "IPv6 addresses", "public IPv4 addresses", "disks' IOPS and throughput"
CROSSING = "places with bytes to others"

_S_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class CostPart:
    """One line of a bill: `times` units at `price` each; None where nobody has read a price."""

    what: str
    times: Decimal
    price: figures.Price | None
    kind: str = ""
    """What such things are called together, as in `root disks`; "" for a part that is counted with no others."""
    count: int = 0
    """How many of that kind it stands for."""

    @property
    def amount(self) -> Decimal | None:
        """Money, None for unknown."""
        return None if self.price is None else self.times * self.price.value


@dataclass(frozen=True, slots=True)
class Bill:
    """What is known in sums by currency, and what is not, by name."""

    parts: tuple[CostPart, ...]

    @property
    def totals(self) -> Mapping[str, Decimal]:
        """Currency -> sum of the parts whose price is known."""
        sums: dict[str, Decimal] = {}
        for part in self.parts:
            if part.price is not None and part.amount is not None:
                sums[part.price.currency] = sums.get(part.price.currency, Decimal(0)) + part.amount
        return sums

    @property
    def unknown(self) -> tuple[str, ...]:
        """Parts without a price."""
        return tuple(part.what for part in self.parts if part.price is None)

    @property
    def without_price(self) -> Mapping[str, int]:
        """How many things of each kind have no price, by kind, in the order of the bill."""
        return _counted(part for part in self.parts if part.price is None)

    @property
    def kinds(self) -> tuple["KindOfCost", ...]:
        """The bill by kind of thing, in its order."""
        kinds = dict.fromkeys(part.kind for part in self.parts if part.kind)
        return tuple(KindOfCost(kind, Bill(tuple(p for p in self.parts if p.kind == kind))) for kind in kinds)


@dataclass(frozen=True, slots=True)
class KindOfCost:
    """All parts of a bill of one kind."""

    kind: str
    bill: Bill

    @property
    def count(self) -> int:
        """Of things, with or without a price."""
        return sum(part.count for part in self.bill.parts)


@dataclass(frozen=True, slots=True)
class SurgeCost:
    """VMs that stand twice while the roll replaces them, by the plan's own estimate of time."""

    vm_hours: Decimal
    bill: Bill


@dataclass(frozen=True, slots=True)
class Crossing:
    """Bytes drains copy from zone to zone if each replica goes to the successor of its broker, in the same zone.

    `bytes` is None where Kafka was not read; `unknown` names the brokers whose replicas nobody knows the way of.
    """

    bytes: int | None
    unknown: tuple[str, ...]
    bill: Bill


@dataclass(frozen=True, slots=True)
class PlanCost:
    """All there is to say of a plan's cost. `before` is None for a new cluster, `surge` where no VM stands twice.

    `crossing` is None where nothing is drained. `old` names sources that were read too long ago.
    """

    before: Bill | None
    after: Bill
    surge: SurgeCost | None
    crossing: Crossing | None
    old: tuple[str, ...]
    problem: str = ""
    """Why no price could be read at all."""

    @property
    def difference(self) -> Mapping[str, Decimal] | None:
        """After less before, by currency; None where it hangs on a part that is unknown on one side only."""
        return None if self.before is None else _difference(self.before, self.after)


@dataclass(frozen=True, slots=True)
class GenerationCost:
    """What a declaration costs a month, and how that differs from the one before.

    `bill` is None where no cloud of it sells anything; `difference`, by currency, there too, for the first, and where
    it hangs on a part that is unknown on one side only.
    """

    generation: int
    bill: Bill | None
    before: int | None = None
    difference: Mapping[str, Decimal] | None = None


def plan_cost(
    view: ClusterView,
    document: KafkaClusterDocument,
    rollout: RolloutPlan,
    *,
    snapshot: KafkaSnapshot | None,
    price_list: PriceList,
    today: date,
) -> PlanCost | None:
    """What a document costs and its roll takes; None where no cloud of it sells anything (`local`)."""
    if not _is_sold(document, price_list):
        return None
    standing, document = view.grown(view.document), with_grown_disks(document, view.vms.grown_pools)
    before = monthly_bill(standing, price_list) if standing else None
    after = monthly_bill(document, price_list)
    surge = surge_cost(document, rollout, price_list)
    crossing = drain_crossing(view, document, rollout, snapshot, price_list)
    bills = [before, after, surge.bill if surge else None, crossing.bill if crossing else None]
    return PlanCost(before, after, surge, crossing, old_sources(bills, today))


def generation_costs(documents: Mapping[int, KafkaClusterDocument], price_list: PriceList) -> list[GenerationCost]:
    """Of declarations by their generation, the newest first; all by the prices of one book."""
    costs: list[GenerationCost] = []
    before: tuple[int, Bill] | None = None
    for generation, document in sorted(documents.items()):
        bill, (number, old) = monthly_bill(document, price_list), before or (None, None)
        if _is_sold(document, price_list):
            costs.append(GenerationCost(generation, bill, number, _difference(old, bill) if old is not None else None))
        else:
            costs.append(GenerationCost(generation, None, number))
        before = generation, bill
    return costs[::-1]


def old_sources(bills: Iterable[Bill | None], today: date) -> tuple[str, ...]:
    """Where prices in them are from that were read too long ago, each once."""
    used = [part.price for bill in bills if bill for part in bill.parts if part.price]
    return tuple(dict.fromkeys(f"{p.source} (read {p.read})" for p in used if p.is_old(today)))


def monthly_bill(document: KafkaClusterDocument, price_list: PriceList) -> Bill:
    """Machines, root disks, data disks and addresses of every pool that a cloud sells, and what goes from place to
    place through an overlay, for one month."""
    parts = [part for pool in document.spec.pools for part in _monthly(pool, price_list)]
    return Bill((*parts, *_through_overlay(document)))


def surge_cost(document: KafkaClusterDocument, rollout: RolloutPlan, price_list: PriceList) -> SurgeCost | None:
    """Second VMs of replaced nodes, for as long as the plan says each takes; and second disks of those that copy."""
    parts: list[CostPart] = []
    hours = Decimal(0)
    for pool in document.spec.pools:
        market = _offers(pool, price_list)
        steps = [s for s in _steps_of(pool, rollout) if s.change is Change.REPLACE]
        if market is None or not steps:
            continue
        of_pool = sum((Decimal(str(s.seconds)) for s in steps), Decimal(0)) / _S_PER_HOUR
        hours += of_pool
        machine = _priced(pool, market)
        parts.append(CostPart(f"{pool.name}: VMs beside the old ones", of_pool, machine.hourly if machine else None))
        months = of_pool / figures.HOURS_PER_MONTH
        if not market.root_disk.in_machine:
            what = f"{pool.name}: root disks beside the old ones"
            parts.append(CostPart(what, months, market.root_disk.monthly))
        if pool.is_broker and document.spec.rollout.strategy == "migrate":
            what = f"{pool.name}: disks beside the old ones"
            parts.append(CostPart(what, months * pool.disk.count, _disk_month(pool, market)))
    return SurgeCost(hours, Bill(tuple(parts))) if parts else None


def drain_crossing(
    view: ClusterView,
    document: KafkaClusterDocument,
    rollout: RolloutPlan,
    snapshot: KafkaSnapshot | None,
    price_list: PriceList,
) -> Crossing | None:
    """Bytes that cross zones, as Kafka's metadata was last read. A replica is copied from its partition's leader."""
    leaving = _leaving(view, document)
    drained = [s for s in _steps(rollout) if _is_drained(s, document) or (s.node in leaving and _stays_in_zone(s))]
    if not drained:
        return None
    if snapshot is None:
        return Crossing(None, tuple(s.node for s in drained), Bill(()))
    ids = {i.node: i.service_id for i in view.brokers() if not i.lost}
    abroad = {s.node: _held_bytes(snapshot, ids[s.node]) for s in drained if s.node in leaving}
    staying = {s.node for s in drained if s.node in ids and s.node not in abroad and _stays_in_zone(s)}
    known: dict[str, int] = {}
    parts = []
    for pool in document.spec.broker_pools:
        market, nodes = _offers(pool, price_list), [s.node for s in _steps_of(pool, rollout)]
        of_pool = {node: _crossing_bytes(snapshot, ids[node], pool.place.cloud) for node in nodes if node in staying}
        known |= of_pool
        if market is not None and of_pool:
            gib = Decimal(sum(of_pool.values())) / GIB
            parts.append(CostPart(f"{pool.name}: bytes from zone to zone", gib, market.cross_zone_per_gib))
        going = [node for node in nodes if node in abroad]
        for place in dict.fromkeys(leaving[node] for node in going):
            left = [abroad[node] for node in going if leaving[node] == place]
            price = _egress(place, pool, price_list)
            parts.append(CostPart(f"{pool.name}: bytes from place to place", Decimal(sum(left)) / GIB, price))
    unknown = tuple(s.node for s in drained if s.node not in known and s.node not in abroad)
    return Crossing(sum(known.values()) + sum(abroad.values()), unknown, Bill(tuple(parts)))


def _counted(parts: Iterable[CostPart]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        if part.kind:
            found[part.kind] = found.get(part.kind, 0) + part.count
    return found


def _difference(before: Bill, after: Bill) -> Mapping[str, Decimal] | None:
    if Counter(before.unknown) != Counter(after.unknown):
        return None
    old, new = before.totals, after.totals
    return {c: new.get(c, Decimal(0)) - old.get(c, Decimal(0)) for c in {**old, **new}}


def _is_sold(document: KafkaClusterDocument, price_list: PriceList) -> bool:
    return any(_offers(pool, price_list) is not None for pool in document.spec.pools)


def _leaving(view: ClusterView, document: KafkaClusterDocument) -> dict[str, base.Place]:
    """Nodes of brokers whose pool is to be in another place, and where they are: all they hold goes there."""
    places = {pool.name: pool.place.name for pool in document.spec.broker_pools}
    there = ((i, place_of(view, i)) for i in view.brokers() if not i.lost and i.planned.pool in places)
    return {i.node: place for i, place in there if str(place) != places[i.planned.pool]}


def _egress(left: base.Place, pool: Pool, price_list: PriceList) -> figures.Price | None:
    """What a GiB costs that goes from there to the pool's place; nobody has a figure between accounts of a region."""
    if (left.cloud, left.region) == (pool.place.cloud, pool.place.region):
        return None
    market = price_list.offers(left.cloud, left.region)
    return market.egress_per_gib if market else None


def _held_bytes(snapshot: KafkaSnapshot, broker: int) -> int:
    return sum(p.size_bytes for p in snapshot.partitions if broker in p.replicas)


def _monthly(pool: Pool, price_list: PriceList) -> Iterator[CostPart]:
    market = _offers(pool, price_list)
    if market is None:
        return
    machine, sold = _priced(pool, market), market.machine(pool.machine)
    type_name = f"{sold.type if sold else pool.machine}{', pre-emptible' if pool.spot else ''}"
    where = f"{pool.place.cloud} {pool.place.region}"
    machines = f"{pool.name}: {pool.size} x {type_name} ({where})"
    yield CostPart(machines, Decimal(pool.size), machine.monthly if machine else None, MACHINES, pool.size)
    yield from _disks(pool, market, where)
    if pool.ipv6:
        addresses = f"{pool.name}: {pool.size} x IPv6 address ({where})"
        yield CostPart(addresses, Decimal(pool.size), market.ipv6_per_month, ADDRESSES, pool.size)
    if pool.public_address:
        addresses = f"{pool.name}: {pool.size} x public IPv4 address ({where})"
        yield CostPart(addresses, Decimal(pool.size), market.public_ipv4_per_month, PUBLIC_ADDRESSES, pool.size)


def _through_overlay(document: KafkaClusterDocument) -> Iterator[CostPart]:
    """Bytes that leave each place for the others. Nobody knows how many of a month those will be."""
    if document.spec.network.overlay is None:
        return
    places = sorted({(pool.place.cloud, pool.place.region) for pool in document.spec.pools})
    for cloud, region in places if len(places) > 1 else ():
        yield CostPart(f"bytes out of {cloud} {region} through the overlay", Decimal(1), None, CROSSING, 1)


def _disks(pool: Pool, market: offers.Offers, where: str) -> Iterator[CostPart]:
    """Those VMs start from, unless the machine's price is with them; those of data, and what is bought beside size."""
    root, disk = market.root_disk, pool.disk
    if not root.in_machine:
        size = f" of {root.gib.value:f} GiB" if root.gib is not None else ""
        what = f"{pool.name}: {pool.size} x root disk {root.type}{size} ({where})"
        yield CostPart(what, Decimal(pool.size), root.monthly, ROOT_DISKS, pool.size)
    number = pool.size * disk.count
    described = f"{disks_in_words(disk)} {disk.kind}{f' {disk.type}' if disk.type else ''}"
    what = f"{pool.name}: {pool.size} x {described} ({where})"
    yield CostPart(what, Decimal(number), _disk_month(pool, market), DATA_DISKS, number)
    if disk.iops or disk.throughput_mib_per_s:
        yield CostPart(
            f"{pool.name}: IOPS and throughput of {number} disks ({where})", Decimal(number), None, SPEED, number
        )


def _priced(pool: Pool, market: offers.Offers) -> offers.MachineOffer | None:
    """Its machine with its prices; None where those are unknown, as of pre-emptible VMs: theirs changes by the hour."""
    return None if pool.spot else market.machine(pool.machine)


def _disk_month(pool: Pool, market: offers.Offers) -> figures.Price | None:
    """Of one data disk; None also for one of another type than the catalogue's, whose price is another's."""
    disk = market.disks.get(pool.disk.kind)
    if disk is None or pool.disk.type not in (None, disk.type):
        return None
    return disk.monthly(Decimal(pool.disk.size_gib))


def _offers(pool: Pool, price_list: PriceList) -> offers.Offers | None:
    return price_list.offers(pool.place.cloud, pool.place.region)


def _steps_of(pool: Pool, rollout: RolloutPlan) -> list[RolloutStep]:
    """Steps of the nodes of a pool: `<pool>-<zone>-<index>` (`planner.rollout.desired`)."""
    return [s for s in _steps(rollout) if s.node.removeprefix(f"{pool.name}-{s.rack}-").isdecimal()]


def _steps(rollout: RolloutPlan) -> list[RolloutStep]:
    return [s for phase in rollout.phases for s in phase.steps]


def _is_drained(step: RolloutStep, document: KafkaClusterDocument) -> bool:
    copies = document.spec.rollout.strategy == "migrate" and step.change is Change.REPLACE
    return step.service == "broker" and (copies or step.change is Change.REMOVE)


def _stays_in_zone(step: RolloutStep) -> bool:
    """Whether somebody takes the broker's place in its zone; where the replicas of a removed one go, a plan decides."""
    return step.change is Change.REPLACE


def _crossing_bytes(snapshot: KafkaSnapshot, broker: int, cloud: str) -> int:
    racks = {b.id: b.rack and site_of(cloud, b.rack) for b in snapshot.brokers.values()}
    mine = racks.get(broker)
    held = (p for p in snapshot.partitions if broker in p.replicas)
    return sum(p.size_bytes for p in held if mine is None or racks.get(p.leader) != mine)
