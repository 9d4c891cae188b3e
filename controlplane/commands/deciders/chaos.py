"""What people may have broken on purpose, and what is refused of it. Pure: the view and the last metadata in.

A fault is recorded before it is brought about, so that the history knows the cause of what follows.
"""

from collections.abc import Sequence
from enum import StrEnum

from controlplane.cluster.commands import CommandRefused, EndFault, InjectChaos
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups, refuse_frozen
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.kafka.gates import is_following
from events import facts
from events.ids import derived_id
from planner.observed import KafkaSnapshot

LOCAL = "local"

MOST_S = 3600.0
"""No fault is asked for longer."""


class Fault(StrEnum):
    """What can be brought about. All but the two that kill VMs need hands on them: only the local cloud lends any."""

    KILL_BROKER = "kill-broker"
    KILL_ZOOKEEPER = "kill-zookeeper"
    KILL_AGENT = "kill-agent"
    KILL_VM = "kill-vm"
    PAUSE = "pause"
    LOSE_VOLUME = "lose-volume"
    FULL_DISK = "full-disk"
    SLOW_DISK = "slow-disk"
    SPLIT = "split"
    PACKET_LOSS = "packet-loss"
    KILL_RACK = "kill-rack"


class CutFrom(StrEnum):
    """Whom a split cuts VMs off from. The control plane is the server's machine, with the clients that run there."""

    EVERYONE = "everyone"
    BROKERS = "brokers"
    CONTROL_PLANE = "control-plane"


WAYS = ("both", "in", "out")
"""Which packets a fault of the network drops: those that come to the VM, those that leave it, or both."""

_OF_BROKERS = frozenset({Fault.LOSE_VOLUME, Fault.FULL_DISK, Fault.SLOW_DISK, Fault.KILL_BROKER})
_OF_NETWORK = frozenset({Fault.SPLIT, Fault.PACKET_LOSS})

LASTING = frozenset({Fault.PAUSE, Fault.LOSE_VOLUME, Fault.FULL_DISK, Fault.SLOW_DISK, Fault.SPLIT, Fault.PACKET_LOSS})
"""Faults that last until their time is over; the others are done at once, and what heals them is Kedge's work."""

EVERYWHERE = frozenset({Fault.KILL_VM, Fault.KILL_RACK})
"""Possible through any provider's port: the cloud's own terminate."""


def chaos_asked(view: ClusterView, command: InjectChaos, known: Lookups) -> CommandDecision:
    """Raises CommandRefused: for what is no fault, where it is not allowed, and while the cluster is not healthy."""
    if not command.force:
        refuse_frozen(view, known, "Wait, or say --force.")
    fault = _fault(command.fault)
    if not 0 < command.for_s <= MOST_S:
        message = f"a fault lasts longer than 0 s and no longer than {MOST_S:.0f} s, not {command.for_s:g} s"
        raise CommandRefused("chaos-time", message, "Say --for 60s.")
    refuse_foreign(view, fault, command.confirm)
    manner = _manner(fault, command)
    chosen = _chosen(view, fault, command)
    _refuse_racks(view, command, chosen)
    _refuse_beside_game(view, command)
    if not command.force:
        refuse_unhealthy(view, known.kafka)
    chaos = derived_id("chaos", view.uid, command.command_id)
    keys = tuple(i.key for i in chosen)
    reason = asked_by(command, command.reason)
    fact = facts.ChaosInjected(chaos, str(fault), keys, command.for_s, reason, manner, command.game)
    lasting = f" for {command.for_s:g} s" if fault in LASTING else ""
    return CommandDecision(fact, f"{fault} of {', '.join(keys)}{manner_text(fault, manner)}{lasting}")


def chaos_end_asked(view: ClusterView, command: EndFault, _: Lookups = NOTHING) -> CommandDecision:
    """The end of a fault that was not brought about; nothing where it is over already."""
    if command.chaos not in view.requests.chaos:
        return CommandDecision(None, "that fault is over")
    return CommandDecision(facts.ChaosEnded(command.chaos, command.outcome), f"the fault is over: {command.outcome}")


