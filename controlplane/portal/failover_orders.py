"""What is ordered of a pair, each on a page of its own: it says what will happen, and the name is typed there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.presenters.failovers import cluster_names, failover_plan_of
from controlplane.api.request_identity import heading_of
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import CommandRefused
from controlplane.commands.failover_declarations import WithdrawPair, refuse_acting
from controlplane.commands.failover_orders import AbortFailover, CertifyDoorShut, OrderFailover, aborted, certified
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.portal.confirmation import Asking, YesForm, asked_and_answered, show_asking, show_refusal
from controlplane.portal.failovers import clusters_of
from controlplane.portal.frame import CsrfChecked, onwards

router = APIRouter(prefix="/failovers/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Yes = Annotated[YesForm, Form()]
_HOW = "Say how you know: its region is gone, its machines are switched off and stay so"


@dataclass(frozen=True, slots=True)
class _Judged:
    """A pair that the caller may do that to, as it stands; `primary` and `standby` by name."""

    pair: RegisteredPair
    primary: str
    standby: str


@router.get("/failover")
def asks_failover(request: Request, name: str, services: Services, rights: Caller, planned: bool = True) -> Response:
    """What a failover would do and lose. Records nothing."""
    judged = _judged(services, rights, name, Verb.STEER)
    return show_asking(request, _failover(services, judged, planned=planned))


@router.post("/failover")
def orders_failover(
    request: Request, name: str, services: Services, rights: Caller, form: Yes, planned: bool = True
) -> Response:
    """Orders it, if the pair stands as it was shown."""
    asking = _failover(services, _judged(services, rights, name, Verb.STEER), planned=planned)
    command = OrderFailover(
        **heading_of(rights, name, form.key),
        planned=planned,
        accepts_loss=bool(asking.accept) and form.accept,
        confirm=form.confirm.strip(),
        reason=form.reason,
        plan_digest=asking.pin,
    )
    return _answered(request, asking, form, lambda: services.fleet.failovers.order(command))


@router.get("/abort")
def asks_abort(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """What an abort would lead back. Records nothing."""
    return show_asking(request, _abort(services, _judged(services, rights, name, Verb.STEER), rights))


@router.post("/abort")
def aborts(request: Request, name: str, services: Services, rights: Caller, form: Yes) -> Response:
    """Leads all back to the primary."""
    asking = _abort(services, _judged(services, rights, name, Verb.STEER), rights)
    command = AbortFailover(**heading_of(rights, name, form.key), reason=form.reason)
    return _answered(request, asking, form, lambda: services.fleet.failovers.abort(command))


@router.get("/certify-shut")
def asks_certify(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """Of which VMs nobody knows that they are shut. Records nothing."""
    return show_asking(request, _certify(services, _judged(services, rights, name, Verb.DELETE), rights))


@router.post("/certify-shut")
def certifies(request: Request, name: str, services: Services, rights: Caller, form: Yes) -> Response:
    """A person's word that the door of the old primary is shut."""
    asking = _certify(services, _judged(services, rights, name, Verb.DELETE), rights)
    command = _word(rights, name, form)
    return _answered(request, asking, form, lambda: services.fleet.failovers.certify(command))


