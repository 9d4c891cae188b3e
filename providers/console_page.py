"""The page of a VM in its cloud's own console, for a person who looks at the broker on it. Nothing is asked of a cloud.

Addresses are those the vendors print themselves; docs/clouds.md, "The page of a VM", says where.
"""

from typing import Protocol, runtime_checkable

from providers.base import Place


@runtime_checkable
class HasConsolePages(Protocol):
    """A cloud whose VMs have pages in a console."""

    def console_page(self, place: Place, instance: str) -> str:
        """The address, "" for what is no id of a VM, or where settings do not tell enough. Raises `PlaceUnknown`."""
