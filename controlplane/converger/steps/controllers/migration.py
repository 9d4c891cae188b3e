"""Leads a cluster from ZooKeeper to KRaft, and back while it can: one step at a time, each recorded before it is made.

    migration.begun -> controllers are made -> migration.quorum_founded -> what
    `controlplane.kafka.zookeeper.migration` says comes next: migration.service_started, .service_stopped, ... ->
    migration.ended

Nothing else that is voluntary begins meanwhile; what is lost is mended first. A step is taken once everybody is back in
sync after the one before, behind the gate of every restart, and under the restart lock while a broker leads.
"""

from collections.abc import Iterable
from dataclasses import replace

from agent.wire import MIGRATION_WIRE_VERSION
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.tls_steps import security_in_change
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.migration import MigrationView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.migration_look import look, unproved
from controlplane.converger.questions.quorum.migration_text import progress
from controlplane.converger.questions.quorum.protocol import target_of
from controlplane.converger.questions.quorum.quorum_ports import member_port
from controlplane.converger.questions.running.restart_safety import restart_safety
from controlplane.converger.questions.services.service_reports import agents_of_before, has_reported, state_of
from controlplane.converger.questions.windows import closed_for
from controlplane.converger.situation.decision import Decision, Wait, act, record, wait
from controlplane.converger.situation.effects import ForgetMigration, ReleaseRestartLock
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.quorum.voters import of_no_quorum
from controlplane.converger.steps.rolls.departures import request_retire
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.steps.running.restart_lock import lock_first
from controlplane.kafka.zookeeper import migration as steps
from controlplane.kafka.zookeeper.migration import (
    Knows,
    MigrationBlocked,
    MigrationDone,
    MigrationSeen,
    StartServices,
    Step,
    Stop,
)
from events import facts
from events.spec.releases import MIGRATES, metadata_level_of
from planner.rollout.desired import desired_nodes

_PRESENT = (Phase.LAUNCHED, Phase.JOINED)


def cut_step(situation: Situation) -> Decision | None:
    """What goes on though a person paused the cluster: a broker is stopped for the cut, and starts again."""
    migration = situation.view.quorum.migration
    if migration is None or not any(k is Knows.STOPPED for b, k in migration.knows.items() if _is_broker(situation, b)):
        return None
    return _go_on(situation, migration)


def migration_step(situation: Situation) -> Decision | None:
    """The next step of the migration in hand. None where there is none."""
    view = situation.view
    migration = view.quorum.migration
    if migration is None:
        return _left_behind(situation)
    return _turn(view, migration) or _mend(situation) or _found(situation, migration) or _go_on(situation, migration)


def migration_begin_step(situation: Situation) -> Decision | None:
    """Begins it where the spec asks for it, once every VM is as the spec of before has it."""
    view = situation.view
    if view.quorum.migration is not None or not view.in_zookeeper_mode or view.document is None:
        return None
    if view.document.spec.kafka.mode == "zookeeper" or view.quorum.founding is None:
        return None
    waiting = next((i for i in view.alive() if i.phase is not Phase.JOINED or i.lost), None)
    if waiting is not None:
        return wait(
            WaitReason.NOT_SETTLED,
            f"not migrating to KRaft: {waiting.key} is {'lost' if waiting.lost else waiting.phase}",
        )
    if changing := security_in_change(view):
        return wait(WaitReason.NOT_SETTLED, f"not migrating to KRaft: {changing}")
    level = metadata_level_of(MIGRATES)
    if (
        view.quorum.protocol != level
        or view.quorum.ensemble_spec is None
        or target_of(view.quorum.ensemble_spec) != level
    ):
        sentence = f"not migrating to KRaft: brokers speak protocol {view.quorum.protocol}, and {level} is needed first"
        return wait(WaitReason.MIGRATION_BLOCKED, sentence, next_command=f"kedge describe {view.name}", patience_s=0)
    refused = _refused_by_agents(situation, view.brokers())
    if refused is not None:
        return refused
    if not situation.allowance.may_roll:
        return wait(WaitReason.FLEET_BRAKE, f"waiting to migrate to KRaft: {situation.allowance.reason}")
    reason = f"the spec of generation {view.generation} asks for mode kraft, and every VM is as declared"
    return record(
        "the migration to KRaft begins: its controllers are made", facts.MigrationBegun(view.generation, reason)
    )


def _refused_by_agents(situation: Situation, instances: Iterable[InstanceView]) -> Decision | None:
    """An agent of before refuses the document of a service that speaks TLS and is told of both."""
    if not situation.view.nodes_speak_tls:
        return None
    old = agents_of_before(situation, instances, MIGRATION_WIRE_VERSION)
    if not old:
        return None
    sentence = f"not migrating to KRaft: the agent of {old} knows of no migration with TLS, or was not heard"
    again = "kedge agents publish, with an agent of this release"
    return wait(WaitReason.MIGRATION_BLOCKED, sentence, next_command=again, patience_s=situation.join_deadline_s + 30)


