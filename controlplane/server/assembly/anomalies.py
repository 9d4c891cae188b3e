"""Builds what looks for anomalies and what tells of them, from the settings. Nothing is started."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine

from controlplane.background.anomalies.rate_learning import RateLearning
from controlplane.background.anomalies.rates import RateWatch
from controlplane.background.anomalies.reconciler import AnomalyReconciler, HandlesCommands, OfPairs
from controlplane.background.anomalies.windows import windows_of
from controlplane.background.notifications.alertmanager import EVERY as REFRESHED_EVERY
from controlplane.background.notifications.delivery import Notifier
from controlplane.background.notifications.notifier import notifier_of
from controlplane.background.notifications.outbox import SqlOutbox
from controlplane.background.notifications.post import NoticeSender, NoticeSpreader
from controlplane.background.notifications.refresher import NoticeRefresher
from controlplane.background.notifications.service import NotifierService
from controlplane.background.notifications.silences import silences
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.ports import SeenFleet
from controlplane.kafka.gateway import KafkaGateway
from controlplane.runtime.polling import Leadership, Polled, Poller
from controlplane.server.settings import Settings
from controlplane.server.telemetry_in_force import telemetry_in_force
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import ClusterUid
from events.store import EventStore

ANOMALIES = "anomalies"
NOTICES = "notices"
RATES = "rates of topics"
RATES_EVERY_S = 60.0
SPREAD_EVERY_S = 2.0
SEND_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class AnomalyRoom:
    """The pollers, the spreader and one sender a notifier, and the service beside them."""

    poller: Poller
    service: NotifierService
    notifiers: dict[str, Notifier]

    def close(self) -> None:
        """No look begins after this; what waits is in the outbox."""
        self.poller.stop()
        for notifier in self.notifiers.values():
            notifier.close()


def anomalies_of(
    settings: Settings,
    *,
    engine: Engine,
    fleet: SeenFleet,
    store: EventStore,
    latest: LatestStore,
    commands: HandlesCommands,
    leadership: Leadership,
    epoch: Callable[[], int],
    clock: Clock,
    kafka: Callable[[ClusterView], KafkaGateway],
    freezes: FreezeCache,
    traffic: Callable[[ClusterUid], Traffic],
    pairs: Callable[[], OfPairs],
) -> AnomalyRoom:
    outbox = SqlOutbox(engine)
    notifiers = {binding.name: notifier_of(binding, clock, settings.allow.egress) for binding in settings.notifiers}
    silencing = partial(silences, freezes, fleet)
    rung: list[Poller] = []

    def ring(name: str) -> None:
        for poller in rung:
            poller.ring(name)

    rates = RateWatch(fleet, kafka, clock, RateLearning(latest))
    reconciler = AnomalyReconciler(
        fleet,
        store,
        latest,
        windows_of(telemetry_in_force(settings).lake, settings.telemetry.slow_window_s),
        commands,
        clock,
        epoch=epoch,
        wake=lambda: ring(NOTICES),
        rates=rates,
        traffic=traffic,
        pairs=pairs,
    )
    polled: dict[str, Polled] = {ANOMALIES: reconciler, RATES: rates}
    every_s = {ANOMALIES: settings.telemetry.anomalies_poll_s, RATES: RATES_EVERY_S}
    if settings.notifiers:
        rings = {name: partial(ring, _sender(name)) for name in notifiers}
        polled[NOTICES] = NoticeSpreader(settings.notifiers, store, outbox, rings, partial(owner_of, fleet))
        every_s[NOTICES] = SPREAD_EVERY_S
    for binding in settings.notifiers:
        polled[_sender(binding.name)] = NoticeSender(binding, notifiers[binding.name], outbox, clock, silencing)
        every_s[_sender(binding.name)] = SEND_EVERY_S
        if binding.kind == "alertmanager":
            again = f"{_sender(binding.name)} again"
            polled[again] = NoticeRefresher(binding, notifiers[binding.name], fleet, store, latest, clock, silencing)
            every_s[again] = REFRESHED_EVERY.total_seconds()
    poller = Poller(polled, every_s, leadership=leadership, stop=threading.Event())
    rung.append(poller)
    return AnomalyRoom(poller, NotifierService(settings.notifiers, notifiers, outbox, clock), notifiers)


def owner_of(fleet: SeenFleet, cluster: str) -> str:
    """Who owns the living cluster of that name by its spec, "" where nobody does or there is none: names are given
    again after a deletion."""
    documents = (view.document for view in fleet.views() if view.name == cluster and not view.deleted)
    return next((document.metadata.owner for document in documents if document is not None), "")


def _sender(name: str) -> str:
    return f"notifier {name}"
