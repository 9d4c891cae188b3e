"""Carries out the effects of a decision. Each is idempotent, and each asks for the right to act just before it acts."""

import math
from datetime import datetime

from controlplane.cluster.bandwidth import nic_bytes_per_s, usable_bytes_per_s
from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.external_brokers import external_brokers
from controlplane.cluster.hardware import volume_lines, volumes_of
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.cluster.throttle_cap import cap_mib_per_s
from controlplane.cluster.tls_limits import tls_limits
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.clouds.missing_volumes import given_up
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.disk_room import DISK_LIMIT_FRACTION
from controlplane.converger.questions.moves.rebalance_requests import rebalance_request
from controlplane.converger.questions.rolls.plan_ahead import with_arrivals
from controlplane.converger.situation import effects
from controlplane.converger.situation.ports import Ports
from controlplane.converger.situation.situation import Situation
from controlplane.converger.tick.client_quotas import change_client_quotas
from controlplane.converger.tick.consoles import keep_console
from controlplane.converger.tick.users import change_users
from controlplane.kafka.errors import KafkaRefused
from controlplane.kafka.gateway import KafkaGateway
from events.ids import Epoch
from events.quantities import MIB
from planner.drain.request import Bandwidth, DrainRequest, VolumeLimits
from planner.observed import KafkaSnapshot, TopicPartition


def carry_out(effect: effects.Effect, situation: Situation, ports: Ports) -> str:
    """Does one effect. Returns what was refused, in words, or "". Raises the errors of the port it goes through."""
    epoch = ports.epoch()
    view = situation.view
    match effect:
        case effects.StartRun():
            return _start_run(effect, situation, ports, epoch)
        case effects.StartPlanning():
            return _start_planning(effect, situation, ports, epoch)
        case effects.StartBalancing():
            return _start_balancing(effect, situation, ports, epoch)
        case effects.ReadConsole(key=key):
            _read_console(view, view.instances[key], ports)
            return ""
        case effects.TerminateInstance(cloud_id=cloud_id):
            ports.inventory.terminate(view, cloud_id)
            return ""
        case effects.FixClusterId(cluster_id=cluster_id):
            ports.zookeeper.fix_cluster_id(view, cluster_id)
            return ""
        case effects.ForgetMigration():
            ports.zookeeper.forget_migration(view)
            return ""
        case effects.PutEnsembleContent(wanted=wanted):
            ports.zookeeper.put_content(view, wanted)
            return ""
        case effects.TakeRestartLock(why=why):
            return ports.zookeeper.restart_lock.take(view, why)
        case effects.ReleaseRestartLock():
            ports.zookeeper.restart_lock.release(view)
            return ""
        case effects.ChangeUsers():
            return change_users(effect, view, ports)
        case effects.PutKedgeRights():
            return ports.kedge_rights.put_right(view) if ports.kedge_rights is not None else ""
        case effects.ChangeClientQuotas():
            return change_client_quotas(effect, view, ports)
        case _:
            return _ask_kafka(effect, view, ports)


def _ask_kafka(effect: effects.Effect, view: ClusterView, ports: Ports) -> str:
    kafka = ports.kafka(view)
    match effect:
        case effects.Reassign(targets=targets):
            refused = kafka.reassign(targets)
            return _refusals(len(refused), next(iter(refused.items()), None))
        case effects.PreferLogDirs(wishes=wishes):
            kafka.prefer_log_dirs(wishes)
        case effects.CancelMoves(partitions=partitions):
            return _cancel(partitions, kafka)
        case (
            effects.SetThrottle() | effects.ClearThrottles() | effects.SetLogDirsThrottle() | effects.SetProducerQuota()
        ):
            _limit_rates(effect, kafka)
        case effects.SetCordons(cordoned=cordoned, lifted=lifted):
            kafka.set_cordons(cordoned, lifted)
        case effects.Unregister(broker=broker):
            kafka.unregister_broker(broker)
        case effects.AddVoter() | effects.RemoveVoter() | effects.ReelectController():
            _change_quorum(effect, kafka)
        case effects.ElectPreferred(partitions=partitions):
            return _elect(partitions, kafka)
        case effects.RaiseFeature(feature=feature, level=level):
            kafka.update_feature(feature, level, validate_only=True)
            kafka.update_feature(feature, level, validate_only=False)
        case effects.SetSettings(step=step):
            kafka.change_settings(step)
        case effects.ChangeTopics(step=topics):
            said = kafka.change_topics(topics)
            return "; ".join(f"Kafka refused {name}: {why}" for name, why in sorted(said.items())[:3])
        case _:
            raise TypeError(f"no way to carry out {effect!r}")
    return ""


def _elect(partitions: tuple[TopicPartition, ...], kafka: KafkaGateway) -> str:
    """A refusal is told, not raised: nothing else waits for leaders, and it is asked again later."""
    try:
        kafka.elect_preferred(partitions)
    except KafkaRefused as error:
        return f"Kafka refused to elect leaders: {error.words} ({error.error})"
    return ""


def _cancel(partitions: tuple[TopicPartition, ...], kafka: KafkaGateway) -> str:
    """A refusal is told, not raised: not all that is to be done waits for these moves, and it is asked again later."""
    try:
        refused = kafka.cancel(partitions)
    except KafkaRefused as error:
        return f"Kafka refused to take moves back: {error.words} ({error.error})"
    return _refusals(len(refused), next(iter(refused.items()), None))


