"""What tells whether a world rests: values left on brokers, what is where, and what the next look is yet to see."""

from typing import TYPE_CHECKING

from controlplane.cluster.external_brokers import external_brokers
from controlplane.cluster.lifecycle import Phase
from controlplane.converger.conditions.disk_growth import DISK_GROWTH_HELD
from controlplane.converger.questions.health.broken_down import BROKER_AWAY
from controlplane.converger.questions.rolls.disk_limits import DISK_NEARLY_FULL
from controlplane.converger.questions.running.setting_work import own_of_pools
from events.spec.setting_table import newest_known
from events.spec.setting_values import reads_alike

if TYPE_CHECKING:
    from tests.sim.world import World


def noticed_every_loss(world: "World") -> bool:
    """Whether each VM that died is known to be lost."""
    vms = world.machines.vms
    return all(i.lost or i.key not in vms or vms[i.key].alive for i in world.view().in_phase(Phase.JOINED))


def values_left(world: "World") -> set[tuple[int, str]]:
    """What was set on one broker alone through the gateway, and is not its pool's own: seen, and taken away, by the
    next look at all."""
    own, held = own_of_pools(world.view()), world.kafka.settings.own
    of_pools = {(b, n) for b, said in own.items() for n, v in said.items() if held.get(b, {}).get(n) == v}
    return {(b, name) for b, name in world.kafka.settings.by_kedge - of_pools if world.kafka.serves(b)}


def values_by_hand(world: "World") -> bool:
    """Whether somebody else set a value on one broker that the spec has otherwise: put right by that look, too."""
    view, settings = world.view(), world.kafka.settings
    whole = {**(view.document.spec.kafka.config if view.document else {}), **view.settings.live}
    own = own_of_pools(view)
    there = (
        (settings.own.get(b, {}).get(n, wanted[n]), wanted[n], n)
        for b, n in settings.by_others
        if world.kafka.serves(b) and n in (wanted := {**whole, **own.get(b, {})})
    )
    return any(not reads_alike(newest_known(name), has, wants) for has, wants, name in there)


def scene_of(world: "World") -> tuple[object, ...]:
    """All that an act, a fault or a person changes: equal before two ticks, nothing happened in between."""
    machines, kafka = world.machines, world.kafka
    return (
        world.store.head(),
        tuple((k, v.alive, [p.up for p in v.processes]) for k, v in machines.vms.items()),
        (machines.outage or kafka.outage, machines.refuse_listings),
        kafka.scene(),
        (dict(kafka.on_disk.taken), repr(kafka.users.quotas)),
        machines.certificates.ages(world.clock()) if machines.certificates is not None else (),
    )


def is_quiet(world: "World") -> bool:
    """Whether no machine, move or cool-down is about to be news."""
    view = world.view()
    refilled = any(world.kafka_hosts(view.instances[key].service_id) for key in view.requests.evacuations)
    refilled |= any(world.kafka_hosts(b.id) for b in external_brokers(view).values() if b.empty_at is not None)
    held = view.conditions.get(DISK_GROWTH_HELD)
    rests = held is not None and held.status and held.reason == "CoolDown"  # then it grows
    return world.kafka.is_at_rest() and not refilled and not rests and world.machines.are_well


def waits_for_a_look(world: "World") -> bool:
    """Whether something is told, or a disk is fuller, that only the next look at all can take back."""
    view = world.view()
    told = {name for name, condition in view.conditions.items() if condition.status}
    return bool(view.topics.troubles or world.kafka.on_disk.taken or told & {BROKER_AWAY, DISK_NEARLY_FULL})
