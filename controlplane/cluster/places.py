"""Where the VMs of a cluster live. A place is cloud, account and region: one Terraform state, one listing. Pure.

A VM stays for life where it was made. So while a pool moves the cluster is in two places, and a place is one of the
cluster's until the last of its VMs is retired: by then nothing is left in its state.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.runtime.once import once
from events import facts
from events.spec.model import PlaceSpec
from providers.base import Place


@lru_cache(maxsize=4096)
def place_named(spec: PlaceSpec) -> Place:
    """The place a pool names."""
    return Place(spec.cloud, spec.region, spec.account, spec.network)


@once
def declared_places(view: ClusterView) -> tuple[Place, ...]:
    """The places the spec in force names, in a stable order."""
    spec = view.working_spec()
    pools = spec.spec.pools if spec else ()
    return tuple(sorted({place_named(pool.place) for pool in pools}, key=str))


@once
def places_of(view: ClusterView) -> tuple[Place, ...]:
    """The places a cluster's VMs live in, or are to: those of its spec, then those it is about to leave."""
    declared = declared_places(view)
    if view.document is None:
        return ()
    lived_in = {place_of(view, i) for i in view.alive()} - set(declared)
    return (*declared, *sorted(lived_in, key=str)) if lived_in else declared


def planned_place(view: ClusterView, planned: facts.PlannedInstance) -> Place | None:
    """Where a VM is made: unless its plan says otherwise, where its pool is to be. None for a pool nobody names."""
    place = planned.place
    if place is not None:
        return Place(place.cloud, place.region, place.account, place.network)
    spec = view.working_spec()
    pools = spec.spec.pools if spec else ()
    return next((place_named(pool.place) for pool in pools if pool.name == planned.pool), None)


def place_of(view: ClusterView, instance: InstanceView) -> Place:
    """Where one VM lives. Raises `LookupError` where nobody ever said it."""
    found = instance.place or planned_place(view, instance.planned) or next(iter(declared_places(view)), None)
    if found is None:
        raise LookupError(f"nothing tells where {instance.key} lives")
    return found


def place_to_stay_in(view: ClusterView, past: Sequence[InstanceView], wanted: str) -> facts.PlannedPlace | None:
    """Whoever takes over a disk is made where that is, though its pool is to be in another place, `wanted`; None where
    it is there. `past`: who had the disk, at least one."""
    place = place_of(view, max(past, key=lambda i: i.planned.generation))
    return None if str(place) == wanted else facts.PlannedPlace(place.cloud, place.region, place.account, place.network)


def by_place(view: ClusterView, instances: Iterable[InstanceView]) -> Mapping[Place, tuple[InstanceView, ...]]:
    """Instances by the place they live in, in the order of `places_of`: what one run each is for."""
    found: dict[Place, list[InstanceView]] = {place: [] for place in places_of(view)}
    for instance in instances:
        found.setdefault(place_of(view, instance), []).append(instance)
    return {place: tuple(there) for place, there in found.items() if there}


@once
def left_places(view: ClusterView) -> Mapping[Place, datetime]:
    """Places the cluster has moved away from, and when the last VM there was retired; none while anything rolls."""
    if view.document is None or view.deleted or view.requests.tombstone or view.roll.converged != view.generation:
        return {}
    left: dict[Place, datetime] = {}
    stays = set(places_of(view))
    for instance in view.instances.values():
        place = instance.place
        if place is not None and place not in stays and instance.phase is Phase.RETIRED:
            left[place] = max(instance.since, left.get(place, instance.since))
    return left
