"""`kedge chaos`: faults on purpose, bounded in time, recorded before they are brought about; and whole game days."""

from typing import Annotated, Any

import typer

from controlplane.api.schemas import chaos as chaos_api, games as game_api
from controlplane.cli import chaos_game, errors, exits, moments, options
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import Session, session_of

GAME = "game"

_Fault = Annotated[
    str,
    typer.Argument(
        metavar="FAULT",
        help="kill-broker, kill-zookeeper, kill-agent, kill-vm, kill-rack, pause, lose-volume, full-disk, slow-disk, "
        "split, packet-loss; or game.",
        show_default=False,
    ),
]
_Vms = Annotated[
    list[str] | None,
    typer.Option("--vm", metavar="VM", show_default=False, help="A VM by its key or its node. Repeatable."),
]
_Rack = Annotated[
    str, typer.Option("--rack", metavar="RACK", show_default=False, help="Every VM of it that suits the fault.")
]
_For = Annotated[
    str,
    typer.Option("--for", metavar="DURATION", help="How long it lasts; of a game: the time in which faults begin."),
]
_Several = Annotated[bool, typer.Option("--several-racks", help="VMs of more than one rack at once.")]
_Force = Annotated[bool, typer.Option("--force", help="Even if the cluster is not fully healthy.")]
_Confirm = Annotated[
    str,
    typer.Option("--confirm", metavar="NAME", show_default=False, help="The cluster's name, off the local cloud."),
]
_CutFrom = Annotated[
    str, typer.Option("--from", metavar="WHOM", help="Of a split: everyone, brokers (the others) or control-plane.")
]
_Way = Annotated[str, typer.Option("--way", metavar="WAY", help="Of split and packet-loss: both, in or out.")]
_Loss = Annotated[float, typer.Option("--loss", metavar="PERCENT", help="Of packet-loss: packets that are dropped.")]
_Rate = Annotated[
    float, typer.Option("--mib-per-s", metavar="MIB", help="Of slow-disk: what it still reads and writes.")
]
_Events = Annotated[int, typer.Option("--events", min=1, max=1000, help="Of a game: how many faults.")]
_Faults = Annotated[
    str,
    typer.Option(
        "--faults",
        metavar="FAULTS",
        show_default="kill-broker, kill-agent, pause, kill-vm",
        help="Of a game: what is drawn from, with commas.",
    ),
]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Of a game: the same seed draws the same faults.")]
_End = Annotated[bool, typer.Option("--end", help="Of a game: have no further fault of the one in hand begin.")]
_List = Annotated[bool, typer.Option("--list", help="Of a game: show the one in hand and the last ten.")]
_Show = Annotated[str, typer.Option("--show", metavar="GAME", show_default=False, help="Of a game: its report, by id.")]
_Detach = Annotated[bool, typer.Option("--detach", help="Of a game: return once it is recorded.")]


