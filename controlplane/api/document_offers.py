"""What the agent of a VM is offered as its document, and the question for another one, held until there is one."""

import re
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from agent.wire import REPORT_IN
from controlplane.api import agent_admission, agent_refusals, documents
from controlplane.api.agent_instances import is_let_go, is_over, is_revoked
from controlplane.api.feed import MAX_WAIT_S, Feed
from controlplane.api.report_paces import ReportPaces
from controlplane.api.services import BrokerServices, PortalServices
from controlplane.background.metric_pipeline.topic import metrics_to
from controlplane.cluster.observed.agent_reports import last_report
from controlplane.cluster.observed.agent_telemetry import AgentTelemetry
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.rolls.stale_stops import has_stale_stop, may_have_stale_stop
from controlplane.kafka.zookeeper.superuser import super_digest, super_password
from controlplane.storage.agent_credentials import Vm
from events.ids import Epoch

_ETAG = re.compile(r"[!#-~]{1,200}", re.ASCII)
"""What may stand between the quotes of an entity tag (RFC 9110)."""
REMEMBERED_S = 60.0
"""What is offered may follow from other clusters and from the clouds: after so long it is worked out again."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    offer: documents.Offer
    epoch: Epoch
    at_s: float


class DocumentOffers:
    """What each VM was offered last is remembered, as most questions come while nothing has changed."""

    def __init__(
        self, services: PortalServices, paces: ReportPaces, telemetry: Callable[[], AgentTelemetry] | None = None
    ) -> None:
        """`telemetry`: what agents are to send, where another server says it."""
        self._services, self.paces = services, paces
        self._telemetry = telemetry or (lambda: telemetry_of(services.brokers))
        self._remembered: dict[Vm, _Remembered] = {}
        self._pruned_s = time.monotonic()

    def remembered(self, vm: Vm, view: ClusterView) -> documents.Offer | None:
        """What is offered still, None where that has to be worked out. Waits for nobody."""
        kept = self._remembered.get(vm)
        if (
            kept is None
            or kept.offer.version != view.version
            or kept.epoch != self._services.operations.leadership.held_epoch()
            or time.monotonic() - kept.at_s > REMEMBERED_S
            or may_have_stale_stop(view, _key(vm))
            or kept.offer.pair != self._services.cluster.pair_parts.of(view)
        ):
            return None
        return kept.offer

    def report_in_s(self, vm: Vm, report_s: float) -> float | None:
        """When a report is wanted of a VM that sends one every `report_s`: sooner than that, else None. 0 is an agent
        that follows no pace."""
        view = self._services.fleet.clusters.view(vm.cluster_uid) if report_s > 0 else None
        pace = self.paces.of(view) if view is not None else None
        return pace.every_s if pace is not None and pace.every_s < report_s else None

    def of(self, vm: Vm, etag: str = "") -> documents.Offer:
        """What is offered now to who has the document of `etag`. May wait for the database. Raises ApiError,
        StoreUnavailable."""
        offered, fleet = self._offered(vm), self._services.fleet.clusters
        if offered.etag in ("", etag):
            return offered
        # All that was recorded before the question counts: another process may have told of it already, and an agent
        # that then hears an older document would start what it was told to stop.
        fleet.catch_up()
        view = fleet.view(vm.cluster_uid)
        if view is None or view.version != offered.version:
            return self._offered(vm)
        # The pair of a cluster has a stream of its own.
        return offered if self._services.cluster.pair_parts.of(view) == offered.pair else self._offered(vm)

    def _offered(self, vm: Vm) -> documents.Offer:
        epoch = self._services.operations.leadership.held_epoch()
        if epoch is None:
            raise agent_refusals.not_leading()
        services = self._services
        view = services.fleet.clusters.view(vm.cluster_uid)
        instance = view.instances.get(_key(vm)) if view is not None else None
        if view is None or instance is None or view.requests.held or is_let_go(view):
            # Not 410: an agent that hears "over" stops its brokers. What we do not know may well be alive.
            raise agent_refusals.no_document()
        if is_revoked(view, instance.key):  # of one that had asked before, and was held
            raise agent_refusals.no_document()
        if is_over(view, instance):
            raise agent_refusals.gone(vm)
        key, now = instance.key, services.clock()
        last = partial(last_report, services.cluster.latest, view.uid)
        if may_have_stale_stop(view, key) and has_stale_stop(view, key, last, now):
            return documents.stale_stop_offer(view)
        is_server = instance.planned.service == "zookeeper" or instance.planned.member is not None
        secret = services.access.installation.server_key.get_secret_value()
        digest = super_digest(super_password(secret, view.uid)) if is_server else ""
        rules, sent = services.cluster.packet_filter(view, instance), self._telemetry()
        offered = documents.offer(
            view,
            instance.key,
            epoch=epoch,
            metrics=metrics_to(
                services.fleet.clusters.views() if sent.metrics_cluster else (),
                metrics=sent.metrics,
                metrics_cluster=sent.metrics_cluster,
            ),
            logs=sent.logs,
            super_digest=digest,
            packet_filter=rules,
            pair=services.cluster.pair_parts.of(view),
        )
        if not rules:  # those follow from what is recorded of others, and are worked out at each question
            self._remember(vm, _Remembered(offered, epoch, time.monotonic()))
        return offered

    def _remember(self, vm: Vm, one: _Remembered) -> None:
        if one.at_s - self._pruned_s > REMEMBERED_S:
            young = {vm: kept for vm, kept in dict(self._remembered).items() if one.at_s - kept.at_s <= REMEMBERED_S}
            self._remembered, self._pruned_s = young, one.at_s
        self._remembered[vm] = one


def telemetry_of(brokers: BrokerServices) -> AgentTelemetry:
    """What agents are to send by this server's own settings."""
    return AgentTelemetry(brokers.metrics, brokers.metrics_cluster, brokers.logs)


