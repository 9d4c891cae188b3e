"""What agents ask every few seconds, answered on the event loop: reports, and questions for another document.

Whoever asks is known from a moment ago, and nothing has to be read or written first. Whatever else comes, as a
credential that is not known here, a report that makes no sense or an instance that is over, is left to the routes,
which say why: here nothing is refused. So each answer is the one that the routes give.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, TypeVar
from urllib.parse import parse_qsl

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.wire import WIRE_VERSION, Report, ReportAnswer, UnchangedReport
from controlplane.api import agent_admission, auth, peers, problems
from controlplane.api.agent_instances import is_over, is_revoked
from controlplane.api.document_offers import DocumentOffers, answer_question
from controlplane.api.documents import Offer
from controlplane.api.feed import Feed
from controlplane.api.gate import ANSWER_HEADERS, MAX_BODY_BYTES, with_headers
from controlplane.api.portal_access import Door, door_of
from controlplane.api.report_buffer import ReportBuffer
from controlplane.api.request_ids import HEADER
from controlplane.api.services import PortalServices
from controlplane.cluster.observed.report_pace import AT_WORK, ReportPace
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.work_in_hand import has_work
from controlplane.storage.agent_credentials import Credential, Vm
from controlplane.storage.certificates.shown import ShownCertificates
from events.errors import StoreUnavailable
from events.ids import ClusterUid

REPORT_PATH, DOCUMENT_PATH, UNCHANGED_PATH = "/agent/v1/report", "/agent/v1/document", "/agent/v1/unchanged"
_ANSWERED = {("POST", REPORT_PATH), ("GET", DOCUMENT_PATH), ("POST", UNCHANGED_PATH)}
"""What is answered here; the routes stand in controlplane/api/routes/agents.py."""


_Told = TypeVar("_Told", Report, UnchangedReport)


class KnownAgents(Protocol):
    """`KnownCredentials` is one."""

    def known(self, vm: Vm, sha256: str, *, is_certified: bool) -> Credential | None: ...

    def load(self, cluster_uid: ClusterUid) -> None: ...


@dataclass(frozen=True, slots=True)
class KnownCaller:
    """An agent that is known from a moment ago, with what it is an agent of."""

    vm: Vm
    credential: Credential
    view: ClusterView
    instance: InstanceView


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """Of an agent for another document than that of `etag`."""

    etag: str
    wait_s: float
    report_s: float


class AgentCalls:
    """Answers without the gate and the routes, or not at all. `turns` are those of requests that need a thread."""

    def __init__(
        self,
        services: PortalServices,
        agents: KnownAgents,
        *,
        feed: Feed,
        offers: DocumentOffers,
        shown_certificates: ShownCertificates,
        reports: ReportBuffer,
    ) -> None:
        self._services, self._agents = services, agents
        self._feed, self._offers, self._shown_certificates = feed, offers, shown_certificates
        self._reports = reports

    async def answer(self, scope: Scope, body: bytes, turns: agent_admission.AgentTurns) -> ASGIApp | None:
        """What answers the request; None where the routes have to look at it. Raises TooBusy."""
        if (scope["method"], scope["path"]) not in _ANSWERED:
            return None
        headers = _headers_of(scope)
        caller = self._caller(scope, headers) or await self._looked_up(scope, headers, turns)
        if caller is None:
            return None
        if scope["path"] == DOCUMENT_PATH:
            return self._to_question(scope, caller, turns)
        try:
            return self._to_reported(scope, headers, caller, body)
        except StoreUnavailable:
            return None

    async def _looked_up(
        self, scope: Scope, headers: Mapping[bytes, bytes], turns: agent_admission.AgentTurns
    ) -> KnownCaller | None:
        """Who is not known from a moment ago, with the others of the cluster: they come within seconds of each other,
        and each look costs a turn."""
        vm = auth.parse_instance(headers.get(b"x-kedge-instance", b"").decode("latin-1"))
        if vm is None or self._services.fleet.clusters.view(vm.cluster_uid) is None:
            return None
        turn = await turns.take()
        try:
            if (caller := self._caller(scope, headers)) is not None:
                return caller
            await run_in_threadpool(self._agents.load, vm.cluster_uid)
        except StoreUnavailable:
            return None
        finally:
            turn.give_back()
        return self._caller(scope, headers)

    def _to_reported(
        self, scope: Scope, headers: Mapping[bytes, bytes], caller: KnownCaller, body: bytes
    ) -> ASGIApp | None:
        if len(body) > MAX_BODY_BYTES or self._reports.is_failing or headers.get(b"content-type") != _JSON:
            return None
        to = self._to_unchanged if scope["path"] == UNCHANGED_PATH else self._to_report
        told = to(scope, caller, body)
        return _with_json(told.model_dump_json().encode(), self._services.access.request_id()) if told else None

    def _to_report(self, scope: Scope, caller: KnownCaller, body: bytes) -> ReportAnswer | None:
        report = _read_as(Report, body)
        if report is None or not _is_of(report, caller.vm):
            return None
        wakes = report.preemption is not None or has_work(caller.view)
        pace = self._offers.paces.after(caller.view, report)
        is_news = self._reports.put(
            caller.vm.cluster_uid, caller.instance.key, report, self._services.clock(), wakes=wakes, pace=pace
        )
        return report_answer(self._services, scope, caller.credential, is_news=is_news, pace=pace)

    def _to_unchanged(self, scope: Scope, caller: KnownCaller, body: bytes) -> ReportAnswer | None:
        report = _read_as(UnchangedReport, body)
        if report is None or not _is_of(report, caller.vm):
            return None
        pace = self._offers.paces.of(caller.view)
        is_known = self._reports.renew(caller.vm.cluster_uid, caller.instance.key, report, self._services.clock(), pace)
        told = report_answer(self._services, scope, caller.credential, is_news=is_known, pace=pace)
        return told if is_known else told.model_copy(update={"whole": True})

    def _to_question(self, scope: Scope, caller: KnownCaller, turns: agent_admission.AgentTurns) -> ASGIApp | None:
        question = _question_in(scope["query_string"], caller.vm)
        if question is None:
            return None
        known = self._offers.remembered(caller.vm, caller.view)
        is_same = known is not None and known.etag == question.etag
        return self._held(caller.vm, question, known if is_same else None, turns)

    def _held(
        self, vm: Vm, question: DocumentQuestion, known: Offer | None, turns: agent_admission.AgentTurns
    ) -> ASGIApp:
        async def held(scope: Scope, receive: Receive, send: Send) -> None:
            sending = with_headers(send, {**ANSWER_HEADERS, HEADER: self._services.access.request_id()})
            turn = turns.not_taken()
            try:
                answer = await answer_question(
                    self._offers,
                    self._feed,
                    turn,
                    vm,
                    etag=question.etag,
                    wait_s=question.wait_s,
                    known=known,
                    report_s=question.report_s,
                )
            except (problems.ApiError, StoreUnavailable) as error:
                answer = problems.answer_of(error, Request(scope))
            finally:
                turn.give_back()
            await answer(scope, receive, sending)

        return held

    def _caller(self, scope: Scope, headers: Mapping[bytes, bytes]) -> KnownCaller | None:
        if not self._is_right_door(scope, headers):
            return None
        instance_name, now = headers.get(b"x-kedge-instance", b"").decode("latin-1"), self._services.clock()
        vm, certificate = auth.parse_instance(instance_name), peers.certificate_of(scope)
        shown = auth.bearer_of(headers.get(b"authorization", b"").decode("latin-1"))
        if vm is None or not shown:
            return None
        key = f"{vm.node}.g{vm.generation}"
        if certificate is not None and (
            certificate.instance != instance_name
            or certificate.is_over(now)
            or not self._shown_certificates.is_noted(vm.cluster_uid, key, certificate)
        ):
            return None
        digest = hashlib.sha256(shown.encode()).hexdigest()
        credential = self._agents.known(vm, digest, is_certified=certificate is not None)
        view = self._services.fleet.clusters.view(vm.cluster_uid)
        instance = view.instances.get(key) if view is not None else None
        if credential is None or view is None or instance is None or is_over(view, instance):
            return None
        if is_revoked(view, key):
            return None
        return KnownCaller(vm, credential, view, instance)

    def _is_right_door(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        door = door_of(scope)
        if door is Door.AGENTS:
            return True
        is_ours = headers.get(b"host", b"").decode("latin-1") in self._services.access.hosts
        return door is Door.LOOPBACK and is_ours and b"origin" not in headers


def report_answer(
    services: PortalServices,
    scope: Scope,
    shown: Credential,
    *,
    is_news: bool,
    is_known: bool = True,
    pace: ReportPace = AT_WORK,
) -> ReportAnswer:
    """What an agent is told, and when the next report is wanted. It is asked for a rotation when the credential is old,
    and, of a known instance, for a new certificate when that is old or missing: by our clock, which alone counts.
    """
    now, certificate = services.clock(), peers.certificate_of(scope)
    may_have_one = is_known and services.access.authority is not None and peers.may_show_one(scope)
    return ReportAnswer(
        accepted=is_news,
        rotate=shown.is_older_than(services.access.credential_life, now),
        certify=may_have_one and (certificate is None or certificate.is_old(now)),
        next_s=pace.every_s,
    )


def _with_json(body: bytes, request_id: str) -> ASGIApp:
    head = [
        (b"content-length", str(len(body)).encode()),
        (b"content-type", _JSON),
        *_HEAD,
        (HEADER.lower().encode(), request_id.encode()),
    ]

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return answer


def _headers_of(scope: Scope) -> Mapping[bytes, bytes]:
    """The first of each name, as Starlette reads them."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, value)
    return headers


