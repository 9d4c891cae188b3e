"""/v1/clusters/NAME/games: game days, their progress and their reports."""

from fastapi import APIRouter

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import spread
from controlplane.api.paging import MOST_ON_A_PAGE, AfterId, Most, Turning, following
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Heading
from controlplane.api.schemas import games as game_api, messages as message_api
from controlplane.api.services import PortalServices, Services
from controlplane.background.game_days.report import game_words, totals_of
from controlplane.cluster.commands import CommandHead, EndGame, StartGame
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.game_days import GameView, PlayedView
from events.ids import derived_id

router = APIRouter(prefix=message_api.API_PREFIX, tags=["chaos"])


@router.get("/clusters/{name}/games")
def games(
    name: str, services: Services, turn: Turning, after: AfterId = "", limit: Most = MOST_ON_A_PAGE
) -> game_api.GamesOut:
    """The game day in hand, and the reports of the last ten."""
    view = living(services, name)
    shown = [game_out(view, game) for game in games_of(view)]
    left = following(shown, lambda game: game.game, after)
    return game_api.GamesOut(cluster=name, games=turn.page(left, lambda game: game.game, limit))


@router.get("/clusters/{name}/games/{game}")
def game(name: str, game: str, services: Services) -> game_api.GameOut:
    """One game day, as far as it was played."""
    return _game_out(living(services, name), game)


@router.post("/clusters/{name}/games")
def start(body: game_api.GameIn, services: Services, rights: Caller, head: Heading) -> game_api.GameOut:
    """Start a game day by the server that leads. It is recorded first, and begins within a minute or never."""
    living(services, head["name"])
    return _game_out(*started(services, starting(head, rights, body)))


@router.post("/clusters/{name}/games/{game}/end")
def end(game: str, body: game_api.EndGameIn, services: Services, head: Heading) -> game_api.GameOut:
    """Begin no further fault of a game day. The one in hand ends by itself and is not judged any more."""
    living(services, head["name"])
    command = EndGame(**head, game=game, reason=body.reason)
    spread(services, [services.cluster.commands.handle(command)])
    return _game_out(services.cluster.commands.current(command.name), game)


def starting(head: CommandHead, rights: Rights, asked: game_api.GameIn) -> StartGame:
    """The command for what somebody asked for, on a page or as a program."""
    return StartGame(
        **head,
        **asked.model_dump(exclude={"events", "faults"}),
        wanted=asked.events,
        faults=tuple(asked.faults),
        subject=rights.subject,
        via=rights.via,
    )


def started(services: PortalServices, command: StartGame) -> tuple[ClusterView, str]:
    """The cluster with the game on record, and its id. Raises CommandRefused."""
    spread(services, [services.cluster.commands.handle(command)])
    view = services.cluster.commands.current(command.name)
    return view, derived_id("game", view.uid, command.command_id)


def games_of(view: ClusterView) -> list[GameView]:
    """The newest first."""
    return [*([view.requests.game] if view.requests.game is not None else []), *reversed(view.requests.games)]


def game_out(view: ClusterView, game: GameView) -> game_api.GameOut:
    """What is told of a game."""
    asked, totals = game.asked, totals_of(game)
    return game_api.GameOut.like(
        asked,
        game=game.id,
        cluster=view.name,
        sentence=game_words(game),
        since=game.since,
        ended_at=game.ended_at,
        stopped=game.stopped,
        events=[_played_out(played) for played in game.played],
        detected_p50_s=totals.detected_p50_s,
        detected_p95_s=totals.detected_p95_s,
        healed_p50_s=totals.healed_p50_s,
        healed_p95_s=totals.healed_p95_s,
        under_min_isr_s=totals.under_min_isr_s,
    )


def _game_out(view: ClusterView, number: str) -> game_api.GameOut:
    found = next((g for g in games_of(view) if g.id == number), None)
    if found is None:
        then = f"kedge chaos {view.name} game --list shows those that are kept; the event log has all."
        raise ApiError(404, "game-not-found", f"{view.name} keeps no game day {number!r}", next_step=then)
    return game_out(view, found)


def _played_out(played: PlayedView) -> game_api.PlayedOut:
    score = played.score
    return game_api.PlayedOut(
        chaos=played.chaos,
        fault=played.fault,
        vm=played.key,
        at=played.at,
        judged=score is not None,
        detected_s=score.detected_s if score else None,
        healed_s=score.healed_s if score else None,
        under_min_isr_s=score.under_min_isr_s if score else 0.0,
        first_sign=score.first_sign if score else "",
        findings=list(score.findings) if score else [],
    )
