"""What the cloud has and the state does not know is imported before anything is planned: no twin is made beside it.

A Terraform that is killed while the call that makes a VM is on its way leaves a VM, with its intent in its tags, that
no state knows. The same run would make another one; so would any run after the state was lost. Here the listing is
compared with the state first. Pure but for one listing; clouds whose creates are repeatable need none of this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from providers import base, catalog, errors, twins
from providers.tf.abilities import Import, ImportsResources
from providers.tf.rendered_set import merged, only, targets_of
from providers.tf.state_body import addresses_in, instance_ids_in, targets_in


@dataclass(frozen=True, slots=True)
class ImportStep:
    """A run of its own before the run: it takes `imports` into the state, and changes nothing in the cloud.

    `run` renders what the state holds and what comes in; its `creates` are what may be made again without harm.
    """

    run: base.TerraformRun
    imports: tuple[Import, ...]


def import_step(run: base.TerraformRun, state: bytes | None, provider: base.CloudProvider) -> ImportStep | None:
    """The step that goes before `run`, None when the state knows all the run is about.

    Asked about is what the run creates, and all that stands before it (`adopts`) once the state lacks any of that: the
    cloud is listed for nothing else. Raises `NotImportable`, `ResourceConflict` where a key's VM is of another intent,
    and what a listing may end with.
    """
    before = targets_of(run.adopts) if run.adopts is not None else frozenset[str]()
    held, known = targets_in(state), addresses_in(state)
    asked = (before | run.creates) - run.forget
    if not run.creates and asked <= held:
        return None
    resources = merged(run.adopts, run.resources) if run.adopts is not None else run.resources
    listing = one_of_each(provider.list_place(resources.place), resources, instance_ids_in(state))
    _refuse_other_intents(resources, listing)
    imports: list[Import] = []
    coming: set[str] = set()
    again: set[str] = set()
    for target in sorted((asked & there(resources, listing)) - _going(run, listing)):
        way = provider.imports(target, resources, listing) if isinstance(provider, ImportsResources) else None
        if way is None and target not in held:
            raise errors.NotImportable(
                f"{resources.place}: the state of {resources.cluster_name} does not know {target}, which exists, and "
                f"{provider.name} cannot import it"
            )
        unknown = [i for i in way or () if i.address not in known]
        if unknown:
            imports += unknown
            coming.add(target)
        elif way == () and target not in held | run.creates:
            again.add(target)
    if not coming and not again:
        return None
    step = replace(
        run,
        kind=base.RunKind.SURGE,
        resources=only(resources, (held | coming | again) - run.forget),
        creates=frozenset(again | (run.creates & held)),
        deletes=frozenset(),
        adopts=None,
    )
    return ImportStep(step, tuple(imports))


def there(resources: base.Resources, listing: base.Listing) -> frozenset[str]:
    """Targets of this cluster the cloud has in any state but gone: a VM that boots, or was stopped, exists."""
    uid = resources.cluster_uid
    machines = {i.key: i for i in listing.instances if i.cluster_uid == uid}
    disks = {v.key for v in listing.volumes if v.cluster_uid == uid}
    own = {v.key for v in resources.volumes if v.kind == catalog.EPHEMERAL}
    disks |= own & {key for i in machines.values() for key in i.volumes}
    addresses = {node: address for (owner, node), address in listing.node_addresses.items() if owner == uid}
    attached = {a.key for a in resources.attachments if a.instance in machines}
    attached &= {a.key for a in resources.attachments if a.volume in _volumes_on(machines.get(a.instance))}
    bound = (b for b in resources.bindings if b.instance in machines)
    return frozenset(
        {f"instance/{key}" for key in machines}
        | {f"volume/{key}" for key in disks}
        | {f"attachment/{key}" for key in attached}
        | {f"address/{node}" for node in addresses}
        | {f"binding/{b.key}" for b in bound if addresses.get(b.node, "") in machines[b.instance].addresses}
    )


def one_of_each(listing: base.Listing, resources: base.Resources, known: Mapping[str, str]) -> base.Listing:
    """The listing of one cluster without the gone, and with one VM and one volume a key: `known` ids are kept."""
    uid = resources.cluster_uid
    machines = twins.existing(i for i in listing.instances if i.cluster_uid == uid)
    disks: dict[str, base.CloudVolume] = {}
    for disk in sorted(listing.volumes, key=lambda v: (v.attached_to is None, v.id)):
        if disk.cluster_uid == uid:
            disks.setdefault(disk.key, disk)
    kept = tuple(twins.kept_twin(there, known.get(key, "")) for key, there in machines.items())
    return replace(listing, instances=kept, volumes=tuple(disks.values()))


def _refuse_other_intents(resources: base.Resources, listing: base.Listing) -> None:
    wanted = {i.key: i.intent_id for i in resources.instances}
    for machine in listing.instances:
        if machine.intent_id != wanted.get(machine.key, machine.intent_id):
            raise errors.ResourceConflict(
                f"{resources.place}: {machine.id} has the key {machine.key}, which is planned for intent "
                f"{wanted[machine.key]}, and was made for intent {machine.intent_id}"
            )


def _going(run: base.TerraformRun, listing: base.Listing) -> frozenset[str]:
    """What the run is to delete and an earlier try of it has begun to: VMs that end, and what hangs on them."""
    ending = {i.key for i in listing.instances if i.state is base.InstanceState.STOPPING}
    words = {t: t.partition("/") for t in run.deletes}
    own = {t: key.rpartition(".")[0] if word == "attachment" else key for t, (word, _, key) in words.items()}
    return frozenset(t for t, key in own.items() if key in ending and not t.startswith("volume/"))


def _volumes_on(machine: base.CloudInstance | None) -> tuple[str, ...]:
    return machine.volumes if machine is not None else ()


def in_module(resource: str, key: str) -> str:
    """Terraform's address of a resource of the cloud's module, as `aws_instance.instance`, by its key."""
    return f'module.kedge.{resource}["{key}"]'
