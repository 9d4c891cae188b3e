"""Brings about what `kedge chaos` asked for, once it is recorded."""

from collections.abc import Callable

from controlplane.chaoscommands import Fault
from controlplane.view import ChaosView, ClusterView
from providers.base import CloudProvider, Place
from providers.harm import CannotHarm, Harm, HarmsVms

Harmer = Callable[[ClusterView, ChaosView], None]
"""(the cluster, the fault as recorded). Raises CannotHarm, ProviderError."""


def bring_about(clouds: Callable[[str], CloudProvider], view: ClusterView, chaos: ChaosView) -> None:
    """Harms each VM of the fault. Raises CannotHarm, ProviderError: what was done to others before stays done."""
    harm = Harm.KILL_VM if chaos.fault == Fault.KILL_RACK else Harm(chaos.fault)
    for key in chaos.keys:
        instance = view.instances[key]
        place = _place(view, instance.planned.pool)
        provider = clouds(place.cloud)
        if isinstance(provider, HarmsVms):
            provider.harm(place, instance.cloud_id, harm, chaos.for_s)
        elif harm is Harm.KILL_VM:
            provider.terminate(place, instance.cloud_id)
        else:
            raise CannotHarm(f"{harm} needs hands on the VM, which {place.cloud} does not lend")


def nothing_to_harm(view: ClusterView, chaos: ChaosView) -> None:
    """Where no cloud is at hand. Raises CannotHarm."""
    raise CannotHarm(f"this server has no hands on the VMs of {view.name}")


def _place(view: ClusterView, pool: str) -> Place:
    pools = view.document.spec.pools if view.document else ()
    for known in pools:
        if known.name == pool:
            return Place(known.place.cloud, known.place.region, known.place.account)
    raise CannotHarm(f"pool {pool} of {view.name} is not in its spec any more")