def _read_as(message: type[_Told], body: bytes) -> _Told | None:
    try:
        return message.model_validate_json(body)
    except ValidationError:
        return None


def _is_of(report: Report | UnchangedReport, vm: Vm) -> bool:
    is_own = (report.cluster_uid, report.node, report.generation) == (vm.cluster_uid, vm.node, vm.generation)
    return is_own and WIRE_VERSION - 1 <= report.wire <= WIRE_VERSION


def _question_in(query: bytes, vm: Vm) -> DocumentQuestion | None:
    """None for one that is not of that VM, or makes no sense."""
    asked = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    if (asked.get("cluster"), asked.get("node"), asked.get("generation")) != (
        vm.cluster_uid,
        vm.node,
        str(vm.generation),
    ):
        return None
    try:
        wait_s, report_s = float(asked.get("wait_s", "0")), float(asked.get("report_s", "0"))
    except ValueError:
        return None
    makes_sense = 0 <= wait_s < _MOST_WAIT_S and 0 <= report_s < _MOST_WAIT_S
    return DocumentQuestion(asked.get("etag", ""), wait_s, report_s) if makes_sense else None


_JSON = b"application/json"
_MOST_WAIT_S = 3600.0
_HEAD = [(name.lower().encode(), value.encode()) for name, value in ANSWER_HEADERS.items()]
