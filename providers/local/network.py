"""How VMs of the local cloud reach each other and the server: the seam between a VM and its network.

| network | address of a VM | what it needs |
|---|---|---|
| `loopback` | of 127.64.0.0/10, on the loopback device all share | nothing |
| `namespaces` | of 198.18.128.0/17, on a device of its own in a namespace of its own | root, `ip`, nf_tables |

The address itself says which network it is of, so that a VM that starts again is where it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from providers.local.ranges import name_of


class Network(Protocol):
    """Every method may be repeated. Raises `CloudUnavailable` where this machine cannot."""

    is_own: ClassVar[bool]
    """Whether what a VM does to its network is done to nobody else's."""

    def open(self, vm_dir: Path, addresses: Sequence[str]) -> None:
        """The VM has a network with these addresses, its own first."""

    def command(self, vm_dir: Path, command: tuple[str, ...]) -> tuple[str, ...]:
        """What to start so that the command runs in the VM's network."""

    def add(self, vm_dir: Path, address: str) -> None:
        """The VM is reached at this address too; whoever was before is not."""

    def remove(self, vm_dir: Path, address: str) -> None: ...

    def close(self, vm_dir: Path) -> None:
        """Nothing is left of the VM's network."""


@dataclass(frozen=True, slots=True)
class Loopback:
    """Every VM shares the machine's loopback device, on which each address of 127.0.0.0/8 answers."""

    is_own: ClassVar[bool] = False

    def open(self, vm_dir: Path, addresses: Sequence[str]) -> None:
        """Nothing to do."""

    def command(self, vm_dir: Path, command: tuple[str, ...]) -> tuple[str, ...]:
        return command

    def add(self, vm_dir: Path, address: str) -> None:
        """Nothing to do."""

    def remove(self, vm_dir: Path, address: str) -> None:
        """Nothing to do."""

    def close(self, vm_dir: Path) -> None:
        """Nothing to do."""


def network_of(address: str) -> Network:
    """The network of a VM with this address."""
    if name_of(address) == "loopback":
        return Loopback()
    from providers.local.namespaces import Namespaces  # what few use, nobody else loads

    return Namespaces()
