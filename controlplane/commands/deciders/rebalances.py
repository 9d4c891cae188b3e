"""What people may ask of a rebalance, and what is refused of it. Pure: the view and the last metadata in.

What only has to wait (a roll in hand, a broker that is down) is not refused: the answer says what it waits for.
"""

from controlplane.cluster.balance_choice import choice_of
from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.commands import CancelRebalance, CommandRefused, RebalanceCluster
from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups, obey
from controlplane.commands.previews.moves import refuse_moved
from controlplane.converger.questions.chosen_receivers import chosen_brokers
from controlplane.converger.questions.moves.rebalance_requests import asked_by_person
from events import facts
from events.spec.suggestions import did_you_mean
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes
from planner.rebalancing.choice import BalanceChoice
from planner.rebalancing.imbalance import deviations, over_edge


def rebalance_asked(view: ClusterView, command: RebalanceCluster, known: Lookups) -> CommandDecision:
    """Raises CommandRefused, NeedsApproval. One rebalance at a time."""
    kafka = known.kafka
    refuse_moved(view, kafka, command)
    if view.moves.rebalance is not None:
        progress = rebalance_progress(view)
        message = f"a rebalance of {view.name} is in hand: {progress} ({view.moves.rebalance.reason})"
        raise CommandRefused("rebalance-running", message, f"To end it: kedge rebalance {view.name} --cancel")
    if is_shared(view):
        message = f"others run a part of {view.name}: Kedge spreads nothing over brokers that are not its own"
        raise CommandRefused("external", message, "To empty brokers of others, take them off spec.external.brokers.")
    there = view.receivers()
    if len(there) < 2:
        kept = len([i for i in view.brokers() if i.key in view.requests.evacuations])
        names = ", ".join(str(i.service_id) for i in there) or "none"
        message = f"{view.name} has no two brokers that may receive replicas: {names}, {kept} are kept empty"
        raise CommandRefused("no-brokers", message, "Add brokers, or let evacuated ones receive again: kedge readmit")
    dead = [i for i in view.brokers() if i.phase is Phase.JOINED and i.lost]
    if dead and len(there) < 3:
        message = f"{', '.join(i.key for i in dead)} is lost: its replicas are made anew first"
        raise CommandRefused("broker-lost", message, f"Wait for that: kedge wait {view.name} --for=converged")
    choice = _choice(view, command, kafka)
    targets = chosen_brokers(view, command.targets, kafka)
    both = sorted(set(targets) & set(choice.exclude_brokers))
    if both:
        message = f"broker {both[0]} is to receive and is excluded from receiving"
        raise CommandRefused("not-a-target", message, "Leave it out of one of the two (spec.balance.excludeBrokers).")
    fact = asked_by_person(
        view,
        asked_by(command, command.reason),
        targets=targets,
        per_day_bytes=command.per_day_bytes,
        throttle_mib_per_s=command.throttle_mib_per_s,
        choice=command.choice,
    )
    obey(known.judge.gate.rebalance(view), command)
    waits = _waits_for(view, kafka)
    after = f"; it begins after {waits}" if waits else ""
    budget = f", at most {human_bytes(command.per_day_bytes)} a day" if command.per_day_bytes else ""
    budget += f", at most {command.throttle_mib_per_s} MiB/s a broker" if command.throttle_mib_per_s else ""
    how = f"be spread over {len(there)} brokers"
    if targets:
        how = f"move onto {', '.join(map(str, targets))} and no other broker"
    budget += _choice_words(choice)
    return CommandDecision(fact, f"replicas of {view.name} will {how}{budget}{_now(view, kafka)}{after}")


