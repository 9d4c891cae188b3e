"""At which UDP ports a network's VMs take tunnels of a cluster's overlay. Pure."""

from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from events.spec.model import Pool
from events.spec.overlay_rules import has_public_address, has_public_ipv6
from providers.base import Place
from providers.networks import NO_OVERLAY, OverlayPorts


def overlay_ports(view: ClusterView, place: Place) -> OverlayPorts:
    """Those of both epochs of keys, from before the first VM there until the last one is retired. Of the path at public
    addresses where a VM there has one: all others call, and what answers them is let in by itself."""
    said = view.document.spec.network.overlay if view.document is not None else None
    if said is None:
        return NO_OVERLAY
    private, public = (said.port, said.port + 2), (said.port + 1, said.port + 3)
    return OverlayPorts(private, public if _is_called_from_outside(view, place) else ())


def _is_called_from_outside(view: ClusterView, place: Place) -> bool:
    pools = view.document.spec.pools if view.document is not None else ()
    if any(_is_public(pool) for pool in pools if _names(pool, place)):
        return True
    return any(i.public.asked or i.planned.ipv6 for i in view.alive() if place_of(view, i) == place)


def _is_public(pool: Pool) -> bool:
    return has_public_address(pool) or has_public_ipv6(pool)


def _names(pool: Pool, place: Place) -> bool:
    return (pool.place.name, pool.place.network) == (str(place), place.network)
