"""Simulated machines whose cloud is a fake of a real one: read by its own inventory code, changed by a modelled
Terraform that performs the module's creates and deletes there.

The model keeps to what was seen of the real program: a state that is pushed every 20 s, children that outlive a killed
Terraform by one call, a refresh by ids. Import steps, guard and the judgement of what is unfinished are the real code.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random

from botocore.exceptions import ClientError

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.tick.inventory import ListedInventory
from controlplane.storage.latest_values import LatestStore
from providers.base import CloudProvider, InstanceState, Listing, Place, Resources, TerraformRun
from providers.errors import (
    CloudUnavailable,
    NoCapacity,
    NotYetGone,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    RunInterrupted,
    TerraformFailed,
)
from providers.handover import Handover, handover_of
from providers.lateness import unlisted_s
from providers.mounted import holds_mounted
from providers.tf.guard import check, check_import
from providers.tf.imports import import_step, there
from providers.tf.plan import Action, PlannedChange
from providers.tf.rendered_set import merged, only, targets_of
from providers.tf.unfinished import in_question, settle
from providers.tf.workspace import rendered
from providers.twins import existing, kept_twin
from tests.fakes.clouds import azure_things, digitalocean, google_world, hetzner_objects, upcloud_things
from tests.fakes.kafka import FakeKafka
from tests.sim.cloudlisting import Hands, LateListings, disk_of, in_letters, own_addresses
from tests.sim.cloudstate import ModelState
from tests.sim.machines import Machines
from tests.sim.tfruns import ordered

PUSHED_EVERY_S = 20.0
"""Remote states are written that often while an apply runs (clouds.md 5)."""

LAST_CALL_S = 2.0
"""So long after a kill the last call of a provider that Terraform left behind may still arrive: it is one call, whose
answer nobody waits for. A run is never tried again sooner (`controlplane.runtime.backoff`)."""

STRANDED_S = 60.0
"""What no call takes: a test of its own shows what becomes of one that does."""

WITH_VM = {
    "upcloud": frozenset({"attachment", "binding"}),
    "google": frozenset({"binding"}),
    "azure": frozenset({"binding"}),
}
"""What a cloud gives a VM in the call that makes it."""

REFUSALS = (
    ClientError,
    azure_things.Refusal,
    digitalocean.RefusedError,
    google_world.Refused,
    hetzner_objects.Refused,
    upcloud_things.RefusedError,
)
"""How the fakes say no to a call."""

FAILURES: Mapping[str, type[ProviderError]] = {
    "no capacity": NoCapacity,
    "quota": QuotaExceeded,
    "throttled": RateLimited,
    "500": CloudUnavailable,
    "made but 500": CloudUnavailable,
    "made, its wait failed": TerraformFailed,
}
"""What may become of the next create of a run. Only the last two have made something by then."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one call of a provider does: a verb and the targets it is for."""

    verb: str
    targets: tuple[str, ...]

    @property
    def word(self) -> str:
        return self.targets[0].partition("/")[0]


