"""The ladder: a row a rung, from the first to the last. What decides, what waits for windows and what docs tell is made
of it.

Outcomes come before new intents, what is in hand before what is next.
"""

from controlplane.cluster.wait_reasons import Mark
from controlplane.converger.ladder.rung import Begins, Phase, Rung
from controlplane.converger.ladder.tls_rungs import CERTIFICATE_RUNG, RENEWAL_RUNG, SECURITY_RUNG
from controlplane.converger.questions.rolls.images import is_urgent
from controlplane.converger.steps.chaos_end import chaos_step
from controlplane.converger.steps.clouds.intents import intent_step
from controlplane.converger.steps.clouds.maintenance import maintenance_step
from controlplane.converger.steps.clouds.networking import network_step
from controlplane.converger.steps.controllers.controller_moves import controller_move_step
from controlplane.converger.steps.controllers.migration import cut_step, migration_begin_step, migration_step
from controlplane.converger.steps.controllers.server_lists import server_list_restart_step, server_move_step
from controlplane.converger.steps.deletion import deletion_step
from controlplane.converger.steps.health.demotions import demotion_step
from controlplane.converger.steps.health.healing import healing_left_step, healing_step
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.moves import (
    disks,
    elections,
    factors,
    placements,
    rebalances,
    replication,
    stuck_moves,
)
from controlplane.converger.steps.quorum.external import external_quorum_step
from controlplane.converger.steps.quorum.voters import volume_step, voter_step, voters_left_step
from controlplane.converger.steps.rolls.abort import abort_step
from controlplane.converger.steps.rolls.arrivals import arrival_step, founding_step, loss_step
from controlplane.converger.steps.rolls.cordons import cordon_step
from controlplane.converger.steps.rolls.departures import departure_step
from controlplane.converger.steps.rolls.drains import drain_step
from controlplane.converger.steps.rolls.evacuations import evacuation_step
from controlplane.converger.steps.rolls.external_brokers import (
    external_departure_step,
    external_drain_step,
    import_step,
)
from controlplane.converger.steps.rolls.finalisation import finalisation_step
from controlplane.converger.steps.rolls.growth import growth_step
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.converger.steps.rolls.images import image_left_step, image_step
from controlplane.converger.steps.rolls.reconfigurations import reconfiguration_step
from controlplane.converger.steps.rolls.refusals import refusal_left_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.steps.rolls.stale_orders import stale_order_step
from controlplane.converger.steps.rolls.tagging import tagging_step, tags_left_step
from controlplane.converger.steps.running.live_settings import settings_in_hand_step, settings_left_step, settings_step
from controlplane.converger.steps.running.overlay import overlay_step
from controlplane.converger.steps.running.restarts import restart_in_hand_step, restart_step
from controlplane.converger.steps.running.setting_trial import settings_watch_step

