"""What must always hold, judged after every single step of every simulated world (experience.md 3.2).

| property | judged by | what it looks at |
|---|---|---|
| P1 availability | `availability` | each fall of a partition below its min ISR, with its cause: none is ours |
| P2 no data loss | `no_data_loss` | acknowledged records on no disk; replicas at home on a VM that was deleted alive |
| P3 concurrency | `concurrency` | racks with a broker stopped on purpose; what was down when one was, or a vote was |
| P4 single writer | `single_writer` | the epoch of each append, run and change of Kafka against the one in force |
| P5 one VM | `one_vm` | VMs made twice, VMs nobody has on record, broker ids on a second disk |
| P6 stable | `stability` | events and effects of a tick at rest, with the world as it was before |
| P7 bounded | `bounded` | ticks since somebody else did anything, pauses it told of apart, against 600 + 45 a node |
| P8 progress or reason | `progress_or_reason` | sentence of a cluster with work, its age; condition of a long wait |
| P9 blast radius | `blast_radius` | whether the cluster had its tick, beside a neighbour whose every tick fails |

Unclean elections (P2) are not in the table: the `KafkaGateway` port has no way to allow one. P7 as sharp bounds of
single stories is `World.converge(ticks=...)`, P6 right after convergence `World.settle`. P10-P12 have tests of their
own (tests/sequences: aborts; tests/contract: projections; tests/unit: deletion).
`tests/sim/test_properties.py` breaks each of them in a world of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from controlplane.cluster.holds import hold_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.situation.situation import LOSS_GRACE_S
from tests.sim.breakdowns import UNKNOWABLE
from tests.sim.evidence import Violation

if TYPE_CHECKING:
    from tests.sim.world import World

JOIN_DEADLINE_S = 120
"""As in `tests.builders.a_spec`."""

BOUND_TICKS = int(LOSS_GRACE_S) + 2 * JOIN_DEADLINE_S + 60
"""A lost VM's grace, two VMs that never join, and a minute."""

BOUND_TICKS_A_NODE = 45
"""Measured: about 30 a replaced node, its linger and three Terraform runs among them."""

LONGEST_POSTPONED_S = 2 * 3600.0
"""So long, in all, what is put off until a time that is told counts for nothing: between four cures of a node in a row
are 70 minutes. A server that always says later is found after that."""

SILENCE_S = BOUND_TICKS
"""No wait without a condition is longer."""

LONGEST_BACK_OFF_S = 30.0

PERSON_NEEDED = frozenset(
    {
        "ReplacementFailed",
        "RunFailed",
        "RunRefused",
        "PermissionMissing",
        "ConfigurationRefused",
        "DrainNotConverging",
        "ListingLostRacks",
        "SettingRefused",
        "SettingReverted",
        "RestartReverted",
        "MetadataLost",
        "UnknownVoter",
        "ControllersRemembered",
        "CopiesGone",
        "ExternalMismatch",
        "ExternalQuorumStatic",
        "NoReceiver",
    }
)
"""Reasons to wait that only a person, or the end of a fault, ends."""


_NOT_OURS = ("died", "fell behind", "the cloud, which takes back", UNKNOWABLE)
"""What a partition may fall below its min ISR by."""


def judge(world: World) -> None:
    """Raises Violation with the first property that does not hold."""
    for name, holds in PROPERTIES.items():
        for broken in holds(world):
            raise Violation(f"{name}: {broken}")


def availability(world: World) -> Iterator[str]:
    """P1: nothing we do takes a partition from enough in-sync replicas to too few; what is enough stands still too."""
    yield from world.evidence.guarded
    for fall in world.kafka.fell_below:
        if not any(words in fall.cause for words in _NOT_OURS):
            yield f"{fall.partition} fell below min ISR by {fall.cause} at {fall.at}"


def no_data_loss(world: World) -> Iterator[str]:
    """P2: acknowledged records stay, and no VM is deleted alive with replicas at home on it."""
    if world.kafka.lost():
        yield f"{world.kafka.lost()} acknowledged records are on no disk any more"
    for d in world.evidence.deletions:
        if d.replicas:
            yield f"{d.key} (broker {d.broker}) was deleted with {d.replicas} replicas on it"


def concurrency(world: World) -> Iterator[str]:
    """P3: one rack at a time is stopped on purpose, only while nobody else is down, and never more than may be away."""
    view = world.view()
    stopping = {
        i.planned.rack
        for i in view.brokers()
        if i.phase in (Phase.FENCING, Phase.FENCED) and not i.lost and world.kafka_hosts(i.service_id)
    }
    if len(stopping) > 1:
        yield f"brokers of racks {sorted(stopping)} are stopped with replicas on them"
    for f in world.evidence.fences:
        if f.service == "broker" and f.replicas and f.others_down:
            yield f"{f.key} was stopped with {f.replicas} replicas on it while brokers {f.others_down} were down"
        racks = {view.instances[key].planned.rack for key in (f.key, *f.beside)} if f.beside else set()
        if len(f.beside) > f.most_beside or (f.beside and (f.service != "broker" or len(racks) > 1)):
            yield f"{f.key} was stopped together with {f.beside}, of racks {sorted(racks)}"
        if f.service == "broker" and len(f.others_away) + len(f.beside) >= f.most_away:
            yield f"{f.key} was stopped while brokers {f.others_away} were away, {f.most_away} may be"
        if f.service != "broker" and f.voters > 1 and f.others_up <= f.voters // 2:
            yield f"{f.key} was stopped while only {f.others_up} other controllers of {f.voters} ran"
    yield from world.evidence.votes


