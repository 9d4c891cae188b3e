"""From the fold to Terraform: the rendered set of a cluster's place, and what one run may change in it. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from controlplane.cluster.folds.growth import size_of
from controlplane.cluster.folds.steps import frozen
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of, places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.controller_moves import has_ties
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from events.facts import PlannedImage
from events.instance_facts import PlannedDisk, PlannedVolume
from providers.base import (
    AddressBinding,
    AddressResource,
    Attachment,
    InstanceResource,
    Place,
    Resources,
    RunKind,
    Tagging,
    TerraformRun,
    VolumeResource,
)
from providers.given_machines import find_given
from providers.made_from import MadeFrom

BootData = Callable[[InstanceView], str]
"""Boot data of an instance, byte-identical each time it is asked for."""


def terraform_run(
    view: ClusterView,
    intent: IntentView,
    *,
    installation_id: str,
    boot_data: BootData,
    gone: frozenset[str],
    given_up: frozenset[str] = frozenset(),
) -> TerraformRun:
    """The run of an open intent. `gone` are keys the inventory proves gone: they leave the state before anything.
    So do the volumes `given_up` (`missingvolumes`), which the run would make anew otherwise.

    But for those the run is about: a surge adopts what it made half-way, and what a retire deletes is deleted for good,
    dead or not, so that its disk goes with it.
    """
    kind, place = RunKind(intent.kind), place_of_intent(view, intent)
    view = _only_in(view, place)
    dead = {i.key for i in view.alive() if i.lost or i.key in gone}
    if kind not in (RunKind.RELEASE, RunKind.GROW, RunKind.TAG):
        dead -= set(intent.keys)
    existing = [i for i in _existing(view, intent, kind) if i.key not in dead]
    forget = frozenset(f for key in dead for f in (f"instance/{key}", *_ties(view.instances[key])))
    # What a retire deletes needs no forgetting: a volume that is gone counts as deleted.
    lost = given_up - set(intent.volumes)
    untied = [a for i in existing for a in _attachments(i) if a.volume in lost]
    forget |= {f"volume/{key}" for key in lost} | {f"attachment/{a.key}" for a in untied}
    return TerraformRun(
        intent_id=intent.id,
        kind=kind,
        resources=Resources(
            installation_id=installation_id,
            cluster_uid=view.uid,
            cluster_name=view.name,
            place=place,
            instances=tuple(_instance(view, i, boot_data(i)) for i in existing),
            volumes=tuple(v for v in _volumes(view, intent, kind) if v.key not in lost),
            attachments=tuple(
                a for i in existing if _is_bound(i, intent) for a in _attachments(i) if a.volume not in lost
            ),
            addresses=_addresses(view, intent, kind),
            bindings=tuple(
                AddressBinding(i.node, i.key) for i in existing if _owns_address(i) and _is_bound(i, intent)
            ),
        ),
        creates=_creates(view, intent, kind),
        # A dead VM has let go of its volumes and address already: a release only has to forget that it held them.
        deletes=_deletes(view, intent, kind) - forget,
        forget=forget,
        grows={f"volume/{v}": view.vms.volume_sizes[v] for v in intent.volumes} if kind is RunKind.GROW else {},
        tagging=_tagging(view, intent) if kind is RunKind.TAG else None,
        adopts=_adopted(view, intent, place, installation_id, boot_data),
    )


def place_of_intent(view: ClusterView, intent: IntentView) -> Place:
    """Where an open intent's run is made: all its instances live there."""
    return place_of(view, view.instances[intent.keys[0]]) if intent.keys else places_of(view)[0]


def _only_in(view: ClusterView, place: Place) -> ClusterView:
    """The cluster as its state of that place knows it."""
    if len(places_of(view)) == 1:
        return view
    here = {key: i for key, i in view.instances.items() if str(place_of(view, i)) == str(place)}
    return replace(view, instances=frozen(here))


def _adopted(
    view: ClusterView, intent: IntentView, place: Place, installation_id: str, boot_data: BootData
) -> Resources:
    """All that stands before the run: its state may be lost, or older than that. Whoever runs it compares the two."""
    new = set(intent.keys) if intent.kind == "surge" else set()
    there = [i for i in view.alive() if i.phase is not Phase.REQUESTED and i.key not in new and not i.departure.deleted]
    return _made(view, there, place, installation_id, boot_data)


