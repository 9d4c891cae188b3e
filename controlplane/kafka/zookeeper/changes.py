"""Which change of an ensemble comes next: one server in or out at a time, never without a majority. Pure.

Fault and upgrade are one procedure: servers that are wanted come in as soon as they have caught up, then those that are
not wanted any more go, dead or alive. Each change is asked for on the version of the configuration it was decided on.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from controlplane.kafka.gates import Gate
from controlplane.kafka.zookeeper.members import EnsembleConfig, EnsembleSeen, Member, MemberHealth, majority_of, named

LAG = 1000
"""Transactions a newcomer may be behind the leader: both move while they are asked one after the other."""


@dataclass(frozen=True, slots=True)
class Join:
    """Let this server take part."""

    member: Member
    from_version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Take this server out. Its process is to be stopped after that, not before."""

    server: int
    from_version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be changed yet, and it comes by itself."""

    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """No change is safe, or possible at all. `needs`: what has to happen first."""

    reason: str
    needs: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The ensemble is the wanted one."""

    reason: str


Change: TypeAlias = Join | Leave | Wait | Blocked | Settled


def next_change(seen: EnsembleSeen, wanted: Sequence[Member], *, reborn: Collection[int] = ()) -> Change:
    """`wanted` are the participants there should be. `reborn` are ids whose disk was lost and that have not been let
    in anew since: as a member such a server would forget what it had promised, so it leaves before its process starts
    again, and joins like any newcomer."""
    if not wanted:
        return Blocked("no server is wanted", "a list of servers: an ensemble is never emptied")
    if seen.config is None:
        return _nobody_serves(seen, wanted)
    config = seen.config
    serving = _serving(seen, config)
    if len(serving) < config.majority:
        return _without_majority(seen, config, serving)
    if seen.leader is None:
        return Wait("a majority serves, but no leader was seen: an election may be under way")
    ids = {m.id: m for m in wanted}
    for member in config.members:
        goal = ids.get(member.id)
        if goal and member.role == "participant" and (member.id in reborn or not member.is_at_the_place_of(goal)):
            why = "its disk was lost" if member.id in reborn else f"it moves from {member.endpoint} to {goal.endpoint}"
            return _leave(config, serving, member, f"{why}: it leaves and joins anew")
    taking_part = {m.id for m in config.participants}
    missing = [m for m in sorted(wanted) if m.id not in taking_part]
    surplus = [m for m in config.members if m.id not in ids]
    if missing:
        return _join(seen, config, missing, surplus)
    if surplus:
        member = min(surplus, key=lambda m: _leaves_later(seen.of(m.id), m))
        how = "" if seen.of(member.id).serves else f", and it does not serve ({seen.of(member.id).problem})"
        return _leave(config, serving, member, f"it is not wanted any more{how}")
    silent = taking_part - serving
    lame = f"; {named(silent)} of them does not serve" if silent else ""
    return Settled(f"servers {named(taking_part)} take part, as wanted{lame}")


def may_stop_server(seen: EnsembleSeen, server: int) -> Gate:
    """Open when the others are a majority that serves and has caught up: they go on without it."""
    if seen.config is None:
        return Gate(False, "no server of the ensemble serves, so nothing is known of it")
    if server not in {m.id for m in seen.config.participants}:
        return Gate(True, f"server {server} takes no part in the ensemble")
    leader = seen.leader
    if leader is None:
        return Gate(False, "no leader was seen: an election may be under way")
    others = {i for i in _serving(seen, seen.config) if i != server and _has_caught_up(seen.of(i), leader)}
    need = seen.config.majority
    if len(others) < need:
        return Gate(False, f"without server {server} {len(others)} of {need} needed would go on ({named(others)})")
    return Gate(True, f"servers {named(others)} go on without server {server}: a majority of {need}")


def _join(seen: EnsembleSeen, config: EnsembleConfig, missing: Sequence[Member], surplus: Sequence[Member]) -> Change:
    leader = seen.leader
    assert leader is not None  # asked before
    for member in missing:
        if _has_caught_up(seen.of(member.id), leader):
            follows = "it serves and has caught up"
            return Join(member, config.version, f"server {member.id} is wanted; {follows}")
    behind = "; ".join(f"server {m.id}: {_why_not(seen.of(m.id), leader)}" for m in missing)
    later = f"; {named(m.id for m in surplus)} leaves after that" if surplus else ""
    return Wait(f"waiting for newcomers to catch up ({behind}){later}")


def _leave(config: EnsembleConfig, serving: frozenset[int], member: Member, reason: str) -> Change:
    """Only if those that stay are a majority among themselves that serves."""
    left = [m.id for m in config.participants if m.id != member.id]
    need, go_on = majority_of(len(left)), serving - {member.id}
    if member.role == "participant" and len(go_on) < need:
        return Blocked(
            f"server {member.id} should leave ({reason}), but of the {len(left)} that stay only {len(go_on)} serve, "
            f"and {need} are needed",
            f"{need - len(go_on)} more of {named(set(left) - go_on)} have to serve first" if left else "another server",
        )
    return Leave(member.id, config.version, f"server {member.id}: {reason}; {named(go_on)} go on, {need} are needed")


def _without_majority(seen: EnsembleSeen, config: EnsembleConfig, serving: frozenset[int]) -> Blocked:
    silent = {m.id for m in config.participants} - serving
    told = "; ".join(f"server {i}: {seen.of(i).problem or 'does not serve'}" for i in sorted(silent))
    return Blocked(
        f"{len(serving)} of {len(config.participants)} servers serve, {config.majority} are needed ({told})",
        _bring_back(config.majority - len(serving), silent),
    )


def _nobody_serves(seen: EnsembleSeen, wanted: Sequence[Member]) -> Blocked:
    told = "; ".join(f"server {m.id}: {seen.of(m.id).problem or 'does not serve'}" for m in sorted(wanted))
    answering = {m.id for m in wanted if "not currently serving" in seen.of(m.id).problem}
    silent = {m.id for m in wanted} - answering
    need = max(1, majority_of(len(wanted)) - len(answering))
    return Blocked(f"the ensemble has no majority ({told})", _bring_back(need, silent or answering))


def _bring_back(count: int, servers: Collection[int]) -> str:
    return (
        f"{count} of {named(servers)} must serve again, with the disk it had: start it, or attach its volume to a new "
        "VM. Without a majority no member can be added or removed, and nothing is removed on a guess"
    )


def _serving(seen: EnsembleSeen, config: EnsembleConfig) -> frozenset[int]:
    return frozenset(m.id for m in config.participants if seen.of(m.id).mode in ("leader", "follower"))


def _has_caught_up(health: MemberHealth, leader: MemberHealth) -> bool:
    """A server serves once it has what the leader had when it connected; the same epoch, few transactions behind."""
    if not health.serves:
        return False
    same_epoch = health.zxid >> 32 == leader.zxid >> 32
    return health.id == leader.id or health.zxid >= leader.zxid or (same_epoch and leader.zxid - health.zxid <= LAG)


def _why_not(health: MemberHealth, leader: MemberHealth) -> str:
    if not health.serves:
        return health.problem or "does not serve yet"
    return f"is at transaction {health.zxid:x}, the leader at {leader.zxid:x}"


def _leaves_later(health: MemberHealth, member: Member) -> tuple[bool, bool, int]:
    """Those that serve nobody first, the leader last: its leaving costs an election."""
    return (health.serves, health.mode == "leader", member.id)