async def answer_question(
    offers: DocumentOffers,
    feed: Feed,
    turn: agent_admission.RequestTurn,
    vm: Vm,
    *,
    etag: str,
    wait_s: float,
    known: documents.Offer | None = None,
    report_s: float = 0.0,
) -> Response:
    """The document of the VM once it is another one than `etag` names; 304 where it is not within `wait_s`. So it is,
    too, while it asks for what was found safe too long ago and is to be found safe again.

    304 at once where reports are wanted more often than every `report_s`: both answers say so in a header.
    `known`: what is offered now, where that is known and the one of `etag`. Raises ApiError, StoreUnavailable.
    """
    etag = etag if _ETAG.fullmatch(etag) else ""  # of no document of ours; no header could repeat it
    deadline = time.monotonic() + hold_s(vm, wait_s)
    offered = known
    while True:
        if offered is None:
            await turn.take_again()
            # On a thread: the database may be slow.
            offered = await run_in_threadpool(offers.of, vm, etag)
        in_s = offers.report_in_s(vm, report_s)
        paced = {REPORT_IN: f"{in_s:.0f}"} if in_s is not None else {}
        if offered.etag not in ("", etag):
            headers = {"ETag": f'"{offered.etag}"', **paced}
            return Response(offered.body, headers=headers, media_type="application/json")
        left_s = deadline - time.monotonic()
        turn.give_back()  # who waits for news keeps nobody from being heard
        if paced or left_s <= 0 or not await feed.wait(vm.cluster_uid, offered.version, left_s):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": f'"{etag}"', **paced})
        offered = None


def hold_s(vm: Vm, wait_s: float) -> float:
    """How long an agent's question is held: up to a fifth less than it may be, by its VM.

    After a start of the server all agents ask within a second; held alike, they would come back together each time, in
    front of everybody else.
    """
    share = zlib.crc32(f"{vm.cluster_uid}/{_key(vm)}".encode()) / 2**32
    return min(wait_s, MAX_WAIT_S) * (1 - share / 5)


def _key(vm: Vm) -> str:
    return f"{vm.node}.g{vm.generation}"