LADDER: tuple[Rung, ...] = (
    Rung(
        deletion_step,
        Phase.FIRST,
        "a cluster with a tombstone: stop its brokers, then its controllers, then destroy or let go",
        why="a person deleted it: nothing waits for a window",
    ),
    Rung(
        chaos_step,
        Phase.IN_HAND,
        "faults of `kedge chaos` whose time is over",
        why="ends a fault that somebody brought about",
    ),
    Rung(loss_step, Phase.IN_HAND, "VMs that the cloud itself calls gone", why="records what is gone"),
    Rung(
        volume_step,
        Phase.IN_HAND,
        "disks of controllers that their agents call lost",
        why="records a disk that is gone",
    ),
    Rung(
        overlay_step,
        Phase.IN_HAND,
        "keys that agents made for an overlay, and public addresses: recorded, so that the others know",
        why="records what agents and clouds tell",
    ),
    Rung(
        intent_step,
        Phase.IN_HAND,
        "the oldest open Terraform intent: start, follow, confirm by the inventory",
        why="sees a Terraform run through",
    ),
    Rung(
        import_step,
        Phase.IN_HAND,
        "what others run of the cluster: taken on once Kafka shows it",
        why="records what others run; touches nothing",
        more="[import](import.md)",
    ),
    Rung(
        founding_step,
        Phase.IN_HAND,
        "the first quorum, once every founding controller has its address",
        why="founds the quorum of a cluster that serves nobody yet",
    ),
    Rung(
        voter_step,
        Phase.IN_HAND,
        (
            "the change of the voters in hand; votes for controllers that have caught up; who has none any more "
            "is stopped"
        ),
        why="sees a change of the quorum through; a newcomer that stands there gets its vote",
    ),
    Rung(
        reconfiguration_step,
        Phase.IN_HAND,
        "new VMs on which Kafka refuses what they were told: told the next spec, on the same VM",
        why="new VMs that refuse what they were told, and serve nobody, start anew",
        more="[quorum](quorum.md#a-founding-refused-by-kafka)",
    ),
    Rung(
        arrival_step,
        Phase.IN_HAND,
        "new instances: joined, on the way, given up at their deadline",
        why="waits for VMs that are made",
        lets_notices_pass=True,
        sees_controllers_in=True,
    ),
    Rung(
        stuck_moves.stuck_moves_repair_step,
        Phase.IN_HAND,
        "moves that hang of replicas that are made anew, which go before all below",
        why="cures moves that hang, of replicas made anew",
    ),
    Rung(
        placements.lost_replicas_step,
        Phase.IN_HAND,
        "replicas on brokers that nobody has, or that a person gave up: made anew, before drains that cannot move them",
        why="replicas on brokers nobody has are made anew: a repair",
        more="[placement](placement.md)",
    ),
    Rung(
        stuck_moves.stuck_moves_step,
        Phase.IN_HAND,
        "moves that hang: one cure, the gentlest first; moves of others that a person wants taken back",
        why="cures moves that hang",
        waits_for_copies=True,
    ),
    Rung(
        cordon_step,
        Phase.IN_HAND,
        (
            "brokers that are being emptied, or kept empty: no new replica is placed on them (Kafka 4.3), and "
            "the cordon of every other, and of one that is about to stop, is lifted"
        ),
        why="keeps new replicas off brokers that are being emptied; copies nothing",
    ),
    Rung(
        drain_step,
        Phase.IN_HAND,
        "the drain in hand: plan, release order, slots, throttles, rounds",
        why="sees a drain through, all its rounds",
        lets_notices_pass=True,
        waits_for_copies=True,
        waits_for_unhealthy=lambda reason: reason.has(Mark.DRAIN_STANDS),
    ),
    Rung(
        stale_order_step,
        Phase.IN_HAND,
        "a stop or a restart that was not heard in time: told again once it is safe",
        why="gives again what was asked already, and was not heard in time",
        more="[restarts](changing-settings.md#late-orders)",
    ),
    Rung(
        departure_step,
        Phase.IN_HAND,
        (
            "linger, fence, unregister, retire; the vote of a ZooKeeper server beside a broker goes before that "
            "is stopped"
        ),
        why="ends what is drained",
        lets_notices_pass=True,
        waits_for_agents=True,
        sees_controllers_in=True,
    ),
    Rung(
        external_departure_step,
        Phase.IN_HAND,
        "emptied brokers of others: filled again, stopped by their owner, unregistered",
        why="records what others stopped, forgets what is long gone",
    ),
    Rung(
        abort_step,
        Phase.IN_HAND,
        "after an abort: successors whose predecessor serves unharmed are taken back",
        why="a person gave the roll up",
    ),
    Rung(
        handover_step,
        Phase.IN_HAND,
        "nodes that are handed over: controllers, and brokers whose id and disk pass on",
        why="a successor stands there already",
        lets_notices_pass=True,
        sees_controllers_in=True,
        waits_for_unhealthy=lambda reason: True,
    ),
    Rung(
        controller_move_step,
        Phase.IN_HAND,
        "controllers whose id passes to a VM at another address",
        why="a newcomer of another address stands there already",
        more="[quorum](quorum.md#moving-controllers)",
        sees_controllers_in=True,
    ),
    Rung(
        restart_in_hand_step,
        Phase.IN_HAND,
        "the service that was started anew: back in sync, or given its old settings, or started once more",
        why="sees a restart through, or takes it back",
        lets_notices_pass=True,
        waits_for_agents=True,
    ),
    Rung(
        cut_step,
        Phase.IN_HAND,
        "the way back from a migration to KRaft, where it has a broker stopped",
        why="sees the way back from a migration through where it has a broker stopped",
        more="[ZooKeeper](zookeeper.md#migrating-to-kraft)",
    ),
    Rung(
        rebalances.rebalance_in_hand_step,
        Phase.IN_HAND,
        (
            "the batch of a rebalance that has begun: seen through, taken back where a target died, ended where "
            "a person wants no more"
        ),
        why="sees the batch in hand through",
        lets_notices_pass=True,
    ),
    Rung(
        replication.replication_in_hand_step,
        Phase.IN_HAND,
        ("the batch of topics' replicas in hand: handed over, seen through, taken back where a broker is not there"),
        why="sees the batch in hand through",
        lets_notices_pass=True,
    ),
    Rung(
        housekeeping_step,
        Phase.IN_HAND,
        "left-over throttles, preferred leaders",
        why="clears throttles, gives leadership back: part of the end of each step",
    ),
    Rung(
        settings_in_hand_step,
        Phase.IN_HAND,
        (
            "live settings that are being set: offered, sent, read back, on one broker first, or taken back from "
            "it, then rack by rack"
        ),
        why="sees a live setting through",
    ),
    Rung(
        voters_left_step,
        Phase.NEXT,
        "nothing new begins while a change of the voters waits, but for what mends a loss",
        why="only says what a change of the quorum waits for",
    ),
    Rung(
        migration_step,
        Phase.NEXT,
        (
            "a migration from ZooKeeper to KRaft, or back: its next step; whom it has left without work is "
            "stopped and retired"
        ),
        why=("sees a migration through; brokers that serve, and its point of no return, wait for a window by its word"),
    ),
    Rung(
        healing_step,
        Phase.NEXT,
        "a cure for what an agent found wrong, where its gate is open",
        why="a cure is a repair",
    ),
    Rung(
        elections.election_step,
        Phase.NEXT,
        "elections that fail again and again: another controller",
        why="a cure: another controller where leaders are not elected; no data is moved",
        more="[operating](operating.md#another-controller)",
    ),
    Rung(
        maintenance_step,
        Phase.NEXT,
        "VMs whose host the cloud takes down at a date: replaced before it",
        why="the cloud takes the VM down, window or not",
    ),
    Rung(
        demotion_step,
        Phase.NEXT,
        "brokers that are slow, or that a person demoted: leadership taken off them, and given back",
        why="a cure: leadership goes off a slow broker, no data is moved",
        more="[anomalies](anomalies.md#slow-broker)",
    ),
    Rung(
        settings_step,
        Phase.NEXT,
        "what can be set live next, and what was changed by hand",
        why="live settings stop no process and move no data",
    ),
    Rung(
        growth_step,
        Phase.NEXT,
        "disks that are to be larger: grown where they are, one node at a time",
        why="a disk that grows stops no process and moves no data",
        more="[storage](storage.md)",
    ),
    Rung(
        settings_watch_step,
        Phase.NEXT,
        "the first broker that has a live value: nothing that can wait begins while it is watched",
        why="watches the first broker that has a live value",
        more="[changing settings](changing-settings.md)",
    ),
    CERTIFICATE_RUNG,
    RENEWAL_RUNG,
    Rung(
        evacuation_step,
        Phase.NEXT,
        "brokers a person wants empty and kept empty",
        why="empties brokers that serve",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        external_quorum_step,
        Phase.NEXT,
        "a quorum of others that is static: made dynamic where the spec asks; no VM joins it before",
        why="a static quorum of others made dynamic: no way back",
        more="[quorum](quorum.md#static-quorums)",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        network_step,
        Phase.NEXT,
        "nothing that needs a VM begins while its network is missing",
        why="only says that a network is missing",
    ),
    Rung(
        image_step,
        Phase.NEXT,
        "which revision of the image catalogue VMs are made from next",
        why="fixes what new VMs are made from; the roll to it waits",
        more="[images](images-and-security.md)",
    ),
    Rung(
        server_list_restart_step,
        Phase.NEXT,
        "brokers told anew before a ZooKeeper server they know leaves with its emptied VM",
        why="ends the replacement of a VM whose ZooKeeper server is to leave",
        more="[ZooKeeper](zookeeper.md#other-pools-beside-them)",
    ),
    Rung(
        replacement_step,
        Phase.NEXT,
        "what to begin next, and whether it may begin",
        why="what is lost, unhealthy, down or new at any time; what is outdated waits",
        begins=Begins.BOTH,
        at_once=is_urgent,
        of_spec=True,
    ),
    Rung(
        refusal_left_step,
        Phase.NEXT,
        "says what new VMs refuse, as long as they do",
        why="only says what new VMs refuse",
    ),
    Rung(
        settings_left_step,
        Phase.NEXT,
        "live settings that still wait, or were refused",
        why="only says what live settings wait for",
    ),
    SECURITY_RUNG,
    Rung(
        restart_step,
        Phase.NEXT,
        ("who is started anew next, for a setting once the first one has been watched, or because a person asked"),
        why="the canary is watched and taken back at any time; restarts wait",
        begins=Begins.BOTH,
        of_spec=True,
    ),
    Rung(healing_left_step, Phase.NEXT, "what a cure still waits for", why="only says what a cure waits for"),
    Rung(
        external_drain_step,
        Phase.NEXT,
        "brokers of others that the spec names no more: emptied in one drain",
        why="empties brokers that serve",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        server_move_step,
        Phase.NEXT,
        "ZooKeeper servers beside brokers that leave for a pool of their own",
        why="takes the vote of servers beside brokers, whose VMs stay",
        more="[ZooKeeper](zookeeper.md#servers-in-a-pool-of-their-own)",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        migration_begin_step,
        Phase.NEXT,
        "whether a migration may begin, once every VM is as the spec of before has it",
        why="every service is restarted for it, brokers twice",
        begins=Begins.VOLUNTARY,
        of_spec=True,
    ),
    Rung(
        tagging_step,
        Phase.NEXT,
        "cost tags that are to be others: put on what stands in place, one node at a time, once nothing rolls",
        why="cost tags stop no process and move no data",
        more="[costs](costs.md#cost-tags)",
    ),
    Rung(
        finalisation_step,
        Phase.NEXT,
        "soak, feature levels, generation reached",
        why="it closes the way back",
        begins=Begins.VOLUNTARY,
        of_spec=True,
    ),
    Rung(
        replication.replication_step,
        Phase.NEXT,
        "replicas of topics that are not as many as declared: the next small batch, at rest",
        why="moves replicas",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        factors.factor_step,
        Phase.NEXT,
        "topics whose replication factor a person changed: the next small batch, at rest, or its end",
        why="moves replicas",
        more="[topics](topics.md#another-replication-factor)",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        disks.disk_moves_step,
        Phase.NEXT,
        "replicas that move between the log directories of a broker, since a person asked: the next few, or their end",
        why="a person named the broker; nothing crosses the network, and no replica leaves an ISR",
        more="[storage](storage.md#moves-between-disks)",
    ),
    Rung(
        placements.placement_step,
        Phase.NEXT,
        "replicas that share a zone: the next small batch, at rest",
        why="moves replicas",
        more="[placement](placement.md)",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        placements.hot_broker_step,
        Phase.NEXT,
        (
            "a broker with far more to do than its peers: others lead some of its partitions, at rest, by the "
            "last look at metrics"
        ),
        why="changes who leads, which clients notice",
        more="[placement](placement.md)",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        placements.leader_order_step,
        Phase.NEXT,
        (
            "a broker that stands first in too many lists: they are put into another order, at rest, where the "
            "spec says so"
        ),
        why="changes who leads, which clients notice",
        more="[placement](placement.md)",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        rebalances.rebalance_step,
        Phase.NEXT,
        "the rebalance in hand: plan, the next small batch, its end; below it the spec's own policy",
        why="moves replicas",
        begins=Begins.VOLUNTARY,
    ),
    Rung(
        image_left_step,
        Phase.NEXT,
        "why a revision is not rolled to: whom it waits for in the fleet's order",
        why="only says why an image is not rolled to",
    ),
    Rung(
        tags_left_step, Phase.NEXT, "which cost tags are missing, and why", why="only says which cost tags are missing"
    ),
)


def rungs(phase: Phase) -> tuple[Rung, ...]:
    """Those that have their turn then, in their order."""
    return tuple(rung for rung in LADDER if rung.phase is phase)