def manner_text(fault: str, manner: facts.ChaosManner) -> str:
    """How, in words that follow the victims; "" where there is one way only."""
    way = {"in": ", what comes in", "out": ", what goes out"}.get(manner.way, "")
    if fault == Fault.SPLIT:
        return f" from {manner.cut_from.replace('-', ' ')}{way}"
    if fault == Fault.PACKET_LOSS:
        return f" of {manner.loss_percent:g} %{way}"
    return f" to {manner.mib_per_s:g} MiB/s" if fault == Fault.SLOW_DISK else ""


def clouds_of(view: ClusterView) -> frozenset[str]:
    """Names of the clouds the cluster is on."""
    return frozenset(p.place.cloud for p in view.document.spec.pools) if view.document else frozenset()


def why_unhealthy(view: ClusterView, kafka: KafkaSnapshot | None) -> str:
    """What keeps the cluster from being in full health, "" where nothing does; an open fault alone is no reason."""
    unsettled = [i for i in view.alive() if i.lost or i.phase is not Phase.JOINED]
    if unsettled:
        first_one = unsettled[0]
        return f"{first_one.key} is {'gone' if first_one.lost else first_one.phase}"
    if (
        view.roll.converged != view.generation
        or view.roll.recycling
        or view.moves.drain
        or view.intents
        or view.settings.restarts
    ):
        return "something is in hand"
    if kafka is None:
        return "Kafka's metadata was not read yet by this server"
    expected = [i.service_id for i in view.brokers()]
    whole = cluster_is_whole(kafka, expected, excepted=frozenset())
    if not whole.open:
        return whole.reason
    late = [m.id for m in kafka.quorum.members if m.is_voter and not is_following(m)]
    if late:
        return f"controller {late[0]} does not keep up with the quorum"
    return f"{len(kafka.moving())} partitions are being moved" if kafka.moving() else ""


def _fault(name: str) -> Fault:
    try:
        return Fault(name)
    except ValueError:
        known = ", ".join(Fault)
        raise CommandRefused("unknown-fault", f"there is no fault {name!r}", f"Faults: {known}.") from None


def _manner(fault: Fault, command: InjectChaos) -> facts.ChaosManner:
    """What of the manner the fault knows. Raises CommandRefused."""
    if fault in _OF_NETWORK and command.way not in WAYS:
        raise CommandRefused("chaos-manner", f"there is no way {command.way!r}", f"Say --way {', '.join(WAYS)}.")
    if fault is Fault.SPLIT:
        if command.cut_from not in tuple(CutFrom):
            message = f"nobody is cut off from {command.cut_from!r}"
            raise CommandRefused("chaos-manner", message, f"Say --from {', '.join(CutFrom)}.")
        return facts.ChaosManner(cut_from=command.cut_from, way=command.way)
    if fault is Fault.PACKET_LOSS:
        if not 0 < command.loss_percent <= 100:
            message = f"packet-loss is of more than 0 % and no more than 100 %, not {command.loss_percent:g} %"
            raise CommandRefused("chaos-manner", message, "Say --loss 20.")
        return facts.ChaosManner(way=command.way, loss_percent=command.loss_percent)
    if fault is Fault.SLOW_DISK:
        if not 0.1 <= command.mib_per_s <= 1000:
            message = f"a slow disk does 0.1 MiB/s to 1000 MiB/s, not {command.mib_per_s:g}"
            raise CommandRefused("chaos-manner", message, "Say --mib-per-s 2.")
        return facts.ChaosManner(mib_per_s=command.mib_per_s)
    return facts.ChaosManner()