def chaos(
    context: typer.Context,
    cluster: options.Cluster,
    fault: _Fault,
    vm: _Vms = None,
    rack: _Rack = "",
    lasts: _For = "60s",
    several_racks: _Several = False,
    force: _Force = False,
    confirm: _Confirm = "",
    cut_from: _CutFrom = "everyone",
    way: _Way = "both",
    loss: _Loss = 20.0,
    mib_per_s: _Rate = 1.0,
    events: _Events = 5,
    seed: _Seed = 0,
    faults: _Faults = "",
    end: _End = False,
    list_: _List = False,
    show: _Show = "",
    detach: _Detach = False,
    reason: options.Reason = "",
    output: options.Output = Format.TEXT,
) -> None:
    """Inject a fault.

    It is recorded first, so that the history has the cause of what follows. Refused while the cluster is not fully
    healthy, and for more than one rack at once. The local cloud offers every fault; others only kill-vm and
    kill-rack, only where the spec says `chaos: allowed`, and with the cluster's name typed out.

    `game` is a series of faults drawn by the server, with full health between them, and a report. It goes on
    without this command, and ends with the server that plays it: the report says so.

    Exit codes: 0 done, 1 refused, or a fault of the game did not heal.

    \b
    Examples:
      kedge chaos orders kill-broker --vm brokers-a-0
      kedge chaos orders pause --vm brokers-b-0 --for 30s
      kedge chaos orders split --vm brokers-a-0 --from brokers --way out --for 60s
      kedge chaos orders packet-loss --rack a --loss 20 --for 2m
      kedge chaos orders slow-disk --vm brokers-c-0 --mib-per-s 2 --for 60s
      kedge chaos orders game --events 5 --seed 7 --for 10m -o json
      kedge chaos orders game --faults split,packet-loss,kill-broker --detach
      kedge chaos orders game --end --reason "enough for today"
      kedge chaos orders game --list
    """
    session, seconds = session_of(context), moments.seconds_of(lasts, option="--for")
    agreed: dict[str, Any] = {"force": force, "confirm": confirm, "reason": reason}
    if fault == GAME:
        order = game_api.GameIn(events=events, seed=seed, within_s=seconds, faults=_listed(faults), **agreed)
        _of_game(session, cluster, order, output, ends=end, lists=list_, shows=show, detach=detach)
        return
    whom: dict[str, Any] = {"vms": vm or [], "rack": rack, "several_racks": several_racks}
    how: dict[str, Any] = {"cut_from": cut_from, "way": way, "loss_percent": loss, "mib_per_s": mib_per_s}
    _bring_about(session, cluster, chaos_api.ChaosIn(fault=fault, for_s=seconds, **whom, **how, **agreed), output)


def _listed(faults: str) -> list[str]:
    return [fault.strip() for fault in faults.split(",")] if faults else []


def _bring_about(session: Session, cluster: str, order: chaos_api.ChaosIn, output: Format) -> None:
    if not order.rack and order.fault != "kill-rack" and not order.vms:
        why = f"{order.fault} needs a VM"
        raise errors.CliError("no VM was named", why=why, next_step=f"kedge describe {cluster}", exit_code=exits.USAGE)
    answer = session.client.inject_chaos(cluster, order)
    show_or_write(session, output, document("Chaos", answer), answer.sentence)
    session.tell(f"to follow it: kedge describe {cluster}, kedge events {cluster}")


def _of_game(
    session: Session,
    cluster: str,
    order: game_api.GameIn,
    output: Format,
    *,
    ends: bool,
    lists: bool,
    shows: str,
    detach: bool,
) -> None:
    client = session.client
    if lists:
        _show_games(session, client.games(cluster), output)
        return
    if shows:
        _show_report(session, client.game(cluster, shows), output)
        return
    if ends:
        _show_report(session, _ended(session, cluster, order.reason), output)
        return
    begun = client.start_game(cluster, order)
    session.tell(f"game {begun.game}: the server plays it; end it with: kedge chaos {cluster} game --end")
    if detach:
        _show_report(session, begun, output)
        return
    report = chaos_game.follow(client, begun, sleep=session.around.sleep, tell=session.tell)
    _show_report(session, report, output)
    if chaos_game.has_failed(report):
        raise typer.Exit(exits.FAILED)


def _ended(session: Session, cluster: str, reason: str) -> game_api.GameOut:
    in_hand = next((g for g in session.client.games(cluster).games if g.ended_at is None), None)
    if in_hand is None:
        next_step = f"kedge chaos {cluster} game --list"
        raise errors.CliError("there is no game to end", why=f"none of {cluster} is in hand", next_step=next_step)
    return session.client.end_game(cluster, in_hand.game, game_api.EndGameIn(reason=reason))


def _show_games(session: Session, games: game_api.GamesOut, output: Format) -> None:
    show_or_write(session, output, document("ChaosGames", games), *chaos_game.games_lines(games.games))


def _show_report(session: Session, report: game_api.GameOut, output: Format) -> None:
    show_or_write(session, output, document("ChaosGame", report), *chaos_game.report_lines(report))
