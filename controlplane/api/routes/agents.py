"""/agent/v1: how the agent of one VM enrols, rotates, hears what its VM should be, and reports what it is."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from agent.wire import (
    WIRE_VERSION,
    CertificateAnswer,
    CertificateRequest,
    Document,
    EnrolAnswer,
    EnrolRequest,
    NodeCertificateAnswer,
    Report,
    ReportAnswer,
    RotateRequest,
    UnchangedReport,
)
from controlplane.api import agent_refusals, auth, peers
from controlplane.api.agent_calls import report_answer
from controlplane.api.agent_instances import is_over, is_revoked
from controlplane.api.document_offers import answer_question
from controlplane.api.node_certificates import NotYet
from controlplane.api.problems import ApiError
from controlplane.api.report_paces import ReportPaces
from controlplane.api.schemas.agents import AcceptedOut
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import keep_report
from controlplane.cluster.observed.report_pace import AT_WORK
from controlplane.cluster.tls_steps import tls_step_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.work_in_hand import has_work
from controlplane.storage.agent_credentials import CredentialRefused, Vm
from controlplane.storage.certificates.agents import identity_uri
from controlplane.storage.certificates.authority import Authority
from controlplane.storage.certificates.building import RequestRefused
from controlplane.storage.certificates.cluster_authorities import AuthorityLost
from events.ids import ClusterUid, IntentId, NodeName
from planner.rollout.security_steps import PLAIN

router = APIRouter(prefix="/agent/v1", tags=["agents"])


class PemResponse(Response):
    """A certificate as text."""

    media_type = "application/x-pem-file"


TOKEN_LIFE = timedelta(hours=1)
"""From the recorded intent on. A VM that enrols later than that is replaced instead."""


@router.post("/enrol", responses={410: {"description": "the instance is retired"}})
def enrol(body: EnrolRequest, request: Request, services: Services) -> EnrolAnswer:
    """Swaps the one-time token for the credential the VM made, and for a certificate of the key it made.

    The same credential again is answered again, with a certificate unless the VM has shown one that does not come now.
    """
    _refuse_wire(body.wire)
    vm = Vm(ClusterUid(body.cluster_uid), NodeName(body.node), body.generation)
    certificate = peers.certificate_of(request.scope)
    auth.refuse_other_certificate(certificate, vm)
    view, instance = _in_records(vm, services)
    right = auth.enrolment_token(services.access.installation.server_key, IntentId(body.intent_id))
    if (
        not auth.same_secret(body.token.get_secret_value(), right)
        or view is None
        or instance is None
        or instance.intent != body.intent_id
    ):
        raise _enrolment_refused("the token is not the one of this instance")
    if is_revoked(view, instance.key):
        raise _enrolment_refused("what was given to this VM is revoked")
    _refuse_no_digest(body.credential_sha256)
    known = services.access.credentials.get(vm)
    if known is None and services.clock() - instance.requested_at > TOKEN_LIFE:
        raise _enrolment_refused("the token was valid for an hour and is over")
    if known is None and instance.phase is Phase.RETIRED:
        raise agent_refusals.gone(vm)
    try:
        enrolled = services.access.credentials.enroll(
            vm, credential_sha256=body.credential_sha256, intent_id=IntentId(body.intent_id)
        )
    except CredentialRefused as refused:
        raise _enrolment_refused(str(refused)) from refused
    is_proved = certificate is not None or enrolled.certified_at is None
    if not body.csr or services.access.authority is None or not is_proved or is_over(view, instance):
        return EnrolAnswer()
    return EnrolAnswer(certificate=_signed(services.access.authority, vm, body.csr, services.clock()))


@router.get(
    "/ca",
    response_class=PemResponse,
    responses={404: {"description": "it serves agents on loopback, without TLS"}},
)
def get_ca(services: Services) -> Response:
    """The certificate agents are to believe. Public: they take it only if its hash is the one they were born with."""
    if not services.access.ca_pem:
        raise _no_ca()
    return PemResponse(services.access.ca_pem)


@router.post("/rotate")
def rotate(body: RotateRequest, vm: auth.Agent, shown: auth.ShownCredential, services: Services) -> AcceptedOut:
    """Records the agent's next credential. The one it shows counts until the next one is shown."""
    _refuse_wire(body.wire)
    _refuse_other(vm, body.cluster_uid, body.node, body.generation)
    _refuse_no_digest(body.credential_sha256)
    try:
        services.access.credentials.rotate(vm, shown_sha256=shown.credential_sha256, next_sha256=body.credential_sha256)
    except CredentialRefused as refused:
        then = "Go on with the credential in force; the next report asks again."
        raise ApiError(409, "rotation-refused", "rotation refused", detail=str(refused), next_step=then) from refused
    return AcceptedOut(accepted=True)


