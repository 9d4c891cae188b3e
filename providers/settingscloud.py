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
    """The base of a vendor's `CloudProvider`, which has its settings and the way to its API.

    What a method does that says nothing of its own, here and in the vendors' classes, is told by the protocol of that
    ability: `ListsRegions`, `TellsBootable`, `MakesNetworks` (`network_variables`), `FindsNetworks` (`network_pieces`),
    `SharesCalls`, `TellsIpv6`, `FiltersPackets`, `RecognisesErrors`, `ExaminesPlaces`, `TellsQuotas`, `PreflightCheck`
    (`look_ahead`), `TellsMaintenance` (`notices`), `HasConsolePages`, `ImportsResources`, `SeesForeignVms`.
    """

    __slots__ = ()

    _settings: CloudSettings[Any]
    _access: _Access

    def regions(self) -> tuple[str, ...]:
        return self._settings.regions()

    def unbootable(self, place: Place, vm: NextVm) -> str:
        return unbootable(self._settings, place, vm)

    def makes_network(self, place: Place) -> bool:
        return self._settings.leaves_network(place)

    def calls(self, place: Place) -> TokenBucket:
        return self._access.budget.of(place)
