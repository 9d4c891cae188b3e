"""What people ask of a simulated cluster: through the same decisions that answer the API."""

from controlplane.cluster.commands import (
    CancelDiskMoves,
    CancelRebalance,
    CommandRefused,
    ConfirmLoss,
    EvacuateBrokers,
    FixOffline,
    MoveBetweenDisks,
    RebalanceCluster,
    ReplaceNode,
    RestartServices,
)
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import reports_of
from controlplane.commands.deciders.disks import disk_moves_asked, disk_moves_cancelled
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.losses import loss_confirmed
from controlplane.commands.deciders.nodes import evacuation_asked, replacement_asked, restart_asked
from controlplane.commands.deciders.offline import offline_fix_asked
from controlplane.commands.deciders.rebalances import rebalance_asked, rebalance_cancelled
from events import facts
from tests.sim.world import World


def ask_for_restart(world: World, *keys: str, reason: str = "new certificates") -> None:
    """A rolling restart of all services, or of the brokers with these keys."""
    ids = tuple(world.view().instances[key].service_id for key in keys)
    command = RestartServices(
        name="orders", actor="person:anna", command_id=f"c{world.ticks}", reason=reason, brokers=ids
    )
    asked = restart_asked(world.view(), command)
    assert isinstance(asked.fact, facts.RollingRestartRequested)
    world.person(asked.fact)


def ask_for_replacement(
    world: World, key: str, reason: str, *, new_disk: bool = False, disks: tuple[str, ...] = ()
) -> None:
    """The next VM for the node of this instance."""
    command = ReplaceNode(
        name="orders",
        actor="person:anna",
        command_id=f"c{world.ticks}",
        reason=reason,
        node=world.view().instances[key].node,
        new_disk=new_disk,
        disks=disks,
    )
    asked = replacement_asked(world.view(), command, Lookups(kafka=world.kafka.snapshot()))
    assert isinstance(asked.fact, facts.NodeReplaceRequested)
    world.person(asked.fact)


def ask_to_fix_offline(world: World, *brokers: int, reason: str) -> None:
    """What is offline on these brokers is to be made anew."""
    command = FixOffline(
        name="orders", actor="person:anna", command_id=f"c{world.ticks}", reason=reason, brokers=brokers
    )
    asked = offline_fix_asked(world.view(), command, Lookups(kafka=world.kafka.snapshot()))
    assert isinstance(asked.fact, facts.OfflineFixRequested)
    world.person(asked.fact)


def ask_for_disk_moves(world: World, broker: int, disk: str, *, reason: str) -> None:
    """What is on that disk is to move onto the others of its broker; with "" they are to be evened out."""
    command = MoveBetweenDisks(
        name="orders", actor="person:anna", command_id=f"c{world.ticks}", reason=reason, broker=broker, disk=disk
    )
    asked = disk_moves_asked(world.view(), command, Lookups(kafka=world.kafka.snapshot()))
    assert isinstance(asked.fact, facts.DiskMovesRequested)
    world.person(asked.fact)


def cancel_disk_moves(world: World, broker: int) -> None:
    """What moves ends, nothing more begins."""
    command = CancelDiskMoves(
        name="orders", actor="person:anna", command_id=f"c{world.ticks}", reason="enough", broker=broker
    )
    asked = disk_moves_cancelled(world.view(), command)
    assert isinstance(asked.fact, facts.DiskMovesCancelRequested)
    world.person(asked.fact)


def ask_for_evacuation(world: World, key: str, reason: str) -> None:
    """The broker on this instance is to be empty and to stay so."""
    command = EvacuateBrokers(
        name="orders",
        actor="person:anna",
        command_id=f"c{world.ticks}",
        reason=reason,
        brokers=(world.view().instances[key].service_id,),
    )
    asked = evacuation_asked(world.view(), command, Lookups(kafka=world.kafka.snapshot()))
    assert isinstance(asked.fact, facts.EvacuationRequested)
    world.person(asked.fact)


def confirm_loss(world: World, *racks: str) -> None:
    """What a listing calls gone in these racks is gone."""
    command = ConfirmLoss(
        name="orders", actor="person:anna", command_id=f"c{world.ticks}", racks=racks, confirm="orders", reason="fire"
    )
    reports = reports_of(world.latest, world.view().uid)
    asked = loss_confirmed(world.view(), command, Lookups(reports=lambda: reports, now=world.clock))
    assert isinstance(asked.fact, facts.LossesConfirmed)
    world.person(asked.fact)


def ask_for_rebalance(
    world: World, reason: str = "it grew", *, targets: tuple[int, ...] = (), per_day_bytes: int = 0
) -> None:
    """Replicas are to be spread anew, or onto these brokers alone."""
    command = RebalanceCluster(
        name="orders",
        actor="person:anna",
        command_id=f"c{world.ticks}",
        reason=reason,
        targets=targets,
        per_day_bytes=per_day_bytes,
    )
    asked = rebalance_asked(world.view(), command, Lookups(kafka=world.kafka.snapshot()))
    assert isinstance(asked.fact, facts.RebalanceRequested)
    world.person(asked.fact)


def cancel_rebalance(world: World, reason: str = "not now") -> None:
    """No more of it is to begin."""
    command = CancelRebalance(name="orders", actor="person:anna", command_id=f"c{world.ticks}", reason=reason)
    asked = rebalance_cancelled(world.view(), command)
    assert isinstance(asked.fact, facts.RebalanceCancelRequested)
    world.person(asked.fact)


def try_to_ask(world: World) -> bool:
    """Somebody asks for something at a bad moment: refused, or recorded. Draws from the world's own seed."""
    view = world.view()
    serving = sorted(i.key for i in view.in_phase(Phase.JOINED) if not i.lost)
    if not serving or world.kafka.outage:
        return False
    key, what = world.random.choice(serving), world.random.randrange(5)
    try:
        if what < 2:
            ask_for_restart(world)
        elif what < 4:
            ask_for_replacement(world, key, "a hunch")
        elif view.requests.evacuations:
            world.person(facts.EvacuationEnded(tuple(view.requests.evacuations), "asked by anna: enough"))
        else:
            ask_for_evacuation(world, key, "a hunch")
    except (CommandRefused, AssertionError):
        return False
    return True