def single_writer(world: World) -> Iterator[str]:
    """P4: whoever acts or records does it under the epoch in force."""
    for s in world.evidence.stale:
        yield f"{s.what} under epoch {s.epoch} while {s.current} was in force"


def one_vm(world: World) -> Iterator[str]:
    """P5: one VM per node and generation, each with its intent on record; no broker id on a second disk. One more
    only for each that died before its run was over."""
    created = world.evidence.created
    if len(set(created)) < len(created):
        stillborn = Counter(world.evidence.stillborn)
        for key, times in Counter(created).items():
            if times > 1 + stillborn[key]:
                yield f"{key} was made {times} times"
    known = world.view().instances
    for key, vm in world.machines.vms.items():
        if vm.alive and (key not in known or known[key].phase is Phase.RETIRED):
            yield f"{key} runs, and no live intent asked for it"
    for broker, volumes in world.evidence.homes.items():
        if len(volumes) > 1:
            yield f"broker id {broker} was used again: on {sorted(volumes)}"
    yield from world.evidence.clashes


def stability(world: World) -> Iterator[str]:
    """P6: at rest, with nothing changed, a tick records nothing and does nothing."""
    last = world.last_tick
    if world.calm.quiet_ticks >= 3 + world.calm.seen_after_ticks and (last.events or last.effects):
        yield f"{last.events} events, {last.effects} effects at rest: {world.sentence()}"


def bounded(world: World) -> Iterator[str]:
    """P7: left alone, it converges within a bound that grows with the number of nodes to change. A pause between two
    tries of which it tells the end is no time that it may not take."""
    if world.is_converged() or world.is_held():
        return
    postponed = min(world.calm.postponed_ticks, int(LONGEST_POSTPONED_S / world.tick_s))
    ticks = world.ticks - world.calm.since_tick - postponed
    bound = (BOUND_TICKS + BOUND_TICKS_A_NODE * world.calm.nodes_to_change) / world.tick_s
    if ticks > bound:
        told = f"left alone for {ticks} ticks (and {postponed} of pauses), {bound:.0f} allowed"
        yield f"{told}, and still: {world.sentence()}"


_TELLS_WHY = ("Blocked", "MovesBraked", "Paused", "WaitsForStage", "WaitsForWindow")


def progress_or_reason(world: World) -> Iterator[str]:
    """P8: who has work says why it waits, in this tick's words; who waits long says so in a condition."""
    view = world.view()
    if world.is_converged() or not world.server_ticks or view.deleted:
        return
    said = world.converger.said(view.uid)
    if said is None or not said.sentence:
        yield "not converged and no reason given"
    elif world.last_tick.at - said.at > timedelta(seconds=LONGEST_BACK_OFF_S + world.tick_s):
        yield f"not converged, and its last word is of {said.at}: {said.sentence}"
    window = view.conditions.get("WaitsForWindow")
    heard = max(
        [at for at in (view.history.progressed_at, window.since if window else None) if at is not None], default=None
    )
    silent = heard and (world.last_tick.at - heard).total_seconds() > SILENCE_S
    if silent and has_work(view) and not any(view.conditions[c].status for c in _TELLS_WHY if c in view.conditions):
        yield f"nothing recorded since {view.history.progressed_at} and no condition says why: {world.sentence()}"


def blast_radius(world: World) -> Iterator[str]:
    """P9: a neighbour whose every tick fails costs this cluster not a single one of its own."""
    if world.last_tick.crashed or not has_work(world.view()):
        return
    spoke = world.last_tick.spoke_at
    mine = spoke.get(world.view().uid)
    if world.had_work and mine != world.last_tick.at and "in a row" not in world.sentence():
        yield f"had work at {world.last_tick.at} and no tick: its last was at {mine}"


Check = Callable[["World"], Iterator[str]]

PROPERTIES: Mapping[str, Check] = {
    "P1": availability,
    "P2": no_data_loss,
    "P3": concurrency,
    "P4": single_writer,
    "P5": one_vm,
    "P6": stability,
    "P7": bounded,
    "P8": progress_or_reason,
    "P9": blast_radius,
}


def is_held_up(world: World) -> bool:
    """Whether the cluster waits for a person (paused, aborted, a condition that only a person ends), or its window."""
    view = world.view()
    window = view.conditions.get("WaitsForWindow")
    if window is not None and window.status:
        return True
    blocked = view.conditions.get("Blocked")
    held = hold_on(view, world.clock()) is not None
    return held or (blocked is not None and blocked.status and blocked.reason in PERSON_NEEDED)