@router.post(
    "/certificate",
    responses={
        404: {"description": "nothing is known of the instance, or the server has no CA"},
        410: {"description": "the instance is retired"},
    },
)
def certify(body: CertificateRequest, shown: auth.AgentAtRenewal, services: Services) -> CertificateAnswer:
    """Signs the key the VM made: the first time by its credential alone, then only with the certificate before."""
    vm = shown.vm
    _refuse_wire(body.wire)
    _refuse_other(vm, body.cluster_uid, body.node, body.generation)
    if services.access.authority is None:
        raise _no_ca()
    services.fleet.clusters.catch_up()  # what was revoked a moment ago counts
    view = services.fleet.clusters.view(vm.cluster_uid)
    instance = view.instances.get(_key(vm)) if view is not None else None
    if view is None or instance is None or is_revoked(view, instance.key):
        raise agent_refusals.no_document()
    if is_over(view, instance):
        raise agent_refusals.gone(vm)
    return CertificateAnswer(certificate=_signed(services.access.authority, vm, body.csr, services.clock()))


@router.post(
    "/node-certificate",
    responses={
        404: {"description": "nothing is known of the instance, or its cluster speaks no TLS"},
        410: {"description": "the instance is retired"},
        503: {"description": "not now: ask again"},
    },
)
def certify_node(body: CertificateRequest, vm: auth.Agent, services: Services) -> NodeCertificateAnswer:
    """Signs what the VM's Kafka service shows to the others of its cluster. Names of the request count for nothing."""
    _refuse_wire(body.wire)
    _refuse_other(vm, body.cluster_uid, body.node, body.generation)
    epoch = services.operations.leadership.held_epoch()
    if epoch is None:
        raise agent_refusals.not_leading()
    services.fleet.clusters.catch_up()  # what was signed, or revoked, a moment ago counts
    view = services.fleet.clusters.view(vm.cluster_uid)
    instance = view.instances.get(_key(vm)) if view is not None else None
    signs = services.access.node_certificates
    if view is None or instance is None or signs is None or tls_step_of(view, instance) == PLAIN:
        raise agent_refusals.no_document()
    if is_revoked(view, instance.key):
        raise agent_refusals.no_document()
    if is_over(view, instance):
        raise agent_refusals.gone(vm)
    try:
        return signs.certify(view, instance, body.csr, epoch=epoch)
    except RequestRefused as refused:
        raise ApiError(422, "csr-refused", "the signing request is refused", detail=str(refused)) from refused
    except NotYet as wait:
        raise ApiError(503, "not-yet", "nothing is signed now", detail=str(wait), retry_after_s=5) from wait
    except AuthorityLost as lost:
        raise ApiError(503, "authority-lost", "the cluster's CA is not there", detail=str(lost)) from lost


@router.get(
    "/document",
    response_model=Document,
    responses={
        304: {"description": "what `etag` names is in force"},
        404: {"description": "nothing is known of the instance: keep running what runs"},
        410: {"description": "the instance is retired: stop the services and stay down"},
    },
)
async def get_document(
    request: Request,
    vm: auth.Agent,
    cluster: str,
    node: str,
    generation: int,
    etag: str = "",
    wait_s: Annotated[float, Query(ge=0)] = 0.0,
    report_s: Annotated[float, Query(ge=0)] = 0.0,
) -> Response:
    """What the VM should be. Held for up to `wait_s` while it is what `etag` names: then 304. Also where reports are
    wanted more often than every `report_s`, the agent's pace: `X-Kedge-Report-In` says when.
    """
    _refuse_other(vm, cluster, node, generation)
    state = request.app.state
    return await answer_question(
        state.offers, state.feed, request.state.turn, vm, etag=etag, wait_s=wait_s, report_s=report_s
    )


