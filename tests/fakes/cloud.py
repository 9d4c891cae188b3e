"""A cloud in memory: the same answers as a real one, at once, with a clock and with faults that a test can switch.

`apply` is Terraform with its guard: it keeps a state per (cluster, place), plans against the rendered set, refuses what
the run does not name, and can be killed half-way like the real one (the VM exists, the state does not know it).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from providers.base import (
    CloudInstance,
    CloudVolume,
    InstanceResource,
    InstanceState,
    Listing,
    Place,
    Resources,
    TerraformRun,
)
from providers.catalog import EPHEMERAL
from providers.errors import PlaceUnknown, ProviderError, ResourceConflict, RunInterrupted
from providers.handover import Handover
from providers.tf.guard import check
from providers.tf.plan import Action, PlannedChange
from providers.tf.workspace import rendered
from providers.variables import module_variables

_ALIVE = (InstanceState.RUNNING, InstanceState.PENDING)
_CREATE_ORDER = ("address", "volume", "instance", "attachment", "binding")


@dataclass(slots=True)
class _Vm:
    installation_id: str
    seen: CloudInstance
    boots_at: datetime
    made_by: str = ""
    """Intent of the run that made it."""
    powered: bool = True


@dataclass(slots=True)
class _Disk:
    installation_id: str
    seen: CloudVolume
    ephemeral: bool


@dataclass(slots=True)
class _Region:
    vms: dict[str, _Vm] = field(default_factory=dict)
    buried: set[str] = field(default_factory=set)
    disks: dict[tuple[str, str], _Disk] = field(default_factory=dict)
    addresses: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(cluster uid, node) -> (installation id, address)"""
    bound: dict[tuple[str, str], str] = field(default_factory=dict)
    """(cluster uid, node) -> instance key"""
    had_address: set[tuple[str, str]] = field(default_factory=set)


