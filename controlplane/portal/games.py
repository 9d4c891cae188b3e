"""Having a game day played, and ending one early, after a yes. The page of faults on purpose shows how it goes."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.given_commands import spread
from controlplane.api.request_identity import heading_of
from controlplane.api.routes.games import started, starting
from controlplane.api.schemas.games import MOST_SEED, GameIn
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import EndGame, StartGame
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.games import game_ended, game_started
from controlplane.commands.deciders.lookups import Lookups
from controlplane.portal.chaos import crumbs_of, foreign_clouds, terminates_on
from controlplane.portal.confirmation import Asking, YesForm, asked_and_answered, capital, judged_now, show_asking
from controlplane.portal.frame import CsrfChecked, onwards
from events.ids import derived_id

router = APIRouter(
    prefix="/clusters/{name}/chaos/game", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked]
)

Yes = Annotated[YesForm, Form()]


class GameForm(BaseModel):
    """What is asked for, in the address: so the question can be gone back to. The fields are those of the API."""

    events: int = 5
    seed: int = Field(default=0, ge=0, le=MOST_SEED)
    within_s: float = 600.0
    lasts_s: float = 15.0
    heal_within_s: float = 300.0
    faults: list[str] = Field(default_factory=list, max_length=20)
    force: bool = False


Asked = Annotated[GameForm, Query()]
Game = Annotated[str, Query(max_length=100)]


@router.get("")
def asks(request: Request, name: str, services: Services, rights: Caller, asked: Asked) -> Response:
    """What would be drawn from, and how it ends. Records nothing; raises CommandRefused."""
    view = judged_now(services, rights, name, Verb.DELETE)
    return show_asking(request, _asking(services, view, _command(view, rights, asked, YesForm())))


@router.post("")
def starts(request: Request, name: str, services: Services, rights: Caller, asked: Asked, form: Yes) -> Response:
    """The game, recorded; the server that leads plays it."""
    view = judged_now(services, rights, name, Verb.DELETE)
    command = _command(view, rights, asked, form)

    def done() -> Response:
        started(services, command)
        return onwards(request, f"/clusters/{name}/chaos")

    if view.requests.game is not None and view.requests.game.id == derived_id("game", view.uid, command.command_id):
        return done()  # this very form was sent before
    return asked_and_answered(request, _asking(services, view, command), form, done)


@router.get("/end")
def asks_end(request: Request, name: str, services: Services, rights: Caller, game: Game = "") -> Response:
    """What ending it means. Raises CommandRefused where no such game is in hand."""
    view = judged_now(services, rights, name, Verb.DELETE)
    return show_asking(request, _end_asking(view, _end_command(view, rights, game, YesForm())))


@router.post("/end")
def ends(request: Request, name: str, services: Services, rights: Caller, form: Yes, game: Game = "") -> Response:
    """No further fault begins."""
    view = judged_now(services, rights, name, Verb.DELETE)
    command = _end_command(view, rights, game, form)

    def done() -> Response:
        spread(services, [services.cluster.commands.handle(command)])
        return onwards(request, f"/clusters/{name}/chaos")

    asking = _end_asking(view, command)
    return asked_and_answered(request, asking, form, done) if asking.button else onwards(request, asking.back)


def _command(view: ClusterView, rights: Rights, asked: GameForm, form: YesForm) -> StartGame:
    body = GameIn(**asked.model_dump(), confirm=view.name, reason=form.reason)
    return starting(heading_of(rights, view.name, form.key), rights, body)


def _end_command(view: ClusterView, rights: Rights, game: str, form: YesForm) -> EndGame:
    return EndGame(**heading_of(rights, view.name, form.key), game=game, reason=form.reason)


def _asking(services: PortalServices, view: ClusterView, command: StartGame) -> Asking:
    """By the function the handler asks. Raises CommandRefused."""
    asked = game_started(view, command, Lookups(kafka=services.fleet.clusters.last_snapshot(view.uid)))
    foreign = foreign_clouds(view)
    sentences = [
        capital(asked.sentence),
        f"One VM at a time: the next fault waits for full health, {command.heal_within_s:g} s at most; "
        f"none begins after {command.within_s:g} s",
        "The server that leads plays it, also when this page is closed; it can be ended early, and it ends by itself "
        "with that server",
    ]
    if foreign:
        sentences.append(terminates_on(foreign))
    return Asking(
        title=f"A game day of {view.name}",
        crumbs=crumbs_of(view),
        pin=view.uid,
        sentences=tuple(sentences),
        button="Start game day",
        typed=view.name if foreign else "",
        is_grave=True,
    )


def _end_asking(view: ClusterView, command: EndGame) -> Asking:
    asked = game_ended(view, command)
    sentences = (
        "No further fault begins",
        "The one in hand ends by itself, and what comes of it is not measured any more",
    )
    return Asking(
        title=f"End the game day of {view.name}",
        crumbs=crumbs_of(view),
        pin=command.game,
        sentences=sentences if asked.fact is not None else (capital(asked.sentence),),
        button="End it" if asked.fact is not None else "",
    )
