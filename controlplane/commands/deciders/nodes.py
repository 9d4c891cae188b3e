"""What people may ask for single nodes, and what is refused of it. Pure: the view and the last metadata in.

What is asked waits for the same gates as everything else; refused here is only what waiting would not help, or what a
person should know before anything is recorded.
"""

from collections.abc import Sequence

from controlplane.cluster.commands import (
    CommandRefused,
    EvacuateBrokers,
    ReadmitBrokers,
    ReplaceNode,
    RestartServices,
)
from controlplane.cluster.external_brokers import expected_externals, external_brokers
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView, vm_of
from controlplane.cluster.views.members import services_on
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.commands.previews.moves import refuse_moved
from controlplane.converger.questions.chosen_receivers import removed_brokers
from controlplane.converger.questions.disk_renewal import refuse_disks
from controlplane.converger.questions.evacuation_room import room_onto, room_without
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.kafka.gates import Gate, is_following
from events import facts
from events.ids import derived_id
from planner.observed import KafkaSnapshot


def restart_asked(view: ClusterView, command: RestartServices, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused. One rolling restart at a time, and a second one does not join it: of what the first has
    done already nobody could say whether the second still wants it."""
    running = view.requests.rolling_restart
    if running is not None:
        done = len(running.keys) - len(running.left)
        message = f"{view.name} is being restarted, {done} of {len(running.keys)} services are done ({running.reason})"
        next_step = f"Wait until it is over (kedge plans {view.name}), or end it: kedge abort {view.name}"
        raise CommandRefused("restart-running", message, next_step)
    chosen = _to_restart(view, command)
    request = derived_id("rolling restart", view.uid, command.command_id)
    keys = tuple(i.service_key for i in chosen)
    fact = facts.RollingRestartRequested(request, keys, asked_by(command, command.reason))
    sentence = (
        f"{_counted(chosen)} of {view.name} will be started anew, {_pace(view)}, each once all before it are back"
    )
    return CommandDecision(fact, f"{sentence}{_once_resumed(view)}")


def replacement_asked(view: ClusterView, command: ReplaceNode, known: Lookups) -> CommandDecision:
    """Raises CommandRefused. Without metadata the converger's own gates have to do."""
    instance = _to_replace(view, command)
    gives_up_more = (
        command.new_disk
        and instance.key in view.requests.to_replace
        and not view.requests.to_replace[instance.key].new_disk
    )
    if instance.key in view.requests.to_replace and not gives_up_more:
        return CommandDecision(
            None, f"{instance.key} is to be replaced already, {view.requests.to_replace[instance.key].reason}"
        )
    new_disk_of_controller = command.new_disk and not instance.is_broker
    if instance.lost and not new_disk_of_controller:
        return CommandDecision(None, f"the VM of {instance.key} is gone: it is replaced without being asked")
    if instance.phase is not Phase.JOINED:
        message = f"{instance.key} is {instance.phase}: it is on its way in or out"
        raise CommandRefused("node-unsettled", message, f"Look at `kedge describe {view.name}`, and ask again then.")
    if new_disk_of_controller and len(view.quorum.voters) < 3:
        message = (
            f"controller {instance.service_id} is one of {len(view.quorum.voters)}: without its disk there is no "
            "majority that has the cluster's metadata"
        )
        raise CommandRefused("disk-stays", message, f"kedge replace {view.name} --node {instance.node}")
    whole = _others_are_whole(view, instance, known.kafka) if known.kafka is not None else Gate(True, "")
    if not whole.open:
        message = f"{instance.key} is not replaced while {view.name} is not whole: {whole.reason}"
        raise CommandRefused("not-whole", message, f"Fix that first: kedge describe {view.name}")
    if command.disks:
        refuse_disks(view, instance, command)
    asked = asked_by(command, command.reason)
    fact = facts.NodeReplaceRequested(instance.key, asked, command.new_disk, command.disks)
    how = how_it_is_replaced(view, instance, command)
    return CommandDecision(fact, f"{instance.key} will be replaced by a new VM, {how}{_once_resumed(view)}")


def evacuation_asked(view: ClusterView, command: EvacuateBrokers, known: Lookups) -> CommandDecision:
    """Raises CommandRefused, with the numbers where the others have no room for what these hold."""
    kafka = known.kafka
    refuse_moved(view, kafka, command)
    there = [_broker(view, view.brokers(), broker) for broker in dict.fromkeys(command.brokers)]
    fresh = [i for i in there if i.key not in view.requests.evacuations]
    if not fresh:
        return CommandDecision(None, f"{', '.join(i.key for i in there)}: kept empty already")
    for instance in fresh:
        if instance.lost or instance.phase is not Phase.JOINED:
            what = "gone" if instance.lost else str(instance.phase)
            message = f"{instance.key} is {what}: it does not serve, or is on its way in or out"
            raise CommandRefused("node-unsettled", message, f"Look at `kedge describe {view.name}`.")
        if len(view.of_node(instance.node)) > 1:
            message = f"{instance.node} is being replaced: {instance.key} is one of its two VMs"
            raise CommandRefused("node-unsettled", message, f"Wait for that: kedge wait {view.name} --for=converged")
    if kafka is None:
        message = f"Kafka of {view.name} was not read yet by this server: whether the others have room is not known"
        raise CommandRefused("kafka-unknown", message, "Ask the server that leads, or ask again in a minute.")
    # Who leaves anyway takes nothing over: a scale-down that is due counts.
    leaving = {i.service_id for i in fresh} | removed_brokers(pending_changes(view))
    staying = _takers(view, command.targets, leaving)
    emptied = {i.service_id for i in fresh}
    room = room_onto(kafka, emptied, staying) if command.targets else room_without(kafka, leaving, staying)
    if not room.open:
        raise CommandRefused("no-room", room.reason, "Add brokers or disk first, or ask for fewer.")
    fact = facts.EvacuationRequested(
        tuple(i.key for i in fresh),
        asked_by(command, command.reason),
        targets=tuple(staying) if command.targets else (),
        throttle_mib_per_s=command.throttle_mib_per_s,
    )
    onto = f" onto {', '.join(map(str, staying))}" if command.targets else ""
    slowly = f", at most {command.throttle_mib_per_s} MiB/s a broker" if command.throttle_mib_per_s else ""
    sentence = f"{', '.join(i.key for i in fresh)} will be emptied{onto}{slowly} and kept empty: {room.reason}"
    return CommandDecision(fact, f"{sentence}{_once_resumed(view)}")


def readmission_asked(view: ClusterView, command: ReadmitBrokers, _: Lookups = NOTHING) -> CommandDecision:
    """Raises CommandRefused."""
    there = [_broker(view, view.brokers(), broker) for broker in dict.fromkeys(command.brokers)]
    kept = tuple(i.key for i in there if i.key in view.requests.evacuations)
    if not kept:
        return CommandDecision(None, f"{', '.join(i.key for i in there)}: not kept empty")
    fact = facts.EvacuationEnded(kept, asked_by(command, command.reason))
    return CommandDecision(fact, f"{', '.join(kept)} may receive replicas again; nothing is moved back by itself")


def _takers(view: ClusterView, chosen: Sequence[int], leaving: set[int]) -> list[int]:
    """Who takes what is moved: those chosen, or whoever receives. Raises CommandRefused for one that cannot."""
    able = sorted(i.service_id for i in view.receivers() if i.service_id not in leaving)
    unable = sorted(set(chosen) - set(able))
    if unable:
        names = ", ".join(map(str, able)) or "none"
        message = f"broker {unable[0]} cannot take anything: it is emptied itself, leaves, or is not there"
        raise CommandRefused("not-a-target", message, f"Choose among: {names}.")
    return sorted(set(chosen)) if chosen else able


def asked_for(view: ClusterView, key: str) -> str:
    """What a person asked for this instance and is not done, in words; "" where nobody asked for anything."""
    parts = []
    if key in view.requests.to_replace:
        parts.append(f"to be replaced, {view.requests.to_replace[key].reason}")
    if key in view.requests.evacuations:
        kept = view.requests.evacuations[key]
        parts.append(f"{'kept empty' if kept.empty_at else 'to be empty'}, {kept.reason}")
    left = view.requests.rolling_restart.left if view.requests.rolling_restart is not None else ()
    if view.requests.rolling_restart is not None and any(vm_of(k) == key for k in left):
        parts.append(f"to be started anew, {view.requests.rolling_restart.reason}")
    return "; ".join(parts)


def _pace(view: ClusterView) -> str:
    together = view.document.spec.rollout.max_parallel_restarts if view.document else 1
    return f"up to {together} brokers of a rack at a time" if together > 1 else "one at a time"


def _to_restart(view: ClusterView, command: RestartServices) -> Sequence[InstanceView]:
    serving = [s for i in view.alive() if i.phase is Phase.JOINED and not i.lost for s in services_on(i)]
    chosen = serving
    if command.pool:
        chosen = [i for i in serving if i.planned.pool == command.pool]
        if not chosen:
            pools = ", ".join(sorted({i.planned.pool for i in serving})) or "none serves yet"
            raise CommandRefused("unknown-pool", f"no service of pool `{command.pool}` serves", f"Pools: {pools}.")
    if command.brokers:
        chosen = [_broker(view, chosen, broker) for broker in dict.fromkeys(command.brokers)]
    if not chosen:
        raise CommandRefused("nothing-serves", f"no service of {view.name} serves yet: there is nothing to restart")
    return chosen


def _broker(view: ClusterView, among: Sequence[InstanceView], broker: int) -> InstanceView:
    found = next((i for i in among if i.is_broker and i.service_id == broker), None)
    if found is None and broker in external_brokers(view):
        message = f"broker {broker} of {view.name} is run by others: Kedge starts, stops and replaces nothing of theirs"
        raise CommandRefused("external", message, "To empty it, take it off spec.external.brokers, then kedge apply.")
    if found is None:
        known = ", ".join(str(i.service_id) for i in among if i.is_broker) or "none"
        raise CommandRefused("unknown-broker", f"{view.name} has no broker {broker} that serves", f"Brokers: {known}.")
    return found


def _to_replace(view: ClusterView, command: ReplaceNode) -> InstanceView:
    """The instance that holds the node now: of two that serve beside each other the older one is on its way out."""
    if (command.broker is None) == (not command.node):
        raise CommandRefused("name-one", "name one node: by its broker's id, or by its own name", "")
    alive = [i for i in view.alive() if i.phase not in (Phase.RETIRING, Phase.FAILED)]
    if command.broker is not None:
        return _broker(view, alive, command.broker)
    there = [i for i in view.of_node(command.node) if i in alive]
    if not there:
        nodes = ", ".join(sorted({i.node for i in alive})) or "none"
        raise CommandRefused("unknown-node", f"{view.name} has no node `{command.node}`", f"Nodes: {nodes}.")
    if command.new_disk:
        # The disk that is given up is that of the VM that has one: a successor nobody could make yet has none.
        there = [i for i in there if i.phase is not Phase.REQUESTED] or there
    return there[-1]


def _others_are_whole(view: ClusterView, instance: InstanceView, kafka: KafkaSnapshot) -> Gate:
    """Everybody but this one; it may be broken, that is what it is replaced for."""
    mine = frozenset({instance.service_id}) if instance.is_broker else frozenset[int]()
    expected = {i.service_id for i in view.brokers() if i.phase is Phase.JOINED and not i.lost} - mine
    whole = cluster_is_whole(kafka, {*expected, *expected_externals(view)}, excepted=mine)
    if not whole.open or instance.is_broker:
        return whole
    late = [m for m in kafka.quorum.members if m.is_voter and m.id != instance.service_id and not is_following(m)]
    return Gate(False, f"controller {late[0].id} does not keep up with the quorum") if late else whole


def how_it_is_replaced(view: ClusterView, instance: InstanceView, command: ReplaceNode) -> str:
    """What its next VM takes over, in words."""
    if command.disks:
        return f"which takes over its id and its disks but {', '.join(command.disks)}; what was there is copied anew"
    if not instance.is_broker and command.new_disk:
        return "which takes over its id and its address; its disk leaves the quorum, the new one begins empty"
    if not instance.is_broker:
        return "which takes over its id, its disk and its address"
    if instance.lost and view.reattaches_lost and not command.new_disk:
        return "which takes over its id and its disk where the cloud shows that, and is filled by the others elsewhere"
    policy = view.document.spec.rollout.strategy if view.document else "migrate"
    if policy == "reattach" and not command.new_disk:
        return "which takes over its id and its disk"
    return "which takes its place once it has copied everything"


def _once_resumed(view: ClusterView) -> str:
    held = view.requests.held or view.requests.aborting or view.requests.paused
    return f"; it begins once the cluster goes on: kedge resume {view.name}" if held else ""


def _counted(chosen: Sequence[InstanceView]) -> str:
    brokers = sum(i.is_broker for i in chosen)
    other = "ZooKeeper server" if any(i.planned.service == "zookeeper" for i in chosen) else "controller"
    parts = [(brokers, "broker"), (len(chosen) - brokers, other)]
    return " and ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n)