@dataclass(slots=True)
class World:
    """What exists, whoever looks at it: several `FakeCloud`s (installations) may share one."""

    regions: dict[Place, _Region] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    def region(self, place: Place) -> _Region:
        return self.regions.setdefault(place, _Region())

    def address_of(self, owner: str, recorded: str | None) -> str:
        if recorded is not None:
            return self.given.setdefault(owner, recorded)
        count = len(self.given) + 1
        return self.given.setdefault(owner, f"10.{count >> 16}.{count >> 8 & 255}.{count & 255}")


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class FakeCloud:
    """One installation's view of a `World`. `boot_time` is how long a new VM is pending by `now`.

    `kind` is what the cloud can do with a node's address: with `DELETE_FIRST` a VM gets address and disk only in the
    run that makes it, with `NONE` no VM gets an address that another one had.

    Faults: `failures` are raised by the next calls, one each; `list_lag` listings repeat the last one;
    `ignored_destroys` deletes report success and leave the VM running.
    """

    installation_id: str = "test"
    name: str = "local"
    world: World = field(default_factory=World)
    now: Callable[[], datetime] = _utc_now
    boot_time: timedelta = timedelta(0)
    regions: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"local-1": ("a", "b", "c"), "local-2": ("a", "b", "c")}
    )
    failures: list[ProviderError] = field(default_factory=list)
    kind: Handover = Handover.REBIND
    list_lag: int = 0
    ignored_destroys: int = 0
    applied: list[TerraformRun] = field(default_factory=list)
    states: dict[tuple[str, Place], set[str]] = field(default_factory=dict)
    _last: dict[Place, Listing] = field(default_factory=dict)

    def handover(self) -> Handover:
        return self.kind

    def zones(self, region: str) -> tuple[str, ...]:
        if region not in self.regions:
            raise PlaceUnknown(f"no region {region!r}; there is {', '.join(self.regions)}")
        return self.regions[region]

    def list_place(self, place: Place) -> Listing:
        region = self._reach(place)
        if self.list_lag > 0:
            self.list_lag -= 1
            return replace(self._last.get(place, Listing(place, self.now(), ())), at=self.now())
        self._last[place] = Listing(
            place=place,
            at=self.now(),
            instances=tuple(
                self._seen(region, vm) for vm in region.vms.values() if vm.installation_id == self.installation_id
            ),
            volumes=tuple(
                d.seen for d in region.disks.values() if d.installation_id == self.installation_id and not d.ephemeral
            ),
            node_addresses={
                owner: address
                for owner, (installation, address) in region.addresses.items()
                if installation == self.installation_id
            },
        )
        return self._last[place]

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        region = self._reach(place)
        buried = {i: InstanceState.GONE for i in instances if i in region.buried}
        return buried | {i: self._state(region.vms[i]) for i in instances if i in region.vms}

    def terminate(self, place: Place, instance: str) -> None:
        region = self._reach(place)
        vm = region.vms.get(instance)
        if vm is not None and vm.installation_id != self.installation_id:
            raise ResourceConflict(f"{instance} has not this installation's tag; it is not terminated")
        self._bury(region, instance)

    def variables(self, resources: Resources) -> dict[str, object]:
        self._region(resources.place)
        uid, choose = resources.cluster_uid, self.world.address_of
        return module_variables(
            resources,
            cloud={},
            instance=lambda i: {"address": choose(f"{uid}/{i.key}", i.address)},
            address=lambda a: choose(f"{uid}/{a.node}", a.address),
        )

    def apply(self, run: TerraformRun, *, die_after: int | None = None) -> tuple[str, ...]:
        """Run it; returns the changed targets. Raises what a real run raises.

        `die_after=n`: killed during the change after the n-th; that one happened, but the state does not know.
        """
        place, uid = run.resources.place, run.resources.cluster_uid
        region, resources = self._region(place), rendered(run)
        state = self.states.setdefault((uid, place), set())
        state -= run.forget
        changes = _plan(state, _targets(resources), self._grown(region, resources) if run.grows else {})
        check(changes, run)
        self.applied.append(run)
        acting = [c for c in changes if c.action is not Action.NOOP]
        for done, change in enumerate(sorted(acting, key=_order)):
            if change.action is Action.CREATE:
                self._create(region, resources, change.target, run.intent_id)
            elif change.action is Action.UPDATE:
                disk = region.disks[uid, change.target.partition("/")[2]]
                disk.seen = replace(disk.seen, size_gib=change.changed["size"][1])
            else:
                self._delete(region, uid, change.target)
            if die_after is not None and done >= die_after:
                raise RunInterrupted(f"killed while working on {change.target}")
            (state.discard if change.action is Action.DELETE else state.add)(change.target)
        return tuple(sorted(c.target for c in acting))

    def _grown(self, region: _Region, resources: Resources) -> dict[str, tuple[int, int]]:
        there = {
            v.key: d.seen.size_gib for v in resources.volumes if (d := region.disks.get((resources.cluster_uid, v.key)))
        }
        return {
            f"volume/{v.key}": (there[v.key], v.size_gib)
            for v in resources.volumes
            if there.get(v.key, v.size_gib) != v.size_gib
        }

    def power_cut(self, place: Place, instance: str) -> None:
        """The VM dies; its record and its disks stay."""
        self._region(place).vms[instance].powered = False

    def power_on(self, place: Place, instance: str) -> None:
        self._region(place).vms[instance].powered = True

    def _create(self, region: _Region, resources: Resources, target: str, intent: str) -> None:
        word, _, key = target.partition("/")
        uid = resources.cluster_uid
        if word == "instance":
            self._boot(region, resources, next(i for i in resources.instances if i.key == key), intent)
        elif word == "volume":
            wanted = next(v for v in resources.volumes if v.key == key)
            disk = CloudVolume(key, uid, wanted.zone, wanted.size_gib, attached_to=None)
            region.disks.setdefault((uid, key), _Disk(self.installation_id, disk, wanted.kind == EPHEMERAL))
        elif word == "attachment":
            attachment = next(a for a in resources.attachments if a.key == key)
            self._refuse_late_tie(region, uid, attachment.instance, intent)
            self._attach(region, uid, attachment.instance, attachment.volume)
        elif word == "address":
            wanted_address = next(a for a in resources.addresses if a.key == key)
            address = self.world.address_of(f"{uid}/{key}", wanted_address.address)
            region.addresses.setdefault((uid, key), (self.installation_id, address))
        else:
            node = next(b.node for b in resources.bindings if b.key == key)
            holder = region.bound.get((uid, node))
            self._refuse_late_tie(region, uid, key, intent)
            if self.kind is Handover.NONE and (uid, node) in region.had_address:
                raise ResourceConflict(f"the address of {node} stays with the VM that had it first")
            region.had_address.add((uid, node))
            if holder not in (None, key) and self._alive(region, uid, str(holder)):
                raise ResourceConflict(f"address of {node} is bound to {holder}, which is alive")
            self._living(region, uid, key)
            region.bound[uid, node] = key

    def _delete(self, region: _Region, uid: str, target: str) -> None:
        word, _, key = target.partition("/")
        if word == "instance":
            if self.ignored_destroys > 0:
                self.ignored_destroys -= 1
                return
            self._bury(region, f"{uid}/{key}")
        elif word == "volume":
            disk = region.disks.get((uid, key))
            if disk is not None and disk.seen.attached_to is not None:
                raise ResourceConflict(f"volume {key} is attached to {disk.seen.attached_to}")
            region.disks.pop((uid, key), None)
        elif word == "attachment":
            instance, _, directory = key.rpartition(".")
            self._detach(region, uid, instance, directory)
        elif word == "address":
            region.addresses.pop((uid, key), None)
        else:
            region.bound = {owner: held for owner, held in region.bound.items() if (owner[0], held) != (uid, key)}

    def _refuse_late_tie(self, region: _Region, uid: str, key: str, intent: str) -> None:
        if self.kind is Handover.DELETE_FIRST and self._living(region, uid, key).made_by != intent:
            raise ResourceConflict(f"{key} stands already: this cloud gives a VM its address and disks when it is made")

    def _boot(self, region: _Region, resources: Resources, wanted: InstanceResource, intent: str) -> None:
        uid = resources.cluster_uid
        vm_id = f"{uid}/{wanted.key}"
        if vm_id in region.buried:
            raise ResourceConflict(f"{wanted.key} was terminated; a generation is used once")
        there = region.vms.get(vm_id)
        if there is not None and there.seen.intent_id != wanted.intent_id:
            raise ResourceConflict(f"{wanted.key} belongs to intent {there.seen.intent_id}")
        if there is not None:
            return
        seen = CloudInstance(
            id=vm_id,
            cluster_uid=uid,
            node=wanted.node,
            generation=wanted.generation,
            intent_id=wanted.intent_id,
            zone=wanted.zone,
            state=InstanceState.PENDING,
            address=self.world.address_of(vm_id, wanted.address),
            spot=wanted.spot,
        )
        region.vms[vm_id] = _Vm(resources.installation_id, seen, self.now() + self.boot_time, intent)

    def _attach(self, region: _Region, uid: str, instance: str, key: str) -> None:
        vm, disk = self._living(region, uid, instance), region.disks[uid, key]
        holder = disk.seen.attached_to
        if disk.seen.zone != vm.seen.zone:
            raise ResourceConflict(f"volume {key} is in zone {disk.seen.zone}, {instance} in zone {vm.seen.zone}")
        if holder not in (None, instance) and (disk.ephemeral or self._alive(region, uid, str(holder))):
            raise ResourceConflict(f"volume {key} is attached to {holder}")
        disk.seen = replace(disk.seen, attached_to=instance)

    def _detach(self, region: _Region, uid: str, instance: str, directory: str) -> None:
        for (owner, key), disk in region.disks.items():
            if owner == uid and key.split(".")[-2] == directory and disk.seen.attached_to == instance:
                disk.seen = replace(disk.seen, attached_to=None)

    def _bury(self, region: _Region, vm_id: str) -> None:
        if vm_id not in region.vms:
            return
        vm = region.vms.pop(vm_id)
        region.buried.add(vm_id)
        for owner, disk in tuple(region.disks.items()):
            if owner[0] == vm.seen.cluster_uid and disk.seen.attached_to == vm.seen.key:
                disk.seen = replace(disk.seen, attached_to=None)
                if disk.ephemeral:
                    del region.disks[owner]
        for owner, held in tuple(region.bound.items()):
            if (owner[0], held) == (vm.seen.cluster_uid, vm.seen.key):
                del region.bound[owner]

    def _living(self, region: _Region, uid: str, key: str) -> _Vm:
        if not self._alive(region, uid, key):
            raise ResourceConflict(f"instance {key} is not alive: nothing can be attached to it")
        return region.vms[f"{uid}/{key}"]

    def _alive(self, region: _Region, uid: str, key: str) -> bool:
        vm = region.vms.get(f"{uid}/{key}")
        return vm is not None and self._state(vm) in _ALIVE

    def _state(self, vm: _Vm) -> InstanceState:
        if not vm.powered:
            return InstanceState.GONE
        return InstanceState.RUNNING if self.now() >= vm.boots_at else InstanceState.PENDING

    def _seen(self, region: _Region, vm: _Vm) -> CloudInstance:
        uid, key = vm.seen.cluster_uid, vm.seen.key
        return replace(
            vm.seen,
            state=self._state(vm),
            volumes=tuple(
                sorted(d.seen.key for (o, _), d in region.disks.items() if o == uid and d.seen.attached_to == key)
            ),
            addresses=tuple(
                region.addresses[owner][1] for owner, held in region.bound.items() if (owner[0], held) == (uid, key)
            ),
        )

    def _region(self, place: Place) -> _Region:
        if place.cloud != self.name or place.account != "default":
            raise PlaceUnknown(f"{place}: not of this cloud")
        self.zones(place.region)
        return self.world.region(place)

    def _reach(self, place: Place) -> _Region:
        region = self._region(place)
        if self.failures:
            raise self.failures.pop(0)
        return region


