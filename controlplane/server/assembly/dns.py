"""Builds the reconciler of names from the settings: nothing runs where no zone is bound."""

import threading
from collections.abc import Callable
from datetime import datetime

from controlplane.background.dns.binding import ZoneBinding, zone_of
from controlplane.background.dns.reconciler import KeptZone, NameReconciler
from controlplane.fleet.ports import FoldedFleet
from controlplane.runtime.egress import EgressRefused
from controlplane.runtime.polling import Leadership, Poller
from controlplane.server.settings import ServerSettingsRefused, Settings
from controlplane.storage.latest_values import LatestStore
from providers.errors import ProviderError

DNS = "dns"
"""The poller's name for the reconciler."""


def names_of(
    settings: Settings,
    *,
    fleet: FoldedFleet,
    latest: LatestStore,
    installation_id: str,
    leadership: Leadership,
    clock: Callable[[], datetime],
) -> Poller:
    """What keeps the names, not started yet. Raises ServerSettingsRefused for a zone whose key cannot be used, and for
    one whose server is nothing this server may call."""
    stop = threading.Event()
    for binding in settings.dns:
        _judge(settings, binding)
    try:
        zones = [KeptZone(zone_of(binding), binding.ttl_s) for binding in settings.dns]
    except ProviderError as error:
        raise ServerSettingsRefused(f"dns: {error}") from error
    reconciler = NameReconciler(
        zones, fleet, latest, installation_id, clock, may_act=lambda: leadership.may_act and not stop.is_set()
    )
    polled = {DNS: reconciler} if zones else {}
    return Poller(polled, {DNS: settings.clouds.dns_poll_s}, leadership=leadership, stop=stop)


def _judge(settings: Settings, binding: ZoneBinding) -> None:
    """The server is an address, so it is judged once. A hosted zone is its vendor's, whom the SDK calls."""
    if binding.kind != "rfc2136":
        return
    try:
        settings.allow.egress.addresses(binding.server, binding.port, named=True)
    except OSError as error:
        raise ServerSettingsRefused(f"dns: the server of {binding.zone}: {error}") from error
    except EgressRefused as error:
        raise ServerSettingsRefused(
            f"dns: the server of {binding.zone} is not called: {error}. Name another one, or list it in `allow.calls`"
        ) from error
