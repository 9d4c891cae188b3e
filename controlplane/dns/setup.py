"""Builds the keeper of names from the settings: nothing runs where no zone is bound."""

import threading
from collections.abc import Callable
from datetime import datetime

from controlplane.database.latest import LatestStore
from controlplane.dns.binding import zone_of
from controlplane.dns.keeper import KeptZone, NameKeeper
from controlplane.fleets import FoldedFleet
from controlplane.poller import Leadership, Poller
from controlplane.settings import Settings, SettingsRefused
from providers.errors import ProviderError

DNS = "dns"
"""The poller's name for the keeper."""


def names_of(
    settings: Settings,
    *,
    fleet: FoldedFleet,
    latest: LatestStore,
    installation_id: str,
    leadership: Leadership,
    clock: Callable[[], datetime],
) -> Poller:
    """What keeps the names, not started yet. Raises SettingsRefused for a zone whose key cannot be used."""
    stop = threading.Event()
    try:
        zones = [KeptZone(zone_of(binding), binding.ttl_s) for binding in settings.dns]
    except ProviderError as error:
        raise SettingsRefused(f"dns: {error}") from error
    keeper = NameKeeper(
        zones, fleet, latest, installation_id, clock, may_act=lambda: leadership.may_act and not stop.is_set()
    )
    polled = {DNS: keeper} if zones else {}
    return Poller(polled, {DNS: settings.dns_poll_s}, leadership=leadership, stop=stop)
