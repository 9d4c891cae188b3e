"""Each stop and each change of a vote, judged as it is asked for: what else was down in that very moment."""

from typing import TYPE_CHECKING

from controlplane.cluster.healing_switches import is_being_cured
from controlplane.cluster.lifecycle import SERVING, Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.members import members_of
from events.spec.rollout import RolloutPolicy
from tests.sim.evidence import Fence
from tests.sim.vms import knowing_too_few

if TYPE_CHECKING:
    from tests.sim.world import World


def vote_trouble(world: "World", what: str, controller: int, directory: str) -> str:
    """What is wrong with a change of the voters that is about to be made, "" where nothing is."""
    before, up = world.kafka.voters(), world.kafka.voters_up()
    change = world.view().quorum.change
    if change is None or (change.voter.id, change.voter.directory_id) != (controller, directory):
        return f"{what} of {controller} is not the change on record"
    if before.get(controller) == directory and what == "remove_voter":
        left = [c for c in before if c != controller]
        if len([c for c in left if c in up]) * 2 <= len(left):
            return f"{what} of {controller} leaves {len(left)} voters, of whom only {sorted(up)} ran"
        there = (m for m in members_of(world.view().brokers()) if not world.view().is_broken(m))
        beside = {m.key for m in there if m.service_id in left}
        lonely = knowing_too_few(world.machines.vms, left, world.kafka_hosts, beside=beside)
        if controller in up and lonely:
            return f"{what} of {controller} leaves {left}, and too few of them are known to {lonely}"
    if controller not in before and what == "add_voter" and len(up) * 2 <= len(before):
        return f"{what} of {controller} while only {sorted(up)} of {sorted(before)} ran"
    stopped = [i for i in world.view().in_phase(Phase.FENCING, Phase.FENCED) if not i.is_broker and not i.lost]
    leaving = {i.node for i in stopped if all(there.departure.drained for there in world.view().of_node(i.node))}
    others = [i.key for i in stopped if i.service_id != change.voter.id and i.node not in leaving]
    # A VM that died while a change was in hand is mended first, and the change goes on when it may.
    if others and not any(i.lost for i in world.view().alive()):
        return f"{what} of {controller} while {others} are being handed over"
    return ""


def fence_of(world: "World", view: ClusterView | None, key: str, *, cure: bool, beside: bool) -> Fence | None:
    """What else is down while this one is asked to stop, by the view before that; None when there is nothing that could
    be stopped."""
    vm = world.machines.vms.get(key)
    process = None if vm is None else vm.member if beside else vm.process
    if vm is None or not vm.alive or process is None or not process.up or view is None:
        return None
    me, voters = process.document, world.kafka.voters()
    serving = [i for i in view.brokers() if i.phase in SERVING and i.phase is not Phase.LAUNCHED]
    serving = [i for i in serving if not i.departure.drained or world.kafka_hosts(i.service_id)]
    down = sorted(i.service_id for i in serving if i.key != key and not world.kafka.serves(i.service_id))
    up = {
        v.process.document.node_id
        for v in world.machines.vms.values()
        if v.alive and v.process and v.process.up and v.process.document.name != "broker"
    }
    hosted = world.kafka_hosts(me.node_id) if me.name == "broker" else 0
    is_loss = bool(hosted) and not cure and _is_a_loss(world, view, key)
    away = tuple(sorted(_others_away(world, view, me.node_id))) if is_loss else ()
    if me.name != "broker":
        votes = voters.get(me.node_id) == me.log_dirs[0].directory_id
        asked = {
            i.service_id for i in view.controllers() if i.key in view.settings.restarts or i.phase is not Phase.JOINED
        }
        unknowable = world.kafka.just_stopped() & set(voters) - asked
        up = world.kafka.voters_up() | unknowable if votes else set()
        return Fence(key, me.name, hosted, tuple(down), len(up - {me.node_id}), len(voters) if votes else 0)
    others, rollout = len(up - {me.node_id}), view.document.spec.rollout if view.document else RolloutPolicy()
    most, together = max(1, rollout.max_unavailable), rollout.max_parallel_restarts - 1
    return Fence(key, me.name, hosted, tuple(down), others, len(voters), away, most, most_beside=together)


def _is_a_loss(world: "World", view: ClusterView, key: str) -> bool:
    """Whether the broker served up to now, and nothing ailed it that its stop is the cure of."""
    instance = view.instances[key]
    cured = is_being_cured(view, instance.node, key)
    return not cured and not instance.lost and world.kafka.serves(instance.service_id)


def _others_away(world: "World", view: ClusterView, broker: int) -> set[int]:
    """Other brokers that do not serve and should, as Kafka has it this very moment, or were asked to stop."""
    there = [i for i in view.brokers() if i.service_id != broker and not i.departure.drained]
    members = {i.service_id for i in there if i.phase in (Phase.JOINED, Phase.DRAINING)}
    members |= {i.service_id for i in there if world.kafka_hosts(i.service_id)}
    asked = {i.service_id for i in there if i.key in view.settings.restarts}
    asked |= {i.service_id for i in there if i.phase is Phase.FENCING and view.hands_over(i)}
    return asked | {b for b in members if not world.kafka.serves(b)}
