"""What is asked about healing, and what is refused of it. Pure: the view in."""

from controlplane.cluster.commands import CommandRefused, DemoteBroker, PromoteBroker, SwitchHealing
from controlplane.cluster.healing_switches import EVERY_KIND
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from events import facts
from planner.anomalies.kinds import HEALED


def healing_switched(view: ClusterView, command: SwitchHealing, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused for a kind there is not."""
    kinds = {kind.value for kind in HEALED}
    if command.kind and command.kind not in kinds:
        message = f"{command.kind!r} is not a kind of anomaly"
        raise CommandRefused("unknown-kind", message, f"One of {', '.join(sorted(kinds))}, or none of them for all.")
    what = command.kind or "all kinds"
    until = f" until {command.until.isoformat(timespec='seconds')}" if command.until else ""
    known = view.requests.switches.get(command.kind or EVERY_KIND)
    others = view.requests.switches.keys() - {command.kind} if not command.kind else ()
    if known is not None and (known.on, known.until) == (command.on, command.until) and not others:
        return CommandDecision(
            None, f"healing of {what} of {view.name} is {_word(command.on)}{until} already: {known.reason}"
        )
    fact = facts.HealingSwitched(command.kind, command.on, command.until, asked_by(command, command.reason))
    then = "" if command.on else "; they are told, and what is in hand is ended"
    return CommandDecision(fact, f"healing of {what} of {view.name} is {_word(command.on)}{until}{then}")


def broker_demoted(view: ClusterView, command: DemoteBroker, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused for a broker that does not serve."""
    instance = view.instances.get(command.key)
    if instance is None or not instance.is_broker or instance.phase is not Phase.JOINED or instance.lost:
        raise CommandRefused("no-broker", f"{command.key} is not a broker of {view.name} that serves")
    known = view.requests.demotions.get(command.key)
    if known is not None and not known.ended:
        return CommandDecision(None, f"{command.key} leads nothing already: {known.reason}")
    fact = facts.DemoteRequested(command.key, instance.service_id, command.reason)
    return CommandDecision(fact, f"leadership is taken off {command.key}: {command.reason}")


def broker_promoted(view: ClusterView, command: PromoteBroker, _: Lookups = NOTHING) -> CommandDecision:
    """Nothing where it is not demoted."""
    known = view.requests.demotions.get(command.key)
    if known is None or known.ended:
        return CommandDecision(None, f"{command.key} is not demoted")
    return CommandDecision(
        facts.DemotionEnded(command.key, command.reason), f"{command.key} may lead again: {command.reason}"
    )


def _word(on: bool) -> str:
    return "on" if on else "off"