def _turn(view: ClusterView, migration: MigrationView) -> Decision | None:
    """The spec in force asks for the other mode. Who has stopped the controllers goes all the way back first."""
    goal = view.document.spec.kafka.mode if view.document else migration.goal
    if goal == migration.goal or (goal == "kraft" and migration.has_stopped_controllers):
        return None
    if goal == "zookeeper" and migration.has_no_way_back:
        sentence = "the spec asks for mode zookeeper, and there is no way back any more: going on to KRaft"
        return wait(
            WaitReason.MIGRATION_BLOCKED,
            sentence,
            next_command=f"kedge apply, with mode kraft ({view.name})",
            patience_s=0,
        )
    where = "KRaft" if goal == "kraft" else "ZooKeeper"
    reason = f"the spec of generation {view.generation} asks for mode {goal}"
    turned = facts.MigrationTurned(goal, view.generation, reason)
    return record(f"the migration turns to {where}: {reason}", turned)


def _mend(situation: Situation) -> Decision | None:
    """What is lost is replaced in place, and controllers that are still to be made are made."""
    return replacement_step(replace(situation, repairs_only=True))


def _found(situation: Situation, migration: MigrationView) -> Decision | None:
    """Fixes the quorum once each of its controllers has its address and an agent that speaks."""
    if migration.founding is not None:
        return None
    view = situation.view
    if migration.goal == "zookeeper":
        gone = "no controller was started yet, so nothing has to be taken back"
        return record(f"the cluster stays in ZooKeeper: {gone}", facts.MigrationEnded("zookeeper", gone))
    wanted = [n.node for n in desired_nodes(migration.spec) if n.service == "controller"]
    ready = [i for i in view.beside_quorum() if i.node in wanted and _is_ready(situation, i)]
    if len(ready) < len(wanted):
        late = sorted(set(wanted) - {i.node for i in ready})
        sentence = progress(situation, migration, None, f"waiting for the VMs of {', '.join(late)}")
        return wait(WaitReason.INSTANCE_JOINS, sentence, patience_s=situation.join_deadline_s)
    refused = _refused_by_agents(situation, ready)
    if refused is not None:
        return refused
    voters = tuple(
        facts.FoundingVoter(
            i.node,
            i.service_id,
            view.seat_address(i),
            member_port(view, "controller"),
            i.planned.volumes[0].directory_id,
        )
        for i in sorted(ready, key=lambda i: i.service_id)
    )
    founded = facts.MigrationQuorumFounded(metadata_level_of(MIGRATES), voters)
    return record(f"{len(voters)} controllers are to take the metadata over from ZooKeeper", founded)


def _is_ready(situation: Situation, instance: InstanceView) -> bool:
    is_there = instance.phase is Phase.LAUNCHED and instance.bound and not instance.lost
    return is_there and has_reported(situation, instance) and bool(situation.view.seat_address(instance))


def _go_on(situation: Situation, migration: MigrationView) -> Decision:
    running = unproved(situation, migration)
    if running:
        states = ", ".join(f"{i.key} ({state_of(situation, i)})" for i in running)
        return _wait(situation, migration, None, f"waiting for proof that {states} stopped")
    seen = look(situation, migration)
    if seen is None:
        why = situation.seen.missing.get("ensemble", "nobody has asked it yet")
        sentence = progress(situation, migration, None, f"ZooKeeper does not say who leads: {why}")
        return wait(WaitReason.ENSEMBLE_UNKNOWN, sentence)
    if seen.registry.kraft_epoch >= 0 and situation.seen.zookeeper.restart_lock == "held":
        return act(
            "giving the restart lock back: the quorum leads, and ZooKeeper decides no more", ReleaseRestartLock()
        )
    return _taken(situation, migration, seen, steps.next_step(seen, migration.goal))


def _taken(situation: Situation, migration: MigrationView, seen: MigrationSeen, step: Step) -> Decision:
    match step:
        case StartServices():
            return _start(situation, migration, seen, step)
        case Stop():
            return _stop(situation, migration, seen, step)
        case steps.ForgetClaim(reason=reason):
            return act(progress(situation, migration, seen, f"clearing ZooKeeper: {reason}"), ForgetMigration())
        case MigrationBlocked(reason=reason):
            sentence = progress(situation, migration, seen, reason)
            return wait(
                WaitReason.MIGRATION_BLOCKED,
                sentence,
                next_command=f"kedge describe {situation.view.name}",
                patience_s=0,
            )
        case MigrationDone(reason=reason):
            return record(f"the migration has ended: {reason}", facts.MigrationEnded(migration.goal, reason))
        case _:
            return _wait(situation, migration, seen, step.reason)


