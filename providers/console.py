"""What a VM wrote to its console: the only witness where its agent never spoke. Not every cloud keeps it."""

from typing import Protocol, runtime_checkable

from providers.base import Place

LAST_BYTES = 64 * 1024
"""More of it is nobody's to read, and no row's to hold."""


@runtime_checkable
class TellsConsole(Protocol):
    """The serial console of a VM can be read, without a door into the VM."""

    def console(self, place: Place, instance: str) -> str:
        """The last `LAST_BYTES`, empty where nothing was written yet. Raises `ProviderError`."""


def tail(text: str, most: int = LAST_BYTES) -> str:
    """The last bytes of it, whole lines: the first one that was cut is left out."""
    data = text.encode()
    if len(data) <= most:
        return text
    _, _, whole = data[-most:].partition(b"\n")
    return whole.decode(errors="replace")
