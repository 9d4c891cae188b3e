"""Splits and lost packets of a VM that has a network of its own: rules of the packet filter in its namespace.

Each rule names the moment it ends, by the kernel's clock: it does though every process of ours is gone by then.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from providers.errors import CloudUnavailable
from providers.harm import CannotHarm, Harm, Manner, Way
from providers.local import namespaces, nftables, ranges


def disturb(vm_dir: Path, harm: Harm, manner: Manner, for_s: float) -> None:
    """The VM's packets are dropped from now on, for so long. Raises `CannotHarm`."""
    ends = time.time_ns() + round(for_s * 1e9)
    hooks = {
        Way.IN: [nftables.Hook.INPUT],
        Way.OUT: [nftables.Hook.OUTPUT],
        Way.BOTH: [nftables.Hook.INPUT, nftables.Hook.OUTPUT],
    }[manner.way]
    _keep(vm_dir, harm, [nftables.Chain(hook, _rules(hook, harm, manner, ends)) for hook in hooks])


def calm(vm_dir: Path, harm: Harm) -> None:
    """Takes the rules away. A VM that is gone has none."""
    if namespaces.namespace(vm_dir).exists():
        _keep(vm_dir, harm, [])


def check_network(vm_dir: Path) -> None:
    """Raises `CannotHarm` for a VM that shares the network of this machine."""
    if not namespaces.namespace(vm_dir).exists():
        raise CannotHarm(
            f"{vm_dir.name} has no network of its own: a split would cut off this machine. "
            "Serve with KEDGE_CLOUDS__VM_NETWORK=namespaces, as root, and make the cluster anew"
        )


def _rules(hook: nftables.Hook, harm: Harm, manner: Manner, ends: int) -> list[list[nftables.Expression]]:
    passing = nftables.through(namespaces.DEVICE, hook)
    if harm is Harm.PACKET_LOSS:
        return [[*passing, *nftables.one_in(manner.loss), *nftables.until(ends), *nftables.dropped()]]
    if manner.everyone:
        return [[*passing, *nftables.until(ends), *nftables.dropped()]]
    peers = (*manner.addresses, *((ranges.GATEWAY,) if manner.control_plane else ()))
    named = nftables.from_address if hook is nftables.Hook.INPUT else nftables.to_address
    return [[*passing, *named(peer), *nftables.until(ends), *nftables.dropped()] for peer in peers]


def _keep(vm_dir: Path, harm: Harm, chains: Sequence[nftables.Chain]) -> None:
    with namespaces.inside(vm_dir, nftables.filter_socket) as filters:
        try:
            nftables.replace_table(filters, f"kedge-{harm}", chains)
        except OSError as error:
            raise CloudUnavailable(f"{vm_dir.name}: {error.strerror or error}") from error
