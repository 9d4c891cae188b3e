"""What people may ask about moves that no plan of Kedge names. Pure: the view and the last metadata in."""

from controlplane.cluster.commands import AdoptMoves, CommandRefused, TakeBackMoves
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import Lookups
from events import facts
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.stuck_moves import may_take_back


def moves_taken_back(view: ClusterView, command: TakeBackMoves, known: Lookups) -> CommandDecision:
    """Raises CommandRefused: for what does not move, what a plan of ours moves, and where too few would be left."""
    partitions = _moving(view, command.partitions, known.kafka)
    for partition in partitions:
        if not may_take_back(partition):
            left = [r for r in partition.isr if r not in partition.adding]
            message = (
                f"{partition.name} cannot be taken back: of its replicas before only {left} are in sync, "
                f"{partition.min_isr} have to be"
            )
            raise CommandRefused("too-few-in-sync", message, "Bring the others back first, or let the move go on.")
    if view.moves.drain is not None and any(set(p.replicas) & set(view.moves.drain.outgoing) for p in partitions):
        message = f"{partitions[0].name} is on a broker that is being emptied: Kedge cares for its moves"
        raise CommandRefused("moves-of-kedge", message, f"To end that: kedge abort {view.name}")
    if view.moves.rebalance is not None:
        message = f"{view.name} is being rebalanced: Kedge cares for its moves"
        raise CommandRefused("moves-of-kedge", message, f"To end that: kedge rebalance --cluster {view.name} --cancel")
    names = tuple(str(p.name) for p in partitions)
    if all(name in view.moves.stuck.cancelling for name in names):
        return CommandDecision(None, f"{', '.join(names)}: being taken back already")
    fact = facts.MovesCancelRequested(names, asked_by(command, command.reason))
    return CommandDecision(fact, f"{', '.join(names)} go back to the replicas before")


def moves_adopted(view: ClusterView, command: AdoptMoves, known: Lookups) -> CommandDecision:
    """Raises CommandRefused."""
    names = tuple(str(p.name) for p in _moving(view, command.partitions, known.kafka))
    if all(name in view.moves.stuck.adopted for name in names):
        return CommandDecision(None, f"{', '.join(names)}: known already")
    fact = facts.MovesAdopted(names, asked_by(command, command.reason))
    return CommandDecision(fact, f"{', '.join(names)} are known, and waited for without being told")


def _moving(view: ClusterView, wanted: tuple[str, ...], kafka: KafkaSnapshot | None) -> list[PartitionSeen]:
    if kafka is None:
        message = f"Kafka of {view.name} was not read yet by this server: what moves is not known"
        raise CommandRefused("kafka-unknown", message, "Ask the server that leads, or ask again in a minute.")
    moving = {str(p.name): p for p in kafka.moving()}
    strange = [name for name in wanted if name not in moving]
    if strange or not wanted:
        known = ", ".join(sorted(moving)) or "nothing"
        raise CommandRefused("not-moving", f"{(strange or ['nothing'])[0]} does not move", f"What moves: {known}.")
    return [moving[name] for name in dict.fromkeys(wanted)]