def _limit_rates(
    effect: effects.SetThrottle | effects.ClearThrottles | effects.SetLogDirsThrottle | effects.SetProducerQuota,
    kafka: KafkaGateway,
) -> None:
    match effect:
        case effects.SetThrottle(plan=plan):
            kafka.set_throttle(plan)
        case effects.ClearThrottles():
            kafka.clear_throttles()
        case effects.SetLogDirsThrottle(rates=rates):
            kafka.set_log_dirs_throttle(rates)
        case effects.SetProducerQuota(bytes_per_s=rate):
            kafka.set_producer_quota(rate)


def _change_quorum(
    effect: effects.AddVoter | effects.RemoveVoter | effects.ReelectController, kafka: KafkaGateway
) -> None:
    match effect:
        case effects.AddVoter(controller=controller, directory_id=directory, host=host, port=port):
            kafka.add_voter(controller, directory, host=host, port=port)
        case effects.RemoveVoter(controller=controller, directory_id=directory):
            kafka.remove_voter(controller, directory)
        case effects.ReelectController(broker=broker, epoch=reign):
            kafka.reelect_controller(broker, reign)


def _refusals(count: int, first: tuple[object, str] | None) -> str:
    return f"Kafka refused {count} partitions, {first[0]}: {first[1]}" if first else ""


def _start_run(effect: effects.StartRun, situation: Situation, ports: Ports, epoch: Epoch) -> str:
    view, inventory = situation.view, situation.seen.inventory

    def boot_data(instance: InstanceView) -> str:
        return ports.boot_data(view.uid, instance.node, instance.planned.generation, instance.intent)

    run = terraform_run(
        view,
        view.intents[effect.intent],
        installation_id=ports.installation_id,
        boot_data=boot_data,
        gone=inventory.gone if inventory else frozenset(),
        given_up=given_up(view, situation.seen.fresh_inventory(situation.now)),
    )
    ports.runner.terraform(effect.job, run, epoch=epoch)
    return ""


def _read_console(view: ClusterView, instance: InstanceView, ports: Ports) -> None:
    boot = ports.boot_data(view.uid, instance.node, instance.planned.generation, instance.intent)
    keep_console(view, instance, ports.console, boot, ports.latest, ports.clock())


def _start_planning(effect: effects.StartPlanning, situation: Situation, ports: Ports, epoch: Epoch) -> str:
    view = situation.view
    if situation.seen.kafka is None:
        return "nothing to plan from: Kafka's metadata cannot be read"
    kafka = with_arrivals(view, situation.seen.kafka)
    request = drain_request(view, effect.drain, kafka, traffic=situation.seen.traffic, now=situation.now)
    ports.runner.planning(effect.job, request, kafka, epoch=epoch)
    return ""


def _start_balancing(effect: effects.StartBalancing, situation: Situation, ports: Ports, epoch: Epoch) -> str:
    kafka = situation.seen.kafka
    if kafka is None:
        return "nothing to plan from: Kafka's metadata cannot be read"
    request = rebalance_request(situation, effect.rebalance, kafka)
    ports.runner.balancing(effect.job, request, kafka, epoch=epoch)
    return ""


def drain_request(
    view: ClusterView,
    drain: DrainView,
    kafka: KafkaSnapshot,
    *,
    traffic: Traffic = UNKNOWN,
    now: datetime | None = None,
) -> DrainRequest:
    """What the planner is asked: the drain in hand, on the cluster as Kafka shows it now (its own time by default)."""
    shapes = {i.service_id: (i.planned.pool, i.planned.shape) for i in view.brokers()}
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    cap = cap_mib_per_s(view)
    machines = {b: (clouds.get(pool, ""), shape) for b, (pool, shape) in shapes.items()}
    rates = {b: usable_bytes_per_s(*m, cap, view.declaration.machines) for b, m in machines.items()}
    known = all(nic_bytes_per_s(*machine, view.declaration.machines) for machine in machines.values())
    is_known = known and not external_brokers(view)  # nobody knows the machines of others: the throttle is their bound
    volumes = volumes_of(view)
    live = kafka.live_brokers()
    return DrainRequest.from_snapshot(
        kafka,
        cluster_uid=view.uid,
        drain_id=drain.id,
        round=drain.round,
        outgoing=drain.outgoing,
        targets=tuple(t for t in drain.targets if t in live),
        successors={o: n for o, n in drain.successors.items() if n in live},
        bandwidth=Bandwidth(min(rates.values()), "catalogue" if is_known else "assumed", by_broker=rates),
        disk_limit_fraction=DISK_LIMIT_FRACTION,
        throttle_cap_bytes_per_s=cap * MIB if cap else None,
        write_bytes_per_s={name: math.ceil(rate) for name, rate in traffic.write_bytes_per_s.items()},
        write_rates_from=traffic.words(now or kafka.at),
        read_bytes_per_s=dict(traffic.read_bytes_per_s),
        sets=broker_sets(view),
        tls=tls_limits(view),
        volumes=VolumeLimits({b: each.bytes_per_s for b, each in volumes.items()}, volume_lines(volumes)),
    )
