"""Splits and lost packets of a VM that has a network of its own: rules of the packet filter in its namespace.

Each rule names the moment it ends, by the kernel's clock: it does though every process of ours is gone by then.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from providers.errors import CloudUnavailable
from providers.harm import CannotHarm, Harm, Manner, Way
from providers.local.namespaces import DEVICE, inside, namespace
from providers.local.nftables import (
    Chain,
    Expression,
    Hook,
    dropped,
    filter_socket,
    from_address,
    one_in,
    replace_table,
    through,
    to_address,
    until,
)
from providers.local.ranges import GATEWAY


def disturb(vm_dir: Path, harm: Harm, manner: Manner, for_s: float) -> None:
    """The VM's packets are dropped from now on, for so long. Raises `CannotHarm`."""
    ends = time.time_ns() + round(for_s * 1e9)
    hooks = {Way.IN: [Hook.INPUT], Way.OUT: [Hook.OUTPUT], Way.BOTH: [Hook.INPUT, Hook.OUTPUT]}[manner.way]
    _keep(vm_dir, harm, [Chain(hook, _rules(hook, harm, manner, ends)) for hook in hooks])


def calm(vm_dir: Path, harm: Harm) -> None:
    """Takes the rules away. A VM that is gone has none."""
    if namespace(vm_dir).exists():
        _keep(vm_dir, harm, [])


def check_network(vm_dir: Path) -> None:
    """Raises `CannotHarm` for a VM that shares the network of this machine."""
    if not namespace(vm_dir).exists():
        raise CannotHarm(
            f"{vm_dir.name} has no network of its own: a split would cut off this machine. "
            "Serve with KEDGE_CLOUDS__VM_NETWORK=namespaces, as root, and make the cluster anew"
        )


def _rules(hook: Hook, harm: Harm, manner: Manner, ends: int) -> list[list[Expression]]:
    passing = through(DEVICE, hook)
    if harm is Harm.PACKET_LOSS:
        return [[*passing, *one_in(manner.loss), *until(ends), *dropped()]]
    if manner.everyone:
        return [[*passing, *until(ends), *dropped()]]
    peers = (*manner.addresses, *((GATEWAY,) if manner.control_plane else ()))
    named = from_address if hook is Hook.INPUT else to_address
    return [[*passing, *named(peer), *until(ends), *dropped()] for peer in peers]


def _keep(vm_dir: Path, harm: Harm, chains: Sequence[Chain]) -> None:
    with inside(vm_dir, filter_socket) as filters:
        try:
            replace_table(filters, f"kedge-{harm}", chains)
        except OSError as error:
            raise CloudUnavailable(f"{vm_dir.name}: {error.strerror or error}") from error
