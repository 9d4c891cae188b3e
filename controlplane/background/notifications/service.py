"""Notifiers for those who ask: how they do, and whether one can be reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import Notifier
from controlplane.background.notifications.outbox import NotifierStatus, Outbox
from controlplane.background.notifications.post import a_test_notice
from events.clock import Clock


class NotifierNotFound(LookupError):
    """No notifier of the settings has that name."""


@dataclass(frozen=True, slots=True)
class NotifierSeen:
    """One notifier: what it is set to, and how it does; None before its first look at the events."""

    binding: NotifierBinding
    status: NotifierStatus | None


class Notifiers(Protocol):
    """`NotifierService` is one."""

    def all(self) -> Sequence[NotifierSeen]:
        """By name. Raises StoreUnavailable."""

    def test(self, name: str) -> None:
        """Tells it a notice that says it is a test, now and past the outbox. Raises NotifierNotFound, NotDelivered."""


class NotifierService:
    """The `Notifiers` of the settings, by name."""

    def __init__(
        self,
        bindings: Sequence[NotifierBinding],
        notifiers: Mapping[str, Notifier],
        outbox: Outbox,
        clock: Clock,
    ) -> None:
        self._bindings, self._notifiers, self._outbox, self._clock = bindings, notifiers, outbox, clock

    def all(self) -> Sequence[NotifierSeen]:
        statuses = self._outbox.statuses()
        return [NotifierSeen(b, statuses.get(b.name)) for b in sorted(self._bindings, key=lambda b: b.name)]

    def test(self, name: str) -> None:
        notifier = self._notifiers.get(name)
        if notifier is None:
            raise NotifierNotFound(name)
        notifier.tell([a_test_notice(name, self._clock())])