def _targets(resources: Resources) -> frozenset[str]:
    pairs = (
        ("instance", resources.instances),
        ("volume", resources.volumes),
        ("attachment", resources.attachments),
        ("address", resources.addresses),
        ("binding", resources.bindings),
    )
    return frozenset(f"{word}/{item.key}" for word, items in pairs for item in items)


def _plan(state: set[str], wanted: frozenset[str], grown: Mapping[str, tuple[int, int]]) -> tuple[PlannedChange, ...]:
    """`grown` are volumes whose size is rendered otherwise than it is: only a grow run's plan sees that."""

    def action(target: str) -> Action:
        if target not in state:
            return Action.CREATE
        if target in wanted and target in grown:
            return Action.UPDATE
        return Action.NOOP if target in wanted else Action.DELETE

    return tuple(
        PlannedChange(t, t, action(t), changed={"size": grown[t]} if t in grown else {}) for t in sorted(state | wanted)
    )


def _order(change: PlannedChange) -> tuple[int, str]:
    """Deletes in the reverse order of creates, as Terraform orders what depends on each other."""
    rank = _CREATE_ORDER.index(change.target.partition("/")[0])
    return (rank if change.action is Action.CREATE else -rank, change.target)


def json_safe(value: object) -> bool:
    """Whether a value survives JSON unchanged."""
    return bool(json.loads(json.dumps(value)) == value)
