"""What people may ask for brokers that do not serve, or whose log directories are offline, and what is refused. Pure:
the view and the last metadata."""

from dataclasses import replace

from controlplane.cluster.commands import CommandRefused, FixOffline
from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import OfflineFixView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import Lookups
from controlplane.converger.questions.disk_room import room_by_broker
from controlplane.converger.questions.moves.placement_work import ground_of, topic_policy
from events import facts
from events.quantities import counted
from planner.observed import KafkaSnapshot
from planner.placement.corrections import MOST_BYTES, corrections
from planner.placement.deviations import Rule, misplaced
from planner.quantities import brokers_named, human_bytes


def offline_fix_asked(view: ClusterView, command: FixOffline, known: Lookups) -> CommandDecision:
    """Raises CommandRefused for a broker that serves or holds nothing, and where nobody knows."""
    kafka = known.kafka
    if kafka is None:
        message = f"Kafka of {view.name} was not read yet by this server: what is offline is not known"
        raise CommandRefused("kafka-unknown", message, "Ask the server that leads, or ask again in a minute.")
    if is_shared(view):
        message = f"others run a part of {view.name}: Kedge makes nothing anew on brokers that are not its own"
        raise CommandRefused("external", message)
    brokers = tuple(dict.fromkeys(command.brokers))
    fresh = tuple(b for b in brokers if b not in view.requests.offline)
    if not fresh:
        return CommandDecision(None, f"{brokers_named(brokers)}: given up already")
    for broker in fresh:
        _refuse(view, kafka, broker)
    asked = asked_by(command, command.reason)
    sentence = f"{_what(kafka, fresh)} are made anew on others, in small throttled batches"
    return CommandDecision(facts.OfflineFixRequested(fresh, asked), f"{sentence}: {_outlook(view, kafka, fresh)}")


def _what(kafka: KafkaSnapshot, brokers: tuple[int, ...]) -> str:
    serving = [b for b in brokers if b in kafka.live_brokers()]
    paths = ", ".join(path for b in serving for path in kafka.failed_dirs[b].paths)
    away = tuple(b for b in brokers if b not in serving)
    said = [f"replicas of {brokers_named(away)}"] if away else []
    said += [f"replicas in failed log directories of {brokers_named(tuple(serving))} ({paths})"] if serving else []
    return " and ".join(said)


def _refuse_serving(view: ClusterView, kafka: KafkaSnapshot, broker: int) -> None:
    """Of a broker that serves only what is in failed log directories is offline, and only where it has told of them."""
    failed = kafka.failed_dirs.get(broker)
    if (failed is None and broker not in kafka.log_dirs) or (failed is not None and failed.held is None):
        message = f"broker {broker} of {view.name} serves, and has not told what is in its log directories"
        raise CommandRefused("log-dirs-unknown", message, "What is not known is not offline: ask again in a minute.")
    disk = next((i for i in view.brokers() if i.service_id == broker and i.key in view.requests.to_replace), None)
    if failed is not None and disk is not None:
        why = view.requests.to_replace[disk.key].reason
        message = f"broker {broker} of {view.name} is being given another disk or VM already: {why}"
        raise CommandRefused("being-replaced", message, f"To end that: kedge abort {view.name}")
    if failed is None:
        message = f"broker {broker} of {view.name} serves: what it holds is not offline"
        raise CommandRefused("broker-serves", message, f"To empty it: kedge evacuate {view.name} --broker {broker}")
    if not kafka.in_failed_dirs(broker):
        message = f"no replica of {view.name} is in the failed log directories of broker {broker}"
        raise CommandRefused("no-replica", message, f"They are {', '.join(failed.paths)}.")


def _refuse(view: ClusterView, kafka: KafkaSnapshot, broker: int) -> None:
    if broker in kafka.live_brokers():
        _refuse_serving(view, kafka, broker)
        return
    if not kafka.hosted_by(broker):
        message = f"no replica of {view.name} is on broker {broker}"
        offline = sorted({b for p in kafka.partitions for b in p.replicas} - kafka.live_brokers())
        named = f"Offline and holding replicas: {', '.join(map(str, offline))}." if offline else "None is offline."
        raise CommandRefused("no-broker", message, named)


def _outlook(view: ClusterView, kafka: KafkaSnapshot, brokers: tuple[int, ...]) -> str:
    """How much it is, and of what nothing can be made now."""
    fixes = {**view.requests.offline, **{b: OfflineFixView("", kafka.at) for b in brokers}}
    after = replace(view, requests=replace(view.requests, offline=fixes))
    ground = ground_of(after, kafka)
    gone = [d for d in misplaced(kafka, ground, lambda topic: topic_policy(view, topic)) if d.rule is Rule.GONE]
    size = sum(kafka.by_name[d.name].size_bytes * sum(ground.is_gone(d.name, b) for b in d.replicas) for d in gone)
    left = corrections(kafka, gone, ground, room_by_broker(kafka), most_bytes=MOST_BYTES).left
    words = f"{counted(len(gone), 'partition')}, {human_bytes(size)} to copy"
    if left:
        name, why = next(iter(left.items()))
        words += f"; of {len(left)} nothing can be made now, {name} for one: {why}"
    return words
