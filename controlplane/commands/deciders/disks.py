"""What people may ask for the disks of a broker, and what is refused. Pure: the view and the last metadata."""

from controlplane.cluster.commands import CancelDiskMoves, CommandRefused, MoveBetweenDisks
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.converger.questions.moves.disk_work import dirs_of, log_sizes, named_dir
from controlplane.converger.questions.moves.replication import copy_rate_bytes_per_s
from events import facts
from events.quantities import counted
from planner.log_dirs.moves import NoRoom, emptied, evened
from planner.observed import KafkaSnapshot, LogDirSeen
from planner.quantities import human_bytes


def disk_moves_asked(view: ClusterView, command: MoveBetweenDisks, known: Lookups) -> CommandDecision:
    """Raises CommandRefused for a broker that is none of Kedge's, has one directory or has not told of them, for a
    directory it does not have, and for one whose replicas do not fit on the others."""
    kafka = known.kafka
    if kafka is None:
        message = f"Kafka of {view.name} was not read yet by this server: what its disks hold is not known"
        raise CommandRefused("kafka-unknown", message, "Ask the server that leads, or ask again in a minute.")
    dirs = _dirs(view, kafka, command.broker)
    path = _path(view, dirs, command)
    if _is_asked(view, command.broker, path):
        return CommandDecision(None, f"broker {command.broker}: this is in hand already")
    sizes = log_sizes(kafka)
    if not path:
        moves = evened(dirs, sizes)
        if not moves:
            return CommandDecision(None, f"the disks of broker {command.broker} are even, or no log would make them so")
        what = f"broker {command.broker} evens out its {len(dirs)} disks"
    else:
        held = next(d for d in dirs if d.path == path)
        if not held.replicas:
            return CommandDecision(None, f"{path} of broker {command.broker} holds no replica")
        try:
            moves = emptied(dirs, sizes, path)
        except NoRoom as error:
            then = f"Move replicas off the broker first: kedge rebalance {view.name}, or larger disks in the spec."
            raise CommandRefused("no-room", f"broker {command.broker} of {view.name}: {error}", then) from None
        what = f"broker {command.broker} empties {path} onto its other log directories"
    rate = copy_rate_bytes_per_s(view)
    words = (
        f"{counted(len(moves), 'replica')}, {human_bytes(sum(m.bytes for m in moves))}, two at a time, "
        f"at most {human_bytes(rate)}/s"
    )
    fact = facts.DiskMovesRequested(command.broker, path, asked_by(command, command.reason), rate)
    return CommandDecision(fact, f"{what}: {words}")


def disk_moves_cancelled(view: ClusterView, command: CancelDiskMoves, _: Lookups = NOTHING) -> CommandDecision:
    """What moves ends, nothing more begins. Raises CommandRefused where nothing was asked for."""
    asked = view.requests.disk_moves.get(command.broker)
    if asked is None:
        message = f"no moves between disks of broker {command.broker} of {view.name} were asked for"
        raise CommandRefused("no-request", message)
    if asked.cancelled:
        return CommandDecision(None, f"broker {command.broker}: it is being ended already")
    fact = facts.DiskMovesCancelRequested(command.broker, asked_by(command, command.reason))
    return CommandDecision(fact, f"broker {command.broker}: what moves ends, nothing more begins, what moved stays")


def _dirs(view: ClusterView, kafka: KafkaSnapshot, broker: int) -> tuple[LogDirSeen, ...]:
    if broker not in {i.service_id for i in view.brokers()}:
        message = f"{view.name} has no broker {broker} of Kedge's"
        raise CommandRefused("no-broker", message, f"kedge get {view.name} lists those there are.")
    failed = kafka.failed_dirs.get(broker)
    if failed is not None:
        message = f"broker {broker} of {view.name} has log directories offline: {', '.join(failed.paths)}"
        then = f"kedge fix-offline {view.name} --broker {broker} makes anew elsewhere what is in them."
        raise CommandRefused("log-dir-offline", message, then)
    dirs = dirs_of(kafka, broker)
    if not dirs:
        message = f"broker {broker} of {view.name} has not told of its log directories"
        raise CommandRefused("log-dirs-unknown", message, "Ask again in a minute.")
    if len(dirs) == 1:
        message = f"broker {broker} of {view.name} has one log directory, {dirs[0].path}"
        raise CommandRefused("one-disk", message, f"To empty it: kedge evacuate {view.name} --broker {broker}")
    return dirs


def _path(view: ClusterView, dirs: tuple[LogDirSeen, ...], command: MoveBetweenDisks) -> str:
    if not command.disk:
        return ""
    found = named_dir(dirs, command.disk)
    if found is None:
        message = f"broker {command.broker} of {view.name} has no log directory {command.disk!r}"
        raise CommandRefused("no-disk", message, f"There is {', '.join(d.path for d in dirs)}.")
    return found.path


def _is_asked(view: ClusterView, broker: int, path: str) -> bool:
    asked = view.requests.disk_moves.get(broker)
    return asked is not None and asked.path == path and not asked.cancelled