@router.get("/withdraw")
def asks_withdraw(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """What becomes of both clusters. Records nothing."""
    return show_asking(request, _withdraw(_judged(services, rights, name, Verb.DELETE)))


@router.post("/withdraw")
def withdraws(request: Request, name: str, services: Services, rights: Caller, form: Yes) -> Response:
    """Takes its declaration back."""
    asking = _withdraw(_judged(services, rights, name, Verb.DELETE))
    command = WithdrawPair(**heading_of(rights, name, form.key), confirm=form.confirm.strip(), reason=form.reason)
    return _answered(request, asking, form, lambda: services.fleet.failovers.withdraw(command), then="/failovers")


def _judged(services: PortalServices, rights: Rights, name: str, verb: Verb) -> _Judged:
    """The pair for somebody who may do that to both of its clusters. Raises PairNotFound, Forbidden."""
    pair = services.fleet.failovers.get(name)
    for view in clusters_of(services, pair):
        rights.require(verb, traits_of(view.document), f"the failover {name}")
    names = cluster_names(services)
    primary, standby = (pair.view.primary, pair.view.standby) if pair.view.name else pair.clusters
    return _Judged(pair, names.get(primary, primary), names.get(standby, standby))


def _answered(request: Request, asking: Asking, form: YesForm, do: Callable[[], object], *, then: str = "") -> Response:
    """Back to the pair, or `then`; where it is refused the page again, with why."""

    def done() -> Response:
        try:
            do()
        except CommandRefused as refused:
            return show_refusal(request, asking, form, refused)
        return onwards(request, then or asking.back)

    return asked_and_answered(request, asking, form, done)


def _failover(services: PortalServices, judged: _Judged, *, planned: bool) -> Asking:
    """By the plan that an order is judged by. Raises CommandRefused where its declaration was not ended."""
    pair, primary, standby = judged.pair, judged.primary, judged.standby
    begun = failover_plan_of(services, pair, planned=planned, accepts_loss=False)
    plan = failover_plan_of(services, pair, planned=planned, accepts_loss=True)
    needs_word = len(plan.refusals) < len(begun.refusals)
    kind = "planned" if planned else "unplanned"
    first = (
        f"{standby} takes over from {primary}, while {primary} is there and answers"
        if planned
        else f"{standby} takes over from {primary}, which is taken for lost: with what {standby} has"
    )
    return Asking(
        title=f"{kind.capitalize()} failover from {primary} to {standby}",
        crumbs=_crumbs(pair.name),
        pin=plan.digest,
        sentences=(
            first,
            "It can be aborted up to its point of no return; behind that another failover leads back",
        ),
        button="" if plan.refusals else f"Order the {kind} failover",
        typed=pair.name,
        accept="I have read what may be lost, and accept it" if needs_word else "",
        why_not=tuple(f"{refusal.message}. {refusal.fix}" for refusal in plan.refusals),
        is_grave=True,
        template="failoverorder.html",
        content={"plan": plan},
    )


def _abort(services: PortalServices, judged: _Judged, rights: Rights) -> Asking:
    pair = judged.pair
    command = AbortFailover(**heading_of(rights, pair.name, ""), reason="")
    why_not = _refused(lambda: aborted(pair, command, cluster_names(services)))
    order = pair.view.order
    return Asking(
        title=f"Abort the failover of {pair.name}",
        crumbs=_crumbs(pair.name),
        pin=order.id if order is not None else "",
        sentences=(
            f"The door of {judged.primary} is opened again, and the pair's name led back to it",
            f"{judged.standby} is its standby again once it is what it has to be",
        ),
        button="" if why_not else "Abort the failover",
        typed=pair.name,
        why_not=why_not,
        is_grave=True,
    )


def _certify(services: PortalServices, judged: _Judged, rights: Rights) -> Asking:
    pair, primary = judged.pair, judged.primary
    # Judged as if a reason were given: that one is needed is said at its field.
    word = _word(rights, pair.name, YesForm(confirm=pair.name, reason=_HOW))
    troubles = services.fleet.failovers.troubles(pair)
    why_not = _refused(lambda: certified(pair, word, cluster_names(services), troubles.heard_open))
    door = pair.view.doors.get(pair.view.primary)
    return Asking(
        title=f"Certify that the door of {primary} is shut",
        crumbs=_crumbs(pair.name),
        pin=f"{pair.uid} {door.epoch if door is not None else 0}",
        sentences=(
            f"Your word that no VM of {primary} lets clients in counts as the proof, and the failover goes on",
            "Look first that its region is gone, or its machines are switched off: a VM that still lets clients in "
            f"takes records beside {judged.standby}, and they are lost",
            _HOW,
        ),
        figures=tuple(f"Not proved of {vm}: {why}" for vm, why in sorted(troubles.unproved.items()))
        if not why_not
        else (),
        button="" if why_not else "It is shut",
        typed=pair.name,
        why_not=why_not,
        needs_reason=True,
        is_grave=True,
    )


def _withdraw(judged: _Judged) -> Asking:
    pair = judged.pair
    why_not = _refused(lambda: refuse_acting(pair.name, pair))
    return Asking(
        title=f"Withdraw the pair {pair.name}",
        crumbs=_crumbs(pair.name),
        pin=pair.uid,
        sentences=(
            f"{judged.primary} and {judged.standby} stay as they are, each its own: both let clients in",
            "Neither takes over from the other any more. A pair of this name that is declared later is another one",
        ),
        button="" if why_not else "Withdraw it",
        typed=pair.name,
        why_not=why_not,
        is_grave=True,
    )


def _word(rights: Rights, name: str, form: YesForm) -> CertifyDoorShut:
    return CertifyDoorShut(**heading_of(rights, name, form.key), confirm=form.confirm.strip(), reason=form.reason)


def _refused(judge: Callable[[], object]) -> tuple[str, ...]:
    """Why it would be refused as things are, by the function that judges the command; nothing where it would not."""
    try:
        judge()
    except CommandRefused as refused:
        return (f"{refused}. {refused.what_next}".strip(),)
    return ()


def _crumbs(name: str) -> tuple[tuple[str, str], ...]:
    return (("/failovers", "Pairs"), (f"/failovers/{name}", name))
