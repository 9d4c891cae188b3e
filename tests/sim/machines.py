"""The simulated cloud: VMs, volumes and addresses, and what Terraform does to them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import InventorySeen
from controlplane.storage.latest_values import LatestStore
from providers.base import CloudVolume, TerraformRun
from providers.errors import CloudUnavailable, NotYetGone, ProviderError
from providers.handover import Handover
from providers.notices import MaintenanceNotice
from tests.fakes.kafka import FakeKafka
from tests.sim.evidence import Deletion, Violation
from tests.sim.services import Services
from tests.sim.tfruns import ordered, unasked
from tests.sim.vms import Vm, listed, moved, voting_on


class Machines(Services):
    """One place of the simulated cloud, with the cluster that runs on it. Implements the `Inventory` port."""

    def __init__(self, kafka: FakeKafka, latest: LatestStore, clock: Callable[[], datetime]) -> None:
        super().__init__(kafka, latest, clock)
        self.addresses_by_place: dict[str, dict[str, str]] = {}
        self.stillborn: set[str] = set()
        """Nodes whose next VM never boots."""
        self.mute: set[str] = set()
        """Nodes whose next VM runs, by the cloud's word, and whose agent nobody ever hears of."""
        self.volume_places: dict[str, str] = {}
        self.stuck_volumes: set[str] = set()
        """Volumes that the cloud lists as any other, and gives to no VM any more."""
        self.announced: dict[str, MaintenanceNotice] = {}
        self._next_address = 0
        self.states: dict[str, set[str]] = {}
        """By place, what Terraform's state has there."""
        self.refuse_listings: ProviderError | None = None
        """What every listing is answered with."""
        self.silent: set[str] = set()
        """Places whose cloud does not answer."""
        self.holds_mounted = False
        """Whether it keeps a disk that is mounted in a VM that runs."""

    @property
    def created(self) -> list[str]:
        """Keys of all VMs ever made, in order."""
        return self.evidence.created

    # --- the Inventory port -----------------------------------------------------------------------------------

    def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
        mute = {str(p) for p in places_of(view)} & self.silent
        if self.refuse_listings is not None:
            raise self.refuse_listings
        if self.outage or (mute and len(mute) == len(places_of(view))):
            raise CloudUnavailable("sim: the cloud does not answer")
        heard = {k: v for k, v in {**self.buried, **self.vms}.items() if v.place not in mute}
        live = {k: listed(v, self.seconds) for k, v in heard.items() if v.alive and k in self.vms}
        told = {k: n for k, n in self.announced.items() if k in live}
        return InventorySeen(
            self._clock(),
            live,
            frozenset(heard.keys() - live.keys()),
            {k: v for k, v in self.volumes.items() if self.volume_places.get(k) not in mute},
            dict(self.addresses),
            notices=told,
            silent=dict.fromkeys(mute, CloudUnavailable("sim: no answer")),
            addresses_by_place={p: dict(a) for p, a in self.addresses_by_place.items() if p not in mute},
        )

    def lose_disks(self, key: str) -> None:
        """The disks of this VM go, with all that was on them, as some do with the machine they were in."""
        for volume in [v.key for v in self.volumes.values() if v.attached_to == key]:
            self.volumes.pop(volume)

    def terminate(self, view: ClusterView, cloud_id: str) -> None:
        self._delete_instance(cloud_id.removeprefix("vm-"))

    # --- what Terraform does ----------------------------------------------------------------------------------

    def apply(self, run: TerraformRun, *, changes: int | None = None) -> None:
        """Does the run's creates and deletes, or only the first few of them (a run killed half-way)."""
        both = run.forget & (run.deletes | run.creates)
        if both:
            raise Violation(f"the guard refuses a run that forgets what it changes: {sorted(both)}")
        place = str(run.resources.place)
        state = self.states.setdefault(place, set())
        state -= run.forget
        if other := unasked(run, state):
            raise Violation(f"the guard refuses {run.kind} in {place}: it would change {sorted(other)}")
        for number, change in enumerate(ordered(run)):
            if changes is not None and number >= changes:
                return
            self._change(run, *change)
            verb, kind, key = change
            (state.add if verb == "create" else state.discard)(f"{kind}/{key}")
        for target, size_gib in run.grows.items():
            self._grow(target.partition("/")[2], size_gib)

    def _change(self, run: TerraformRun, verb: str, kind: str, key: str) -> None:
        if kind == "instance":
            self._create_instance(run, key) if verb == "create" else self._delete_instance(key)
        elif kind == "volume":
            self._change_volume(run, verb, key)
        elif kind == "attachment":
            self._attach(run, verb, key)
        elif kind == "address":
            there = self.addresses_by_place.setdefault(str(run.resources.place), {})
            if verb == "create":
                self.addresses[key] = there.setdefault(key, self._new_address())
            else:
                there.pop(key, None)
                left = [a[key] for a in self.addresses_by_place.values() if key in a]
                self.addresses = {**self.addresses, key: left[0]} if left else self._without_address(key)
        elif verb == "create":
            self._refuse_late_tie(run, key, kind)
            self.vms[key].bound = True
        elif key in self.vms:
            self.vms[key].bound = False

    def _without_address(self, node: str) -> dict[str, str]:
        return {n: a for n, a in self.addresses.items() if n != node}

    def _grow(self, key: str, size_gib: int) -> None:
        volume = self.volumes[key]
        if volume.size_gib > size_gib:
            raise Violation(f"{key} has {volume.size_gib} GiB and is to have {size_gib}")
        self.volumes[key] = replace(volume, size_gib=size_gib)
        vm = self.vms.get(volume.attached_to or "")
        process = vm.process if vm is not None else None
        if process is not None and process.document.name == "broker":
            self.kafka.on_disk.grow(process.document.node_id, size_gib / volume.size_gib)

    def _create_instance(self, run: TerraformRun, key: str) -> None:
        if key in self.vms and self.vms[key].alive:
            return
        wanted = next(i for i in run.resources.instances if i.key == key)
        self.created.append(key)
        boots = wanted.node not in self.stillborn
        self.stillborn.discard(wanted.node)
        mute = wanted.node in self.mute
        self.mute.discard(wanted.node)
        self.vms[key] = Vm(
            run.resources.cluster_uid,
            wanted.node,
            wanted.generation,
            wanted.intent_id,
            wanted.zone,
            self._new_address(),
            self.seconds,
            made_by=run.intent_id,
            boots=boots,
            deaf=mute,
            place=str(run.resources.place),
        )

    def _delete_instance(self, key: str) -> None:
        vm = self.vms.get(key)
        if vm is None:
            return
        self.evidence.votes += voting_on(self.vms, [key], self.kafka.voters())
        document = vm.process.document if vm.process else None
        if document is not None and document.name == "broker":
            at_home = vm.key == self._home_of(document.log_dirs[0].volume)
            hosted = [p for p in self.kafka.partitions() if at_home and document.node_id in (*p.replicas, *p.adding)]
            self.evidence.deletions.append(Deletion(key, document.node_id, len(hosted), vm.alive))
        self._power_off(vm)
        self.buried[key] = self.vms.pop(key)
        for volume in list(self.volumes.values()):
            if volume.attached_to == key:
                self.volumes[volume.key] = moved(volume, None)

    def _home_of(self, volume: str) -> str | None:
        found = self.volumes.get(volume)
        return found.attached_to if found else None

    def _change_volume(self, run: TerraformRun, verb: str, key: str) -> None:
        if verb == "create":
            wanted = next(v for v in run.resources.volumes if v.key == key)
            self.volume_places[key] = str(run.resources.place)
            self.volumes.setdefault(
                key, CloudVolume(key, run.resources.cluster_uid, wanted.zone, wanted.size_gib, None)
            )
        else:
            self.kafka.migration.deletes(key)
            self.volumes.pop(key, None)

    def _attach(self, run: TerraformRun, verb: str, key: str) -> None:
        instance, _, dir_name = key.rpartition(".")
        found = [a for a in run.resources.attachments if a.key == key]
        if verb == "create":
            self._refuse_late_tie(run, instance, "attachment")
            volume = self.volumes.get(found[0].volume)
            if volume is None or volume.key in self.stuck_volumes:
                raise CloudUnavailable(f"sim: {found[0].volume} cannot be attached to {instance}")
            holder = self.vms.get(volume.attached_to or "")
            if volume.attached_to != instance and holder is not None and holder.alive:
                raise Violation(f"{volume.key} is attached to {volume.attached_to} and asked for by {instance}")
            self.volumes[volume.key] = moved(volume, instance)
            return
        self._refuse_mounted(key)
        for volume in list(self.volumes.values()):
            if volume.attached_to == instance and volume.key.split(".")[-2] == dir_name:
                vm = self.vms.get(instance)
                if vm is not None and vm.processes and vm.alive:
                    raise Violation(f"{volume.key} is taken from {instance} while its service runs")
                self.volumes[volume.key] = moved(volume, None)

    def _refuse_mounted(self, attachment: str) -> None:
        """Nobody takes a disk from an agent that could have unmounted it; some clouds take none from anybody."""
        instance, _, dir_name = attachment.rpartition(".")
        vm = self.vms.get(instance)
        held = [v for v in self.attached.on(vm, self.volumes) if v in vm.mounted] if vm is not None else []
        mounted = [v for v in held if v.split(".")[-2] == dir_name]
        if vm is None or not vm.alive or not mounted:
            return
        if self.holds_mounted:
            raise NotYetGone(f"sim: {mounted[0]} is still mounted in {instance}")
        if not vm.deaf and not vm.cut:
            raise Violation(f"{mounted[0]} is taken from {instance} while its agent has it mounted")

    def _refuse_late_tie(self, run: TerraformRun, key: str, kind: str) -> None:
        if self.handover is Handover.DELETE_FIRST and self.vms[key].made_by != run.intent_id:
            raise Violation(f"{key} stands already: here a VM gets its {kind} when it is made")
        if self.handover is Handover.NONE and kind == "binding" and self.vms[key].generation > 1:
            raise Violation(f"an address that stays with its VM is asked for by {key}")

    def _new_address(self) -> str:
        self._next_address += 1
        return f"127.64.0.{self._next_address}"
