"""Builds the reconciler of names from the settings. Where no zone is bound it keeps no name, and tells pairs so."""

import threading
from collections.abc import Callable
from datetime import datetime

from agent.host_port import HostPort
from controlplane.background.dns.binding import ZoneBinding, zone_of
from controlplane.background.dns.reconciler import NameReconciler
from controlplane.background.dns.settling import KeptZone
from controlplane.fleet.failovers.state import PairsView
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
    pairs: Callable[[], PairsView],
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
    poll_s = settings.clouds.dns_poll_s
    reconciler = NameReconciler(
        zones,
        fleet,
        latest,
        installation_id,
        clock,
        may_act=lambda: leadership.may_act and not stop.is_set(),
        pairs=pairs,
        poll_s=poll_s,
    )
    return Poller({DNS: reconciler}, {DNS: poll_s}, leadership=leadership, stop=stop)


def _judge(settings: Settings, binding: ZoneBinding) -> None:
    """Servers are addresses, so they are judged once. A hosted zone is its vendor's, whom the SDK calls."""
    if binding.kind != "rfc2136":
        return
    for at in (HostPort(binding.server, binding.port), *binding.others):
        try:
            settings.allow.egress.addresses(at.host, at.port, named=True)
        except OSError as error:
            raise ServerSettingsRefused(f"dns: the server of {binding.zone}: {error}") from error
        except EgressRefused as error:
            raise ServerSettingsRefused(
                f"dns: the server of {binding.zone} is not called: {error}. Name another one, or list it in "
                "`allow.calls`"
            ) from error
