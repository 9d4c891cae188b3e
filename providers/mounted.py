"""Whether a disk can be taken from a VM that still has it mounted: each cloud declares it."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class HoldsMounted(Protocol):
    """A cloud where such a disk stays with its running VM, and a run that detaches it never ends. There, a VM that is
    to be deleted and whose agent does not unmount is ended by the cloud's own call first: that lets its disks go."""

    def holds_mounted(self) -> bool: ...


def holds_mounted(provider: object) -> bool:
    """Of a provider. Who does not say so takes a disk away, mounted or not."""
    return isinstance(provider, HoldsMounted) and provider.holds_mounted()