@router.post("/report", responses={410: {"description": "the instance is retired"}})
def put_report(
    report: Report, request: Request, vm: auth.Agent, shown: auth.ShownCredential, services: Services
) -> ReportAnswer:
    """Keeps the VM's latest report and has its cluster looked at. A repeated or older one is taken and ignored. The
    answer says when the next one is wanted; a change at once.
    """
    view, instance = _who_reports(report, vm, services)
    paces: ReportPaces = request.app.state.offers.paces
    pace = paces.after(view, report) if view is not None and instance is not None else AT_WORK
    is_news = keep_report(services.cluster.latest, vm.cluster_uid, _key(vm), report, services.clock(), pace)
    if is_news and view is not None and (has_work(view) or report.preemption is not None):
        services.cluster.wake(vm.cluster_uid)
    certificate = peers.certificate_of(request.scope)
    if certificate is not None:
        request.app.state.shown_certificates.note(vm.cluster_uid, _key(vm), certificate)
    return report_answer(services, request.scope, shown, is_news=is_news, is_known=instance is not None, pace=pace)


@router.post("/unchanged", responses={410: {"description": "the instance is retired"}})
def put_unchanged(
    report: UnchangedReport, request: Request, vm: auth.Agent, shown: auth.ShownCredential, services: Services
) -> ReportAnswer:
    """That the VM's latest report stands. The answer may ask for a whole one."""
    _, instance = _who_reports(report, vm, services)
    # Who is known is answered before the routes (`agent_calls`): of anybody else it is not known what was said.
    told = report_answer(services, request.scope, shown, is_news=False, is_known=instance is not None)
    return told.model_copy(update={"whole": True})


def _who_reports(
    report: Report | UnchangedReport, vm: Vm, services: PortalServices
) -> tuple[ClusterView | None, InstanceView | None]:
    """Its cluster and itself, where they are known. Raises ApiError where it is another VM's, or itself retired."""
    _refuse_wire(report.wire)
    _refuse_other(vm, report.cluster_uid, report.node, report.generation)
    view = services.fleet.clusters.view(vm.cluster_uid)
    instance = view.instances.get(_key(vm)) if view is not None else None
    if view is not None and instance is not None and is_over(view, instance):
        raise agent_refusals.gone(vm)
    return view, instance


def _in_records(vm: Vm, services: PortalServices) -> tuple[ClusterView | None, InstanceView | None]:
    """As they are recorded. A VM is refused for good where it is not there: another process may have recorded it a
    moment ago, and then it is read."""
    fleet, key = services.fleet.clusters, _key(vm)
    view = fleet.view(vm.cluster_uid)
    if view is None or key not in view.instances:
        fleet.catch_up()
        view = fleet.view(vm.cluster_uid)
    return view, view.instances.get(key) if view is not None else None


def _refuse_wire(wire: int) -> None:
    if not WIRE_VERSION - 1 <= wire <= WIRE_VERSION:
        detail = f"the agent speaks wire version {wire}, this server {WIRE_VERSION} and the one before"
        raise ApiError(422, "wire-version", "agent and server do not understand each other", detail=detail)


def _refuse_other(vm: Vm, cluster: str, node: str, generation: int) -> None:
    if (vm.cluster_uid, vm.node, vm.generation) != (cluster, node, generation):
        raise ApiError(403, "not-yours", "an agent speaks for its own instance only")


def _signed(authority: Authority, vm: Vm, csr: str, now: datetime) -> str:
    try:
        return authority.certify(csr, identity_uri(f"{vm.cluster_uid}/{_key(vm)}"), now=now)
    except RequestRefused as refused:
        raise ApiError(422, "csr-refused", "the signing request is refused", detail=str(refused)) from refused


def _no_ca() -> ApiError:
    then = "Agents call this server on loopback, without TLS; `agents.host` lets it serve them over TLS."
    return ApiError(404, "no-ca", "this server has no CA for agents", next_step=then)


def _enrolment_refused(why: str) -> ApiError:
    return ApiError(403, "enrolment-refused", "enrolment refused", detail=why, next_step="Replace the node.")


def _refuse_no_digest(text: str) -> None:
    if len(text) != 64 or any(c not in "0123456789abcdef" for c in text):
        raise ApiError(422, "request-invalid", "credential_sha256 is not a SHA-256 in hex")


def _key(vm: Vm) -> str:
    return f"{vm.node}.g{vm.generation}"
