"""What each vendor's cloud answers from its settings file alone."""

from typing import Any, Protocol

from providers.base import Place
from providers.bootable import NextVm, unbootable
from providers.call_budget import CallBudget, TokenBucket
from providers.settings_file import CloudSettings


class _Access(Protocol):
    @property
    def budget(self) -> CallBudget: ...


class SettingsCloud:
    """The base of a vendor's `CloudProvider`, which has its settings and the way to its API."""

    __slots__ = ()

    _settings: CloudSettings[Any]
    _access: _Access

    def regions(self) -> tuple[str, ...]:
        """See `ListsRegions`."""
        return self._settings.regions()

    def unbootable(self, place: Place, vm: NextVm) -> str:
        """See `TellsBootable`."""
        return unbootable(self._settings, place, vm)

    def makes_network(self, place: Place) -> bool:
        """See `MakesNetworks`."""
        return self._settings.leaves_network(place)

    def calls(self, place: Place) -> TokenBucket:
        """See `SharesCalls`."""
        return self._access.budget.of(place)