class CloudMachines(Machines):
    """Machines in one or several clouds' fakes. Implements the `Inventory` port by the real listing code."""

    def __init__(
        self, kafka: FakeKafka, latest: LatestStore, clock: Callable[[], datetime], hands: Mapping[str, Hands]
    ) -> None:
        super().__init__(kafka, latest, clock)
        self.random = Random(0)
        self.hands = hands
        self.clouds = {
            name: LateListings(own.cloud, own, clock, lambda: self.seconds) for name, own in self.hands.items()
        }
        self.pushed = {name: ModelState(name) for name in hands}
        """By cloud, Terraform's state."""
        self.ever: dict[str, Resources] = {}
        """By cloud, all that was ever rendered there."""
        self.bad_calls: list[str] = []
        """What becomes of the next creates, by the names of `FAILURES`."""
        self.late: list[tuple[float, Callable[[], None]]] = []
        self.stranded = ""
        """The cloud whose next run is killed as it asks for VMs: those calls arrive `STRANDED_S` later."""
        self.kills = self.imports = 0
        self.twins: set[str] = set()
        self._listed = ListedInventory(self._cloud, clock)

    def _cloud(self, name: str) -> CloudProvider:
        return self.clouds[name]

    def restart_inventory(self) -> None:
        """A new server has read nothing yet."""
        self._listed = ListedInventory(self._cloud, self._clock)

    def handover_on(self, cloud: str) -> Handover:
        return handover_of(self.hands[cloud].cloud)

    def holds_mounted_on(self, cloud: str) -> bool:
        return holds_mounted(self.hands[cloud].cloud)

    def unlisted_in(self, cloud: str) -> float:
        return unlisted_s(self.hands[cloud].cloud)

    # --- the Inventory port -----------------------------------------------------------------------------------

    def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
        if self.outage:
            raise CloudUnavailable("sim: the cloud does not answer")
        return self._listed.seen(view, newer_than=newer_than)

    def terminate(self, view: ClusterView, cloud_id: str) -> None:
        own = {vm_id: key for cloud in self.clouds for vm_id, key in self._keys(cloud).items()}
        self._listed.terminate(view, cloud_id)
        for cloud in self.clouds:
            self.clouds[cloud].is_stale = True
            self._mirror(cloud)
        left = {i.key for c in self.clouds.values() for i in c.truth.instances if i.state is not InstanceState.GONE}
        if own.get(cloud_id, "") not in left:
            self._delete_instance(own.get(cloud_id, ""))

    def _keys(self, cloud: str) -> dict[str, str]:
        return {i.id: i.key for i in self.clouds[cloud].truth.instances}

    # --- fate -------------------------------------------------------------------------------------------------

    def power_cut(self, key: str) -> None:
        super().power_cut(key)
        for cloud, own in self.hands.items():
            for vm_id in [i for i, k in self._keys(cloud).items() if k == key]:
                own.power_cut(vm_id)
                self.clouds[cloud].is_stale = True
                self._mirror(cloud)

    def advance(self, seconds: float, documents: Callable[[str, str], object]) -> None:
        for at, land in list(self.late):
            if at <= self.seconds:
                self.late.remove((at, land))
                land()
        super().advance(seconds, documents)  # type: ignore[arg-type]

    # --- Terraform --------------------------------------------------------------------------------------------

    def apply(self, run: TerraformRun, *, changes: int | None = None) -> None:
        """One guarded run. With `changes` Terraform is killed somewhere in its middle, and this raises."""
        try:
            self._apply(run, is_killed=changes is not None)
        finally:
            self._mirror(run.resources.place.cloud)

    def _apply(self, run: TerraformRun, *, is_killed: bool) -> None:
        place = run.resources.place
        cloud = self.clouds[place.cloud]
        cloud.provider.variables(rendered(run))
        state = self.pushed[place.cloud].without(run.forget)
        everything = merged(run.resources, run.adopts) if run.adopts is not None else run.resources
        known = self.ever.get(place.cloud)
        self.ever[place.cloud] = merged(everything, known) if known is not None else everything
        step = import_step(run, state.body(), cloud)
        if step is not None:
            addresses = frozenset(i.address for i in step.imports)
            state = self._settled(step.run, state)
            check_import(self._planned(step.run, state, addresses), step.run, addresses)
            state = self._imported(step.run, state)
        state = state.refreshed(cloud.truth, self.ever[place.cloud], there(self.ever[place.cloud], cloud.truth))
        state = self._settled(run, state)
        self.pushed[place.cloud] = state
        check(self._planned(run, state), run)
        units = list(self._units(run, state))
        if self.stranded == place.cloud:
            self.stranded = ""
            self._stranded(run, [u for u in units if u.word == "instance"])
        if is_killed:
            self._killed(run, units, state)
            raise RunInterrupted("terraform was killed half-way")
        self._all(run, units, state)

    def made_ids(self, place: Place) -> Mapping[str, str]:
        """What the state of a place says VMs are called: what a run that ended well tells."""
        return dict(self.pushed[place.cloud].ids)

    def _settled(self, run: TerraformRun, state: ModelState) -> ModelState:
        questioned = in_question(state.resources(), run)
        if not questioned:
            return state
        cloud = self.clouds[run.resources.place.cloud]
        settlement = settle(questioned, run, cloud.list_place(run.resources.place), repeatable=False)
        return state.untainted(settlement.untaint)

    def _planned(
        self, run: TerraformRun, state: ModelState, imports: frozenset[str] = frozenset()
    ) -> Iterator[PlannedChange]:
        wanted = targets_of(rendered(run))
        for address in sorted(imports):
            yield PlannedChange(address, _target(address), Action.NOOP, imported=True)
        coming = {_target(a) for a in imports}
        for target in sorted(wanted | state.held.keys()):
            if target not in wanted:
                yield PlannedChange(target, target, Action.DELETE)
            elif target in state.tainted:
                yield PlannedChange(target, target, Action.REPLACE)
            elif target in state.held:
                yield PlannedChange(target, target, Action.NOOP)
            elif target not in coming:
                yield PlannedChange(target, target, Action.CREATE)

    def _imported(self, run: TerraformRun, state: ModelState) -> ModelState:
        self.imports += 1
        wanted = targets_of(run.resources) - state.held.keys()
        truth = self.clouds[run.resources.place.cloud].truth
        there_now = existing(i for i in truth.instances if i.cluster_uid == run.resources.cluster_uid)
        for target in sorted(wanted):
            key = target.partition("/")[2]
            made = kept_twin(there_now[key]).id if target.startswith("instance/") else ""
            state = state.with_made(target, run.resources, made_id=made)
        return state

    def _units(self, run: TerraformRun, state: ModelState) -> Iterator[Unit]:
        """The run's changes as a provider's calls, in Terraform's order."""
        wanted = targets_of(rendered(run))
        together = WITH_VM.get(run.resources.place.cloud, frozenset())
        creating = {t for t in wanted if t not in state.held}
        for verb, word, key in ordered(run):
            target = f"{word}/{key}"
            if verb == "delete" and target in state.held:
                yield Unit(verb, (target,))
            if verb == "create" and target in creating:
                ties = {
                    t for t in creating if word == "instance" and _is_tie(t, key) and t.partition("/")[0] in together
                }
                yield Unit(verb, (target, *sorted(ties)))
                creating -= {target, *ties}

    def _all(self, run: TerraformRun, units: list[Unit], state: ModelState) -> None:
        """Every unit; what fails keeps what hangs on it from being made, and is told when the others are done."""
        failed: list[ProviderError] = []
        missing: set[str] = set()
        for unit in units:
            if missing & _needs(run.resources, unit):
                missing |= set(unit.targets)
                continue
            fault = self.bad_calls.pop() if self.bad_calls and unit.verb == "create" else ""
            if fault in ("no capacity", "quota", "made, its wait failed") and unit.word != "instance":
                fault = "500"
            refused = None
            if fault in ("", "made but 500", "made, its wait failed"):
                refused = self._refused(run, unit)
            if refused is not None:
                failed.append(refused)
                missing |= set(unit.targets)
                continue
            if fault:
                failed.append(FAILURES[fault](f"sim: {unit.verb} of {unit.targets[0]}: {fault}"))
                missing |= set(unit.targets)
            if not fault or fault == "made, its wait failed":
                state = self._remembered(run, unit, state, tainted=bool(fault))
        self.pushed[run.resources.place.cloud] = state
        self.states[str(run.resources.place)] = set(state.held)
        if failed:
            raise failed[0]

    def _killed(self, run: TerraformRun, units: list[Unit], state: ModelState) -> None:
        """Some units are done, of those some are in the state, and the next calls are on their way."""
        self.kills += 1
        cut = self.random.randint(0, len(units))
        seconds = pushed_at = 0.0
        memory = state
        for unit in units[:cut]:
            if self._refused(run, unit) is None:
                memory = self._remembered(run, unit, memory)
            seconds += self.random.uniform(0.5, 8.0)
            if seconds - pushed_at >= PUSHED_EVERY_S:
                pushed_at, state = seconds, memory
        self.pushed[run.resources.place.cloud] = state
        self.states[str(run.resources.place)] = set(state.held)
        following = units[cut : cut + self.random.randint(0, 3)]
        for unit in (u for u in following if (u.verb, u.word) == (following[0].verb, following[0].word)):
            if self.random.random() < 0.7:
                self.late.append((self.seconds + self.random.uniform(0.0, LAST_CALL_S), self._landing(run, unit)))

    def _stranded(self, run: TerraformRun, asked: list[Unit]) -> None:
        self.late += [(self.seconds + STRANDED_S, self._landing(run, unit)) for unit in asked]
        raise RunInterrupted("terraform was killed half-way")

    def _landing(self, run: TerraformRun, unit: Unit) -> Callable[[], None]:
        def land() -> None:
            self._refused(run, unit)  # what comes too late may be refused, and nobody hears it
            self._mirror(run.resources.place.cloud)

        return land

    def _remembered(self, run: TerraformRun, unit: Unit, state: ModelState, *, tainted: bool = False) -> ModelState:
        if unit.verb == "delete":
            return state.without(unit.targets)
        for target in unit.targets:
            key = target.partition("/")[2]
            own = self.hands[run.resources.place.cloud]
            made = own.id_of(key, run.resources.cluster_uid) if target.startswith("instance/") else ""
            marked = tainted and target.startswith("instance/")
            state = state.with_made(target, run.resources, made_id=made, tainted=marked)
        return state

    def _refused(self, run: TerraformRun, unit: Unit) -> ProviderError | None:
        """Makes the call. What the cloud says against it, in our words for it; None where it is done."""
        try:
            self._do(run, unit)
        except NotYetGone as error:
            return error
        except REFUSALS as refusal:
            code = getattr(refusal, "code", "") or getattr(refusal, "reason", "")
            told = f"{unit.verb} of {unit.targets[0]}: {code}: {refusal}"
            known: ProviderError | None = self.hands[run.resources.place.cloud].cloud.recognise([told])
            return known or TerraformFailed(told)
        return None

    def _do(self, run: TerraformRun, unit: Unit) -> None:
        """The call, and what it means to the machines."""
        cloud = run.resources.place.cloud
        own = self.hands[cloud]
        self.holds_mounted = self.holds_mounted_on(cloud)
        if (unit.verb, unit.word) == ("delete", "attachment"):
            self._refuse_mounted(unit.targets[0].partition("/")[2])
        told = rendered(run) if unit.verb == "create" else self.ever[cloud]
        wanted = in_letters(only(told, _closure(told, unit.targets)), own)
        if unit.verb == "create":
            own.create(wanted, *unit.targets)
        elif unit.word in ("volume", "address"):
            own.discard(wanted, unit.targets[0])
        else:
            own.delete(wanted, *unit.targets)
        for target in unit.targets:
            word, _, key = target.partition("/")
            self._change(run, unit.verb, word, key)
        self.clouds[cloud].is_stale = True

    def _refuse_late_tie(self, run: TerraformRun, key: str, kind: str) -> None:
        self.handover = self.handover_on(run.resources.place.cloud)
        super()._refuse_late_tie(run, key, kind)

    def _mirror(self, cloud: str) -> Listing:
        """What is in the fake is so for the machines."""
        told = self.clouds[cloud].truth
        region = str(told.place)
        mine = {k for k, p in self.volume_places.items() if p == region}
        there_now = {v.key: disk_of(v) for v in told.volumes}
        for key in mine - there_now.keys():
            self.volumes.pop(key, None)
        self.volumes.update(there_now)
        self.addresses.update({node: address for (_, node), address in told.node_addresses.items()})
        for key, machines in existing(told.instances).items():
            if len(machines) > 1:
                self.twins.add(key)
            if (vm := self.vms.get(key)) is not None:
                first = kept_twin(machines, self.pushed[cloud].ids.get(key, ""))
                vm.address = first.address or vm.address
                vm.bound = own_addresses(first, told)
        return told