def _start(situation: Situation, migration: MigrationView, seen: MigrationSeen, step: StartServices) -> Decision:
    if step.service == "broker":
        held = _held(situation, migration, seen, step)
        if held is not None:
            return held
    started = facts.MigrationServiceStarted(step.service, step.ids, step.knows, step.ends_way_back, step.reason)
    decision = record(progress(situation, migration, seen, step.reason), started)
    shut = closed_for(situation) if step.ends_way_back else None
    return shut.decision(decision, situation.now) if shut is not None else decision


def _stop(situation: Situation, migration: MigrationView, seen: MigrationSeen, step: Stop) -> Decision:
    if step.service == "broker":
        held = _held(situation, migration, seen, step)
        if held is not None:
            return held
    stopped = facts.MigrationServiceStopped(step.service, step.ids, step.reason)
    return record(progress(situation, migration, seen, step.reason), stopped)


def _held(
    situation: Situation, migration: MigrationView, seen: MigrationSeen, step: StartServices | Stop
) -> Decision | None:
    """What a step that takes a serving broker away waits for: its gate, and the lock while a broker leads."""
    view, number = situation.view, step.ids[0]
    kafka = situation.seen.fresh_kafka(situation.now)
    if seen.brokers[number] is Knows.STOPPED or (kafka is not None and number not in kafka.live_brokers()):
        return None  # it serves nobody, so nothing is taken from anybody
    instance = next(i for i in view.brokers() if i.service_id == number and i.phase is Phase.JOINED)
    if kafka is None:
        why = situation.seen.why_no_kafka
        return wait(
            WaitReason.KAFKA_UNKNOWN,
            progress(situation, migration, seen, f"{step.reason}, once Kafka can be read: {why}"),
        )
    safety = restart_safety(situation, kafka, instance)
    if safety.waits is not None:
        sentence = progress(situation, migration, seen, f"{instance.key} is not started anew: {safety.gate.reason}")
        return Decision(sentence, wait=safety.waits)
    shut = closed_for(situation) if migration.goal == "kraft" else None
    if shut is not None:
        # The way back is open, and a cluster half of the way serves as ever: it rests until others may be stopped.
        if situation.seen.zookeeper.restart_lock == "held":
            return act("giving the restart lock back until brokers may be started anew", ReleaseRestartLock())
        return shut.decision(Decision(progress(situation, migration, seen, step.reason)), situation.now)
    if seen.registry.kraft_epoch >= 0:
        return None
    return lock_first(situation, f"{view.name} migrates to KRaft: {step.reason}")


def _wait(situation: Situation, migration: MigrationView, seen: MigrationSeen | None, reason: str) -> Decision:
    """Comes by itself. What takes longer than a service may take to come is for a person: nothing is undone."""
    view = situation.view
    document = view.document
    soak_s = document.spec.rollout.soak_s if document else 0.0
    if seen is not None and seen.soak_left_s > 0 and reason.startswith("all brokers are KRaft's"):
        return wait(WaitReason.SOAK, progress(situation, migration, seen, reason), patience_s=soak_s + 30)
    waited_s = situation.seconds_since(migration.since)
    sentence = progress(situation, migration, seen, reason)
    if waited_s <= situation.join_deadline_s + (soak_s if migration.krafts_since else 0.0):
        return Decision(sentence, wait=Wait(WaitReason.MIGRATION, patience_s=situation.join_deadline_s + soak_s + 30))
    help_of = f"kedge describe {view.name}"
    if migration.goal == "kraft" and not migration.has_no_way_back:
        help_of += ", or kedge apply with the spec of before, to go back"
    stuck = f"{sentence}; so for {waited_s:.0f} s, nothing is undone by itself"
    return wait(WaitReason.MIGRATION_STUCK, stuck, next_command=help_of, patience_s=0)


def _left_behind(situation: Situation) -> Decision | None:
    """Who a migration has left without work: controllers at once, since they are stopped; ZooKeeper's servers once the
    roll to the spec takes them out. They are stopped for certain, then retired."""
    there = situation.view.beside_quorum()
    idle = [i for i in there if i.planned.service == "controller" and not i.departure.drained and i.phase in _PRESENT]
    if idle:
        keys = ", ".join(i.key for i in idle)
        return record(f"{keys} leave: the migration has left them without work", *map(of_no_quorum, idle))
    gone = [i for i in there if i.departure.drained]
    serving = tuple(i.key for i in gone if i.phase is Phase.JOINED)
    if serving:
        asked = facts.FenceRequested(serving, "the migration has left it without work")
        return record(f"stopping {', '.join(serving)}: of no quorum any more", asked)
    idle = [i for i in gone if i.phase is Phase.LAUNCHED]
    return request_retire(situation, idle, "it never served, and has no work any more") if idle else None


def _is_broker(situation: Situation, number: int) -> bool:
    return any(i.service_id == number for i in situation.view.brokers())