def _chosen(view: ClusterView, fault: Fault, command: InjectChaos) -> Sequence[InstanceView]:
    # By force, also those that come and go: a roll is when a split is worth trying.
    there = [i for i in view.alive() if not i.lost and (i.phase is Phase.JOINED or (command.force and i.cloud_id))]
    if fault is Fault.KILL_RACK or (command.rack and not command.keys):
        racks = sorted({i.planned.rack for i in there})
        chosen = [i for i in there if i.planned.rack == command.rack and _suits(fault, i)]
        if not chosen:
            raise CommandRefused("unknown-rack", f"{view.name} has no rack {command.rack!r}", f"Racks: {racks}.")
        return chosen
    chosen = [i for i in there if i.key in command.keys or i.node in command.keys]
    strange = [k for k in command.keys if not any(k in (i.key, i.node) for i in chosen)]
    if strange or not chosen:
        known = ", ".join(i.key for i in there) or "none"
        what = f"{strange[0]!r} is not a VM of {view.name} that serves" if strange else "no VM was named"
        raise CommandRefused("unknown-node", what, f"VMs: {known}.")
    if any(not _suits(fault, i) for i in chosen):
        if fault is Fault.KILL_ZOOKEEPER:
            message = "kill-zookeeper is for VMs with a ZooKeeper server"
            raise CommandRefused("not-a-zookeeper", message, "Name a VM of a pool with the service zookeeper.")
        raise CommandRefused("not-a-broker", f"{fault} is for brokers", "Kill or pause a controller's VM instead.")
    return chosen


def _suits(fault: Fault, instance: InstanceView) -> bool:
    if fault is Fault.KILL_ZOOKEEPER:
        return any(i.planned.service == "zookeeper" for i in services_on(instance))
    return instance.is_broker or fault not in _OF_BROKERS


def refuse_foreign(view: ClusterView, fault: Fault, confirm: str) -> None:
    """Off the local cloud: only what the cloud's own port can do, where the spec allows it, with the name typed."""
    foreign = clouds_of(view) - {LOCAL}
    if not foreign:
        return
    where = ", ".join(sorted(foreign))
    if view.document is None or view.document.spec.chaos != "allowed":
        message = f"{view.name} runs on {where}, and its spec does not allow chaos"
        raise CommandRefused("chaos-forbidden", message, "Put `chaos: allowed` into the spec and apply it first.")
    if confirm != view.name:
        message = f"{view.name} runs on {where}: its name must be typed out"
        raise CommandRefused("name-mismatch", message, f"kedge chaos {view.name} {fault} --confirm {view.name}")
    if fault not in EVERYWHERE:
        known = ", ".join(sorted(EVERYWHERE))
        raise CommandRefused("chaos-not-here", f"{fault} needs control of the VM; on {where} there are: {known}")


def _refuse_racks(view: ClusterView, command: InjectChaos, chosen: Sequence[InstanceView]) -> None:
    hurt = {k for c in view.requests.chaos.values() for k in c.keys}
    racks = {i.planned.rack for i in view.alive() if i.key in hurt} | {i.planned.rack for i in chosen}
    if len(racks) > 1 and not command.several_racks:
        message = f"racks {', '.join(sorted(racks))} at once: more than min ISR is made for"
        raise CommandRefused("several-racks", message, "Name VMs of one rack, or say --several-racks.")


def _refuse_beside_game(view: ClusterView, command: InjectChaos) -> None:
    """A game draws one fault at a time, none when it is over; and what others bring about would spoil its figures."""
    game = view.requests.game
    if command.game:
        if game is None or game.id != command.game or len(game.played) != command.turn:
            raise CommandRefused("game-over", f"that game day of {view.name} is over, or further than that")
    elif game is not None and not command.force:
        message = f"a game day of {view.name} is in hand: what it measures would be of this fault, too"
        raise CommandRefused("game-in-hand", message, "Wait, end it, or say --force.")


def refuse_unhealthy(view: ClusterView, kafka: KafkaSnapshot | None) -> None:
    """Raises CommandRefused unless the cluster is in full health and no fault is open."""
    first = next(iter(view.requests.chaos.values()), None)
    still = f"{first.fault} of {', '.join(first.keys)} is not over" if first else ""
    why = still or why_unhealthy(view, kafka)
    if why:
        message = f"{view.name} is not fully healthy: {why}"
        raise CommandRefused("not-whole", message, f"Wait (kedge wait {view.name} --for=converged), or say --force.")