def _target(address: str) -> str:
    """`instance/b-0.g1` for `module.kedge.aws_instance.instance["b-0.g1"]`."""
    name, _, key = address.rpartition('["')[0].rpartition(".")[2], "", address.rpartition('["')[2][:-2]
    return f"{name.partition('_')[0]}/{key}"


def _is_tie(target: str, instance: str) -> bool:
    word, _, key = target.partition("/")
    return (word == "binding" and key == instance) or (word == "attachment" and key.rpartition(".")[0] == instance)


def _needs(resources: Resources, unit: Unit) -> frozenset[str]:
    """What has to be there before a create of it."""
    if unit.verb == "delete":
        return frozenset()
    of_ties = {f"attachment/{a.key}": (f"instance/{a.instance}", f"volume/{a.volume}") for a in resources.attachments}
    of_ties |= {f"binding/{b.key}": (f"instance/{b.instance}", f"address/{b.node}") for b in resources.bindings}
    return frozenset(n for target in unit.targets for n in of_ties.get(target, ())) - set(unit.targets)


def _closure(resources: Resources, targets: tuple[str, ...]) -> frozenset[str]:
    """With what they refer to."""
    found = set(targets)
    found |= {f"address/{i.node}" for i in resources.instances if f"instance/{i.key}" in found}
    for a in resources.attachments:
        if {f"attachment/{a.key}", f"instance/{a.instance}"} & found:
            found.add(f"attachment/{a.key}")
            found |= {f"instance/{a.instance}", f"volume/{a.volume}"}
    for b in resources.bindings:
        if {f"binding/{b.key}", f"instance/{b.instance}"} & found:
            found.add(f"binding/{b.key}")
            found |= {f"instance/{b.instance}", f"address/{b.node}"}
    return frozenset(found)
