"""Faults on purpose: what is open, what came of earlier ones and of game days; and bringing one about, after a yes."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.read_models.chaos_report import fault_statuses
from controlplane.api.request_identity import heading_of
from controlplane.api.routes.chaos import brought_about, health, injection
from controlplane.api.routes.games import game_out, games_of
from controlplane.api.schemas.chaos import ChaosIn
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import InjectChaos
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.chaos import EVERYWHERE, LOCAL, MOST_S, CutFrom, Fault, chaos_asked, clouds_of
from controlplane.commands.deciders.games import FOREIGN_FAULTS, KNOWN, LOCAL_FAULTS
from controlplane.commands.deciders.lookups import Lookups
from controlplane.portal.cluster import head_of
from controlplane.portal.confirmation import Asking, YesForm, asked_and_answered, capital, judged_now, show_asking
from controlplane.portal.frame import CsrfChecked, onwards, page
from controlplane.storage.streams import cluster_stream

router = APIRouter(prefix="/clusters/{name}/chaos", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

NEWEST = 5_000
"""Events of a history that are looked through for faults."""
MOST_FAULTS = 100

Yes = Annotated[YesForm, Form()]


class FaultForm(BaseModel):
    """What is asked for, in the address: so the question can be gone back to. The fields are those of the command."""

    fault: str = Field(default="", max_length=30)
    vms: list[str] = Field(default_factory=list, max_length=1000)
    rack: str = Field(default="", max_length=100)
    for_s: float = 60.0
    cut_from: str = Field(default="everyone", max_length=30)
    way: str = Field(default="both", max_length=10)
    loss_percent: float = 20.0
    mib_per_s: float = 1.0
    several_racks: bool = False
    force: bool = False


Asked = Annotated[FaultForm, Query()]


@router.get("")
def chaos(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """What is open and what came of earlier ones; and the form, for whoever may delete the cluster."""
    view = living(services, name)
    version = services.cluster.commands.current(name).version
    faults = fault_statuses(services.store.read_stream(cluster_stream(view.uid), max(0, version - NEWEST)))
    return page(
        request,
        "chaos.html",
        head=head_of(request, services, rights, view),
        tab="chaos",
        health=health(name, services),
        why_not=_why_not(view),
        faults=faults[:MOST_FAULTS],
        more=len(faults) > MOST_FAULTS,
        games=[game_out(view, game) for game in games_of(view)],
        drawn=sorted(FOREIGN_FAULTS if foreign_clouds(view) else KNOWN),
        usual=FOREIGN_FAULTS if foreign_clouds(view) else LOCAL_FAULTS,
        newest=NEWEST if version > NEWEST else 0,
        possible=tuple(EVERYWHERE if foreign_clouds(view) else Fault),
        vms=sorted((i for i in view.alive() if i.phase is Phase.JOINED and not i.lost), key=lambda i: i.key),
        whom=tuple(CutFrom),
        most_s=MOST_S,
    )


@router.get("/ask")
def asks(request: Request, name: str, services: Services, rights: Caller, asked: Asked) -> Response:
    """What would be done to which VMs, and how it ends. Records nothing; raises CommandRefused."""
    view = judged_now(services, rights, name, Verb.DELETE)
    return show_asking(request, _asking(services, view, _command(view, rights, asked, YesForm())))


@router.post("/ask")
def brings_about(request: Request, name: str, services: Services, rights: Caller, asked: Asked, form: Yes) -> Response:
    """The fault, recorded first."""
    view = judged_now(services, rights, name, Verb.DELETE)
    command = _command(view, rights, asked, form)

    def done() -> Response:
        brought_about(services, command)
        return onwards(request, f"/clusters/{name}/chaos")

    return asked_and_answered(request, _asking(services, view, command), form, done)


def foreign_clouds(view: ClusterView) -> str:
    """The clouds it runs on beside the local one, in words."""
    return ", ".join(sorted(clouds_of(view) - {LOCAL}))


def terminates_on(clouds: str) -> str:
    """What a fault does there, in words."""
    return f"It runs on {clouds}: VMs are terminated there, with the disks that go with them"


def crumbs_of(view: ClusterView) -> tuple[tuple[str, str], ...]:
    """The way to a question that is asked from the page of faults on purpose."""
    home = f"/clusters/{view.name}"
    return ((home, view.name), (f"{home}/chaos", "faults on purpose"))


def _command(view: ClusterView, rights: Rights, asked: FaultForm, form: YesForm) -> InjectChaos:
    """The page judges what was typed, and says at its field what is wrong."""
    body = ChaosIn(**asked.model_dump(), confirm=view.name, reason=form.reason)
    return injection(heading_of(rights, view.name, form.key), body)


def _asking(services: PortalServices, view: ClusterView, command: InjectChaos) -> Asking:
    """By the function the handler asks. Raises CommandRefused."""
    asked = chaos_asked(view, command, Lookups(kafka=services.fleet.clusters.last_snapshot(view.uid)))
    foreign = foreign_clouds(view)
    fault = Fault(command.fault)
    sentences = [capital(asked.sentence), _ENDS[fault]]
    if command.force:
        sentences.append("Forced: the cluster's health is ignored")
    if foreign:
        sentences.append(terminates_on(foreign))
    sentences.append("It is recorded first, with who requested it and why; Kedge reacts as to any other fault")
    return Asking(
        title=f"{command.fault} in {view.name}",
        crumbs=crumbs_of(view),
        pin=view.uid,
        sentences=tuple(sentences),
        button="Inject the fault",
        typed=view.name if foreign else "",
        is_grave=True,
    )


def _why_not(view: ClusterView) -> str:
    """Why no fault may be brought about here, whoever asks; "" where one may."""
    if view.requests.tombstone:
        return "it is being deleted"
    if foreign_clouds(view) and (view.document is None or view.document.spec.chaos != "allowed"):
        return f"it runs on {foreign_clouds(view)}, and its spec does not say `chaos: allowed`"
    return ""


_AGENT_STARTS = "Its agent restarts it"
_NEXT_VM = "The VM does not come back: its node gets the next one once the cloud has said that it is gone"
_ENDS = {
    Fault.KILL_BROKER: _AGENT_STARTS,
    Fault.KILL_ZOOKEEPER: _AGENT_STARTS,
    Fault.KILL_AGENT: "The VM's init starts it again; Kafka runs on",
    Fault.KILL_VM: _NEXT_VM,
    Fault.KILL_RACK: _NEXT_VM,
    Fault.PAUSE: "Its processes go on when the time is over",
    Fault.LOSE_VOLUME: "The disk is back when the time is over; what is on it stays",
    Fault.FULL_DISK: "The space is given back when the time is over",
    Fault.SLOW_DISK: "It is as fast as before when the time is over",
    Fault.SPLIT: "The rule ends by itself when the time is over",
    Fault.PACKET_LOSS: "The rule ends by itself when the time is over",
}
"""How each ends, whoever is there by then (docs/chaos.md)."""