def existing_resources(view: ClusterView, place: Place, *, installation_id: str, boot_data: BootData) -> Resources:
    """All that stands of a cluster at rest in a place: what its state there holds."""
    here = _only_in(view, place)
    there = [i for i in here.alive() if i.phase is not Phase.REQUESTED and not i.departure.deleted]
    return _made(here, there, place, installation_id, boot_data)


def _made(
    view: ClusterView, there: list[InstanceView], place: Place, installation_id: str, boot_data: BootData
) -> Resources:
    volumes = {v.key: _volume(view, i, v) for i in there for v in i.planned.volumes}
    owners = {i.node: i for i in there if _owns_address(i)}
    return Resources(
        installation_id=installation_id,
        cluster_uid=view.uid,
        cluster_name=view.name,
        place=place,
        instances=tuple(_instance(view, i, boot_data(i)) for i in there),
        volumes=tuple(volumes[k] for k in sorted(volumes)),
        attachments=tuple(a for i in there if has_ties(i) for a in _attachments(i)),
        addresses=tuple(_address(i) for _, i in sorted(owners.items())),
        bindings=tuple(AddressBinding(i.node, i.key) for i in there if has_ties(i) and _owns_address(i)),
    )


def _volume(view: ClusterView, instance: InstanceView, volume: PlannedVolume) -> VolumeResource:
    options = volume.options or PlannedDisk()
    return VolumeResource(
        instance.node,
        volume.dir,
        volume.version,
        instance.planned.rack,
        volume.kind,
        size_of(view, volume),
        type=options.type,
        iops=options.iops,
        throughput_mib_per_s=options.throughput_mib_per_s,
        kms_key=options.kms_key,
        cost_tags=instance.planned.cost_tags or {},
    )


def _existing(view: ClusterView, intent: IntentView, kind: RunKind) -> list[InstanceView]:
    """Instances in the rendered set after the run: a surge not yet run is in no set but its own."""
    if kind is RunKind.DESTROY:
        return []
    leaving = set(intent.keys) if kind is RunKind.RETIRE else set()
    if intent.with_vm:
        leaving |= set(intent.keys)
    alive = [i for i in view.alive() if i.key not in leaving and not i.departure.deleted]
    return [i for i in alive if i.phase is not Phase.REQUESTED or i.key in intent.keys]


def _is_bound(instance: InstanceView, intent: IntentView) -> bool:
    """Whether volumes and address are on the instance once this intent's run has ended."""
    if intent.kind == "release" and instance.key in intent.keys:
        return False
    if intent.kind == "bind" and instance.key in intent.keys:
        return True
    return has_ties(instance)


def _owns_address(instance: InstanceView) -> bool:
    """Controllers own their address by node, where a cloud lets it pass on; a broker's belongs to its VM."""
    return not instance.is_broker and not instance.planned.vm_address


def _instance(view: ClusterView, instance: InstanceView, boot_data: str) -> InstanceResource:
    planned = instance.planned
    # Only specs gave figures, and a spec has the place it gave them for.
    given = (
        find_given(view.declaration.machines, place_of(view, instance).cloud, planned.shape)
        if view.declaration.machines
        else None
    )
    return InstanceResource(
        node=planned.node,
        generation=planned.generation,
        zone=planned.rack,
        shape=planned.shape,
        image=planned.kafka_version,
        intent_id=instance.intent,
        boot_data=boot_data,
        made_from=_made_from(planned.image),
        spot=planned.spot,
        ipv6=planned.ipv6,
        public_address=instance.public.asked,
        cost_tags=planned.cost_tags or {},
        given=given,
    )


def _made_from(image: PlannedImage | None) -> MadeFrom | None:
    return MadeFrom(image.revision, image.ids, image.url, image.sha256) if image is not None else None


def _attachments(instance: InstanceView) -> Iterable[Attachment]:
    return (Attachment(instance.key, v.key) for v in instance.planned.volumes)


