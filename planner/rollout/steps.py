"""The rollout plan: what a spec would do to a running cluster, as phases and steps a person can read and refuse."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.rollout.diff import Change, NodeChange
from planner.rollout.order import next_work, restart_order

KAFKA_REACHES_OF_THROTTLE = 0.8
"""Measured: a throttled reassignment runs at about 0.8 of the configured rate."""

BOOT_S = 10.0
"""What a VM and its broker take to serve: measured on the `local` cloud, minutes on others."""

RESTART_S = 10.0
"""What a service takes to stop in order, start again and be back in sync: measured on the `local` cloud, with little
to catch up on."""

_RESTARTED = ("stop", "start", "back in sync")

GROWTH_S = 10.0
"""What a disk takes to grow where it is: measured on the `local` cloud; AWS may take minutes."""


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """One node's part. `bytes` is what is copied off it, `seconds` an estimate that assumes the stated bandwidth."""

    change: Change
    node: str
    rack: str
    service: str
    reason: str
    how: tuple[str, ...]
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RolloutPhase:
    """Steps that belong together. A parallel phase treats its steps at once, a serial one after the other."""

    name: str
    parallel: bool
    steps: tuple[RolloutStep, ...]


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """The whole roll. `warnings` are what a person should know before saying yes."""

    phases: tuple[RolloutPhase, ...]
    warnings: tuple[str, ...]

    @property
    def bytes(self) -> int:
        return sum(s.bytes for p in self.phases for s in p.steps)

    @property
    def seconds(self) -> float:
        return sum(
            max((s.seconds for s in p.steps), default=0.0) if p.parallel else sum(s.seconds for s in p.steps)
            for p in self.phases
        )

    @property
    def steps(self) -> int:
        return sum(len(p.steps) for p in self.phases)

    @property
    def digest(self) -> str:
        """Equal plans have equal digests: what `apply PLAN` compares before it acts."""
        return hashlib.sha256(repr((self.phases, self.warnings)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class RolloutAssumptions:
    """What the figures rest on: replica bytes by broker id, bandwidth and the waits of the policy."""

    bytes_by_broker: Mapping[int, int]
    bandwidth_bytes_per_s: int
    linger_s: float
    soak_s: float
    surge: int
    leaders: frozenset[int] = frozenset()
    """Who goes last of its kind (`order.who_leads`)."""
    reattach: bool = False
    """Brokers' disks move to the next VM: nothing is copied."""
    founded: bool = False
    """There is a quorum: a controller that comes has to be given a vote."""
    restarts_together: int = 1
    """How many brokers of one rack may be restarted at the same time, where nothing stands against it then."""


def rollout_plan(
    changes: Sequence[NodeChange],
    *,
    assumptions: RolloutAssumptions,
    finalise: str = "",
    protocol: str = "",
    warnings: Sequence[str] = (),
) -> RolloutPlan:
    """Replays the order the converger follows until nothing is left. `finalise` names the level raised at the end,
    `protocol` (ZooKeeper mode) the protocol version every broker is started anew with after that."""
    phases = _growth_phases(changes)
    left = list(changes)
    while (work := next_work(left, surge=assumptions.surge, leaders=assumptions.leaders)) is not None:
        steps = tuple(_step(c, assumptions) for c in work.nodes)
        phases.append(RolloutPhase(_title(work.change, work.nodes), len(steps) > 1, steps))
        done = {c.node for c in work.nodes}
        left = [c for c in left if c.node not in done]
    phases = _with_brokers_restarted(phases, changes)
    phases += _restart_phases(restart_order(changes, leaders=assumptions.leaders), assumptions)
    if finalise:
        raised = RolloutStep(
            Change.KEEP,
            "cluster",
            "",
            "metadata",
            f"all nodes support {finalise}",
            ("soak", "raise feature levels"),
            0,
            assumptions.soak_s,
        )
        phases.append(RolloutPhase(f"finalise {finalise} (no way back after this step)", False, (raised,)))
    if protocol:
        phases.append(_protocol_phase(changes, protocol, assumptions))
    return RolloutPlan(tuple(phases), tuple(warnings))


def _with_brokers_restarted(phases: list[RolloutPhase], changes: Sequence[NodeChange]) -> list[RolloutPhase]:
    """Controllers that take their ids to other addresses: before brokers would know no more of them than may fail at
    once, each broker is started anew, told of both addresses of the next one. Once does for all of them."""
    moving = {c.node for c in changes if c.is_controller_move}
    wanted = sum(c.service == "controller" and c.desired is not None for c in changes)
    unheard = wanted - ((wanted - 1) // 2 + 1)
    if len(moving) <= unheard:
        return phases
    brokers = _brokers_restarted(changes, f"{len(moving)} controllers get other addresses")
    steps = tuple(_restart_step(c, RESTART_S, _RESTARTED) for c in brokers)
    title = f"restart {len(steps)} brokers, one at a time, told of the old and the new addresses of controllers"
    turns = [n for n, phase in enumerate(phases) if any(s.node in moving for s in phase.steps)]
    return [*phases[: turns[unheard]], RolloutPhase(title, False, steps), *phases[turns[unheard] :]]


def _growth_phases(changes: Sequence[NodeChange]) -> list[RolloutPhase]:
    """Disks that grow where they are come first: they stop nothing, and who is full needs them."""
    growing = [c for c in changes if c.change is Change.GROW]
    how = ("grow the volume", "grow its file system")
    steps = tuple(RolloutStep(c.change, c.node, c.rack, c.service, c.reason, how, 0, GROWTH_S) for c in growing)
    title = f"grow the disks of {len(steps)} nodes where they are, one at a time, without a restart"
    return [RolloutPhase(title, False, steps)] if steps else []


def _protocol_phase(changes: Sequence[NodeChange], protocol: str, assumptions: RolloutAssumptions) -> RolloutPhase:
    """One more start of every broker that will be there, one at a time, the soak before the first."""
    brokers = _brokers_restarted(changes, f"inter.broker.protocol.version becomes {protocol}")
    first = [_restart_step(c, RESTART_S + assumptions.soak_s, ("soak", *_RESTARTED)) for c in brokers[:1]]
    steps = (*first, *(_restart_step(c, RESTART_S, _RESTARTED) for c in brokers[1:]))
    title = f"restart {len(steps)} brokers with protocol {protocol}, one at a time (no way back after this step)"
    return RolloutPhase(title, False, steps)


def _step(change: NodeChange, assumptions: RolloutAssumptions) -> RolloutStep:
    replaced = change.change is Change.REPLACE and change.service == "broker"
    handed = assumptions.reattach and replaced and not change.moves
    copied = change.incumbent is not None and change.service == "broker" and not handed
    held = change.incumbent.service_id if change.incumbent and copied else -1
    moved = assumptions.bytes_by_broker.get(held, 0) if change.change is not Change.CREATE else 0
    copying_s = moved / max(1.0, assumptions.bandwidth_bytes_per_s * KAFKA_REACHES_OF_THROTTLE)
    lingers = change.service == "broker" and change.change is not Change.CREATE and not handed
    boots = change.change is not Change.REMOVE
    seconds = copying_s + (assumptions.linger_s if lingers else 0.0) + (BOOT_S if boots else 0.0)
    return RolloutStep(
        change.change,
        change.node,
        change.rack,
        change.service,
        change.reason,
        _how(change, handed=handed, founded=assumptions.founded),
        moved,
        round(seconds, 1),
    )


def _restart_phases(restarts: Sequence[NodeChange], assumptions: RolloutAssumptions) -> list[RolloutPhase]:
    """The first of each kind of service that gets new settings alone, because it is watched, then the others of its
    kind."""
    phases = []
    for service in sorted({c.service for c in restarts}):
        first, *others = [c for c in restarts if c.service == service]
        if not any(c.is_new_to_it for c in (first, *others)):
            phases.append(_restarts((first, *others), f"restart {1 + len(others)} {service}", assumptions))
            continue
        watched = RESTART_S + (assumptions.soak_s if others else 0.0)
        canary = _restart_step(first, watched, (*_RESTARTED, *(("soak",) if others else ())))
        then = f" and watch it for {assumptions.soak_s:.0f} s" if others else ""
        phases.append(RolloutPhase(f"restart the first {service} in place{then}", False, (canary,)))
        phases += [_restarts(others, f"restart {len(others)} more {service}", assumptions)] if others else []
    return phases


def _restarts(restarts: Sequence[NodeChange], title: str, assumptions: RolloutAssumptions) -> RolloutPhase:
    """Serial, also where brokers of one rack may go together: whether they do is known when their turn comes."""
    steps = tuple(_restart_step(c, RESTART_S, _RESTARTED) for c in restarts)
    racks = [c.rack for c in restarts if c.service == "broker"]
    most = min(assumptions.restarts_together, max((racks.count(rack) for rack in racks), default=1))
    pace = f"up to {most} of a rack at a time where no partition needs two of them" if most > 1 else "one at a time"
    where = ", ".join(dict.fromkeys(c.rack for c in restarts))
    return RolloutPhase(f"{title}{'s' if len(steps) > 1 else ''}, {pace}, in {where}", False, steps)


def _brokers_restarted(changes: Sequence[NodeChange], reason: str) -> list[NodeChange]:
    """Every broker that will be there, in the order of the racks: each is started anew for that, whatever else becomes
    of it."""
    brokers = sorted((c for c in changes if c.service == "broker" and c.desired), key=lambda c: (c.rack, c.node))
    return [replace(c, change=Change.RESTART, reason=reason) for c in brokers]


def _restart_step(change: NodeChange, seconds: float, how: tuple[str, ...]) -> RolloutStep:
    return RolloutStep(change.change, change.node, change.rack, change.service, change.reason, how, 0, seconds)


def _how(change: NodeChange, *, handed: bool, founded: bool) -> tuple[str, ...]:
    if change.change is Change.CREATE and change.service != "broker" and founded:
        return ("create", "catch up", "get a vote")
    if change.change is Change.CREATE and change.has_member and founded:
        return ("create", "join", "its ZooKeeper server gets a vote")
    if change.change is Change.CREATE:
        return ("create", "join")
    if change.change is Change.REMOVE and change.service != "broker":
        return ("leave the quorum", "stop", "retire")
    if change.change is Change.REMOVE:
        return ("drain", "linger", "fence", "retire")
    if change.service != "broker" and change.incumbent is not None and change.incumbent.reasons.broken:
        return ("surge", "stop old", "lost disk leaves the quorum", "hand over address", "get a vote", "retire old")
    if change.is_controller_move:
        return ("surge", "stop old", "catch up", "take over the vote", "retire old")
    if change.service != "broker":
        return ("surge", "stop old", "hand over volume and address", "catch up", "retire old")
    if handed:
        return ("surge", "stop old", "hand over volume", "back in sync", "retire old")
    if change.has_member:
        gives, takes = "its ZooKeeper server gets a vote", "the old one's leaves"
        return ("surge", "join", gives, "drain", "linger", takes, "fence", "retire old")
    return ("surge", "join", "drain", "linger", "fence", "retire old")


def _title(change: Change, nodes: Sequence[NodeChange]) -> str:
    racks = sorted({n.rack for n in nodes})
    many = Counter(n.service for n in nodes)
    counts = " and ".join(f"{many[s]} {s}{'s' if many[s] > 1 else ''}" for s in sorted(many))
    return f"{change} {counts} in {', '.join(racks)}"
