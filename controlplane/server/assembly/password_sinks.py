"""Builds what delivers passwords of users from the settings."""

import threading

from controlplane.background.password_sinks.delivery import DeliveryCommands, PasswordDelivery
from controlplane.background.password_sinks.file_sink import FileSink, directory_of
from controlplane.background.password_sinks.sink import PasswordSink
from controlplane.background.password_sinks.vault_sink import VaultSink
from controlplane.fleet.ports import FoldedFleet
from controlplane.runtime.polling import Leadership, Poller
from controlplane.server.settings import Settings
from controlplane.storage.user_passwords import PendingPasswords
from events.clock import Clock

PASSWORDS = "passwords"
"""The poller's name for the delivery."""

_EVERY_S = 5.0


def password_delivery_of(
    settings: Settings,
    *,
    fleet: FoldedFleet,
    passwords: PendingPasswords,
    commands: DeliveryCommands,
    leadership: Leadership,
    clock: Clock,
) -> Poller:
    """Not started yet. It looks where no sink is named, too: a user that names one is told that there is none."""
    stop = threading.Event()
    sinks: dict[str, PasswordSink] = {
        name: FileSink(name, directory_of(sink))
        if isinstance(sink, str)
        else VaultSink(name, sink, settings.allow.egress)
        for name, sink in settings.kafka.password_sinks.items()
    }
    delivery = PasswordDelivery(
        sinks, fleet, passwords, commands, clock, may_act=lambda: leadership.may_act and not stop.is_set()
    )
    return Poller({PASSWORDS: delivery}, {PASSWORDS: _EVERY_S}, leadership=leadership, stop=stop)