def _volumes(view: ClusterView, intent: IntentView, kind: RunKind) -> tuple[VolumeResource, ...]:
    if kind is RunKind.DESTROY:
        return ()
    found = {
        v.key: _volume(view, i, v)
        for i in view.alive()
        if i.phase is not Phase.REQUESTED or i.key in intent.keys
        for v in i.planned.volumes
        if kind is RunKind.GROW or v.key not in intent.volumes
    }
    return tuple(found[k] for k in sorted(found))


def _addresses(view: ClusterView, intent: IntentView, kind: RunKind) -> tuple[AddressResource, ...]:
    if kind is RunKind.DESTROY:
        return ()
    unmade = {i.key for i in view.alive() if i.phase is Phase.REQUESTED and _makes_address(i)} - set(intent.keys)
    nodes = {i.node: i for i in view.alive() if _owns_address(i) and i.key not in unmade}
    return tuple(_address(i) for _, i in sorted(nodes.items()))


def _address(instance: InstanceView) -> AddressResource:
    planned = instance.planned
    return AddressResource(instance.node, planned.rack, cost_tags=planned.cost_tags or {})


def _tagging(view: ClusterView, intent: IntentView) -> Tagging:
    """The cost tags of a VM, of its disks and of its node's address: of whatever of them the module tags in place."""
    instance = view.instances[intent.keys[0]]
    asked = view.vms.cost_tags[instance.key]
    targets = {f"instance/{instance.key}", *(f"volume/{v.key}" for v in instance.planned.volumes)}
    targets |= {f"address/{instance.node}"} if _owns_address(instance) else set()
    return Tagging(frozenset(targets), asked.asked or {}, frozenset(asked.dropped))


def _makes_address(instance: InstanceView) -> bool:
    """Whether its node's address comes with it: one that takes a node over finds it there."""
    return not instance.planned.handover or bool(instance.planned.relieves)


def _own_disks(successor: InstanceView) -> list[str]:
    """Volumes made with a successor, though it takes over its node: those of its node are lost, all or some."""
    planned = successor.planned
    return [f"volume/{v.key}" for v in planned.volumes if planned.new_disk or v.dir in planned.new_dirs]


def _ties(instance: InstanceView) -> list[str]:
    """What binds volumes and address to an instance, as the names a run's changes are given in."""
    ties = [f"attachment/{a.key}" for a in _attachments(instance)]
    return [*ties, f"binding/{instance.key}"] if _owns_address(instance) else ties


def _creates(view: ClusterView, intent: IntentView, kind: RunKind) -> frozenset[str]:
    if kind is RunKind.BIND:
        new = view.instances[intent.keys[0]]
        return frozenset([*_ties(new), f"instance/{new.key}", *_own_disks(new)] if new.awaits_bind else _ties(new))
    if kind is not RunKind.SURGE:
        return frozenset()
    names: set[str] = set()
    for key in intent.keys:
        instance = view.instances[key]
        names.add(f"instance/{key}")
        if not _makes_address(instance):
            names.update(_own_disks(instance))
            continue
        names.update(f"volume/{v.key}" for v in instance.planned.volumes)
        names.update(_ties(instance))
        if _owns_address(instance):
            names.add(f"address/{instance.node}")
    return frozenset(names)


def _deletes(view: ClusterView, intent: IntentView, kind: RunKind) -> frozenset[str]:
    if kind is RunKind.RELEASE:
        old = view.instances[intent.keys[0]]
        return frozenset([*_ties(old), f"instance/{old.key}"] if intent.with_vm else _ties(old))
    if kind not in (RunKind.RETIRE, RunKind.DESTROY):
        return frozenset()
    leaving = [view.instances[k] for k in intent.keys]
    names = {f"instance/{i.key}" for i in leaving} | {t for i in leaving if has_ties(i) for t in _ties(i)}
    if kind is RunKind.RETIRE:
        return frozenset(names | {f"volume/{v}" for v in intent.volumes} | _orphaned_addresses(view, leaving))
    names |= {f"volume/{v.key}" for i in leaving for v in i.planned.volumes}
    return frozenset(names | {f"address/{i.node}" for i in leaving if _owns_address(i)})


def _orphaned_addresses(view: ClusterView, leaving: list[InstanceView]) -> set[str]:
    keys = {i.key for i in leaving}
    staying = {i.node for i in view.alive() if i.key not in keys}
    return {f"address/{i.node}" for i in leaving if _owns_address(i) and i.node not in staying}