def rebalance_cancelled(view: ClusterView, command: CancelRebalance, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused where there is nothing to cancel."""
    rebalance = view.moves.rebalance
    if rebalance is None:
        raise CommandRefused("no-rebalance", f"no rebalance of {view.name} is in hand")
    if rebalance.cancelled:
        return CommandDecision(None, f"the rebalance of {view.name} is cancelled already: {rebalance.cancelled}")
    fact = facts.RebalanceCancelRequested(rebalance.id, asked_by(command, command.reason or "cancelled"))
    return CommandDecision(
        fact, f"the rebalance of {view.name} ends after the batch in hand: {rebalance_progress(view)}"
    )


def rebalance_progress(view: ClusterView) -> str:
    """`batch 2 of 7, 1.2 GiB of 4.0 GiB begun`; what it does before that."""
    rebalance = view.moves.rebalance
    if rebalance is None:
        return ""
    if not rebalance.plan.sha256:
        return "no plan yet" if rebalance.round == 1 else f"planning round {rebalance.round}"
    amounts = f"{human_bytes(rebalance.begun_bytes)} of {human_bytes(rebalance.plan.bytes)} begun"
    return f"batch {rebalance.progress.batch + 1} of {rebalance.plan.batches}, {amounts}"


def _choice(view: ClusterView, command: RebalanceCluster, kafka: KafkaSnapshot | None) -> BalanceChoice:
    """What is asked for, with what the spec has of the rest. Raises CommandRefused for a name that is not there."""
    choice = choice_of(view, command.choice)
    try:
        choice.aims()
    except ValueError as wrong:
        raise CommandRefused("unknown-goal", str(wrong), "docs/goals.md says what each asks for.") from wrong
    ids = {i.service_id for i in view.brokers()}
    strange = [b for b in command.choice.exclude_brokers if b not in ids]
    if strange:
        there = ", ".join(map(str, sorted(ids))) or "none"
        raise CommandRefused("no-broker", f"{view.name} has no broker {strange[0]}", f"Its brokers: {there}.")
    if not {i.service_id for i in view.receivers()} - set(choice.exclude_brokers):
        message = f"every broker of {view.name} that may receive replicas is excluded: there is nobody to move any to"
        raise CommandRefused("no-brokers", message, "Exclude fewer.")
    topics = {p.name.topic for p in kafka.partitions} if kafka is not None else set()
    unknown = [t for t in command.choice.exclude_topics if kafka is not None and t not in topics]
    if unknown:
        meant = did_you_mean(unknown[0], topics)
        message = f"{view.name} has no topic {unknown[0]!r}"
        raise CommandRefused("no-topic", message, f"{meant}Its topics: kedge topics {view.name}")
    return choice


def _choice_words(choice: BalanceChoice) -> str:
    words = f", by {', '.join(choice.goals)} alone" if choice.goals else ""
    words += f", without topics {', '.join(choice.exclude_topics)}" if choice.exclude_topics else ""
    brokers = ", ".join(map(str, choice.exclude_brokers))
    return words + (f", nothing onto brokers {brokers}" if brokers else "")


def _now(view: ClusterView, kafka: KafkaSnapshot | None) -> str:
    if kafka is None:
        return ""
    found = over_edge(deviations(kafka, [i.service_id for i in view.receivers()], sets=broker_sets(view)), 0.0)
    goals = ", ".join(f"{name} {percent:.0f} %" for name, percent in found.items())
    return f"; imbalance by the metadata alone: {goals or 'none'}"


def _waits_for(view: ClusterView, kafka: KafkaSnapshot | None) -> str:
    """What goes first, in words; "" when it can begin at once."""
    if view.requests.held or view.requests.aborting or view.requests.paused:
        return f"the cluster goes on: kedge resume {view.name}"
    if view.roll.recycling or view.roll.converged != view.generation or view.intents or view.moves.drain:
        return "the roll in hand"
    down = sorted({i.service_id for i in view.receivers()} - kafka.live_brokers()) if kafka is not None else []
    if down:
        return f"broker {down[0]} is back"
    if view.is_evacuating():
        return "the evacuation in hand"
    if view.requests.rolling_restart is not None or view.settings.restarts:
        return "the restart in hand"
    return ""
