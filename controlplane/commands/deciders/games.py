"""What people ask for of a game day, and what its referee records of it. Pure; it is played by
`controlplane.background.game_days`."""

from controlplane.cluster.commands import CommandRefused, EndGame, ScoreFault, StartGame
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.chaos import LASTING, MOST_S, Fault, refuse_foreign, refuse_unhealthy
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups, refuse_frozen
from events import facts
from events.ids import derived_id

LOCAL_FAULTS = (Fault.KILL_BROKER, Fault.KILL_AGENT, Fault.PAUSE, Fault.KILL_VM)
"""What is drawn from where nothing else is said; the first three leave the VM where it is."""

FOREIGN_FAULTS = (Fault.KILL_VM,)
"""The same off the local cloud."""

KNOWN = frozenset(LOCAL_FAULTS) | LASTING | {Fault.KILL_ZOOKEEPER}
"""What may be drawn from. Whole racks are no game."""

MOST_FAULTS = 1000
MOST_WITHIN_S = 6 * 3600.0


def game_started(view: ClusterView, command: StartGame, known: Lookups) -> CommandDecision:
    """Raises CommandRefused: for all that a single fault is refused for, and while another game is played."""
    if not command.force:
        refuse_frozen(view, known, "Wait, or say --force.")
    if view.requests.game is not None:
        message = f"a game day of {view.name} is in hand since {view.requests.game.since.isoformat(timespec='seconds')}"
        raise CommandRefused("game-in-hand", message, f"Wait, or end it: kedge chaos {view.name} game --end.")
    faults = command.faults or tuple(str(f) for f in _usual(view, command))
    for fault in faults:
        if fault not in KNOWN:
            there = ", ".join(sorted(KNOWN))
            raise CommandRefused("unknown-fault", f"{fault!r} is not a fault of a game", f"There are: {there}.")
        refuse_foreign(view, Fault(fault), command.confirm)
    _refuse_sizes(command)
    if not command.force:
        refuse_unhealthy(view, known.kafka)
    game = derived_id("game", view.uid, command.command_id)
    fact = facts.GameStarted(
        game,
        command.seed,
        command.wanted,
        command.within_s,
        command.lasts_s,
        command.heal_within_s,
        faults,
        asked_by(command, command.reason),
        command.actor,
        command.subject,
        command.via,
    )
    return CommandDecision(fact, f"a game day of {command.wanted} faults by seed {command.seed}: {', '.join(faults)}")


def fault_scored(view: ClusterView, command: ScoreFault, _: Lookups = NOTHING) -> CommandDecision:
    """What came of a fault, once, while its game is played."""
    game, score = view.requests.game, command.score
    if game is None or game.id != score.game or all(p.chaos != score.chaos or p.score for p in game.played):
        return CommandDecision(None, "no fault of a game in hand waits for that")
    return CommandDecision(score, "what came of the fault is recorded")


def game_ended(view: ClusterView, command: EndGame, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused for a game there never was."""
    game = view.requests.game
    if game is None or game.id != command.game:
        if any(g.id == command.game for g in view.requests.games):
            return CommandDecision(None, f"that game day of {view.name} is over")
        raise CommandRefused("unknown-game", f"{view.name} has no game day {command.game!r} in hand")
    sentence = f"the game day of {view.name} is over after {len(game.played)} of {game.asked.wanted} faults"
    is_person = command.actor.startswith("person:")
    stopped = f"ended early, {asked_by(command, command.reason)}" if is_person else command.reason
    return CommandDecision(facts.GameEnded(game.id, stopped), sentence)


def _usual(view: ClusterView, command: StartGame) -> tuple[Fault, ...]:
    try:
        refuse_foreign(view, Fault.KILL_BROKER, command.confirm)
    except CommandRefused as refused:
        if refused.code != "chaos-not-here":
            raise
        return FOREIGN_FAULTS
    return LOCAL_FAULTS


def _refuse_sizes(command: StartGame) -> None:
    bounds = (
        (command.wanted, 1, MOST_FAULTS, "faults"),
        (command.within_s, 1, MOST_WITHIN_S, "seconds in which faults begin"),
        (command.lasts_s, 1, MOST_S, "seconds that a fault lasts"),
        (command.heal_within_s, 10, MOST_S, "seconds to be healthy in"),
    )
    for value, least, most, what in bounds:
        if not least <= value <= most:
            raise CommandRefused("game-size", f"a game has {least:g} to {most:g} {what}, not {value:g}")
