"""Which step of a migration from ZooKeeper to KRaft comes next, forward or back. Pure (KIP-866, Kafka 3.9).

    controllers start beside the ensemble -> brokers are told of both, one by one -> the quorum takes the metadata over
    and writes both -> brokers are told of the quorum alone, one by one -> soak -> controllers are told of the quorum
    alone, one by one, the leader last -> the ensemble goes

Nothing is remembered: who was started with what, and what Kafka and ZooKeeper say, tell where a migration stands. The
first controller that is told of the quorum alone ends the way back: from then on one may lead that leaves ZooKeeper
behind. Until then a broker may go back by itself, and so may the whole cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from controlplane.kafka.zookeeper.members import named
from controlplane.kafka.zookeeper.registry import RegistrySeen

Goal = Literal["kraft", "zookeeper"]


class Knows(StrEnum):
    """What a Kafka process was started with: the document's `ensemble`, its `voters`, or both. STOPPED: proved so."""

    STOPPED = "nothing"
    ENSEMBLE = "the ensemble"
    BOTH = "both"
    QUORUM = "the quorum"

    @property
    def has_ensemble(self) -> bool:
        return self in (Knows.ENSEMBLE, Knows.BOTH)

    @property
    def has_quorum(self) -> bool:
        return self in (Knows.BOTH, Knows.QUORUM)


class MigrationState(StrEnum):
    """`ZkMigrationState` as the quorum's leader has it (org.apache.kafka.metadata.migration, 3.9)."""

    NONE = "none"
    WAITING = "waiting"
    BOTH_WRITTEN = "both written"
    OVER = "over"


STATES: Mapping[int, MigrationState] = {
    0: MigrationState.NONE,
    2: MigrationState.WAITING,
    1: MigrationState.BOTH_WRITTEN,
    3: MigrationState.OVER,
}
"""By the number of the controllers' metric."""


class MigrationPhase(StrEnum):
    """How people are told where it stands."""

    ZOOKEEPER = "in ZooKeeper"
    PROVISIONED = "controllers beside the ensemble"
    BRIDGED = "brokers told of both"
    WRITTEN_TWICE = "the quorum leads, ZooKeeper is written too"
    FINALISED = "in KRaft"


@dataclass(frozen=True, slots=True)
class MigrationSeen:
    """One look. `unsettled` are brokers that are not back in every ISR, or controllers that run and do not follow;
    `state` is None while no leader tells it; `zookeeper_brokers` are those the quorum still counts as ZooKeeper's;
    `leader` is a controller, -1 while there is none."""

    brokers: Mapping[int, Knows]
    controllers: Mapping[int, Knows]
    unsettled: frozenset[int]
    state: MigrationState | None
    zookeeper_brokers: int
    leader: int
    registry: RegistrySeen
    soak_left_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StartServices:
    """Start, or start anew, these services with what they are to know. Several only where none of them serves."""

    service: Literal["broker", "controller"]
    ids: tuple[int, ...]
    knows: Knows
    reason: str
    ends_way_back: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop these services, and have it proved."""

    service: Literal["broker", "controller"]
    ids: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ForgetClaim:
    """Delete what the quorum left in ZooKeeper: its claim to lead, and how far it had come."""

    reason: str


@dataclass(frozen=True, slots=True)
class MigrationWaits:
    """Comes by itself."""

    reason: str


@dataclass(frozen=True, slots=True)
class MigrationBlocked:
    """Needs somebody. Nothing is changed."""

    reason: str


@dataclass(frozen=True, slots=True)
class MigrationDone:
    reason: str


Step: TypeAlias = StartServices | Stop | ForgetClaim | MigrationWaits | MigrationBlocked | MigrationDone


def phase_of(seen: MigrationSeen) -> MigrationPhase:
    """In words of people; `next_step` does not ask for it."""
    if _is_final(seen):
        return MigrationPhase.FINALISED
    if seen.state is MigrationState.BOTH_WRITTEN or seen.registry.kraft_epoch >= 0:
        return MigrationPhase.WRITTEN_TWICE
    if any(k.has_quorum for k in seen.brokers.values()):
        return MigrationPhase.BRIDGED
    return MigrationPhase.PROVISIONED if _running(seen.controllers) else MigrationPhase.ZOOKEEPER


def may_go_back(seen: MigrationSeen) -> str:
    """Why there is no way back any more, "" while there is one."""
    if not _is_final(seen):
        return ""
    alone = [i for i, k in seen.controllers.items() if k is Knows.QUORUM]
    return (
        f"controllers {named(alone)} were started without ZooKeeper: what was changed since may not be in it"
        if alone
        else "the quorum's own word is that the migration is over"
    )


def next_step(seen: MigrationSeen, goal: Goal) -> Step:
    """`goal` is where the cluster is to keep its metadata. Restarts are one at a time, each after the one before is
    back in sync; whether stopping that one leaves every partition its min ISR is asked by the caller."""
    return _forward(seen) if goal == "kraft" else _back(seen)


def _forward(seen: MigrationSeen) -> Step:
    if _is_final(seen):
        return _finalise(seen)
    absent = [i for i, k in seen.controllers.items() if k is not Knows.BOTH]
    if absent:
        return _provision(seen, absent)
    if seen.state is None or seen.leader < 0:
        return MigrationWaits("the controllers elect a leader")
    if seen.state is MigrationState.NONE:
        return MigrationWaits("the quorum does not wait for brokers yet; one that has metadata of its own never will")
    ahead = _settled(seen)
    if ahead is not None:
        return ahead
    if seen.state is MigrationState.WAITING:
        return _bridge(seen)
    return _to_quorum(seen)


def _provision(seen: MigrationSeen, absent: list[int]) -> Step:
    sent = [i for i, k in seen.brokers.items() if k.has_quorum]
    if sent and not _running(seen.controllers):
        return MigrationBlocked(
            f"brokers {named(sent)} know of the quorum and no controller runs: go back to ZooKeeper first, then begin "
            "anew"
        )
    why = "they wait beside the ensemble; brokers are as they were"
    return _settled(seen) or StartServices("controller", tuple(sorted(absent)), Knows.BOTH, why)


def _bridge(seen: MigrationSeen) -> Step:
    """The quorum begins by itself once the last broker has registered, so each of them is told of both first."""
    left = [*_stopped(seen.brokers), *sorted(i for i, k in seen.brokers.items() if k is Knows.ENSEMBLE)]
    if left:
        done = len(seen.brokers) - len(left)
        return StartServices("broker", (left[0],), Knows.BOTH, f"broker {left[0]} is told of both, {done} are by now")
    return MigrationWaits(
        f"the quorum takes the metadata over; {seen.zookeeper_brokers} of {len(seen.brokers)} have registered"
    )


def _to_quorum(seen: MigrationSeen) -> Step:
    if seen.registry.kraft_epoch < 0:
        return MigrationWaits("ZooKeeper does not name the quorum's leader yet")
    bare = (*_stopped(seen.brokers), *_strays(seen))
    if bare:
        return StartServices(
            "broker", (bare[0],), Knows.BOTH, f"broker {bare[0]} does not know of the quorum that leads"
        )
    left = sorted(i for i, k in seen.brokers.items() if k is not Knows.QUORUM)
    if left:
        why = f"the quorum has the metadata: broker {left[0]} needs ZooKeeper no more; {len(left)} are left"
        return StartServices("broker", (left[0],), Knows.QUORUM, why)
    if seen.zookeeper_brokers:
        return MigrationWaits(f"the quorum still counts {seen.zookeeper_brokers} brokers as ZooKeeper's")
    if seen.soak_left_s > 0:
        return MigrationWaits(
            f"all brokers are KRaft's; soaking {seen.soak_left_s:.0f} s more while there is a way back"
        )
    return _release(seen, "from here on there is no way back to ZooKeeper", ends_way_back=True)


def _finalise(seen: MigrationSeen) -> Step:
    stray = sorted(i for i, k in seen.brokers.items() if k is not Knows.QUORUM)
    if stray:
        return MigrationBlocked(
            f"brokers {named(stray)} are not KRaft's, and the migration is over: start them as such"
        )
    ahead = _settled(seen)
    if ahead is not None:
        return ahead
    if any(k is not Knows.QUORUM for k in seen.controllers.values()):
        return _release(seen, "the way back has ended with the first")
    if seen.state is None or seen.leader < 0:
        return MigrationWaits("the controllers elect a leader")
    if seen.state is not MigrationState.OVER:
        return MigrationWaits(
            "every controller is told of the quorum alone; their leader does not call the migration over yet"
        )
    return MigrationDone("the cluster keeps its metadata itself: nobody needs the ensemble")


def _release(seen: MigrationSeen, why: str, *, ends_way_back: bool = False) -> Step:
    """One controller, the leader last: each has to be back before the next one goes."""
    left = [i for i, k in seen.controllers.items() if k is not Knows.QUORUM]
    first = min(left, key=lambda i: (i == seen.leader, i))
    return StartServices("controller", (first,), Knows.QUORUM, f"controller {first}: {why}", ends_way_back)


def _back(seen: MigrationSeen) -> Step:
    never = may_go_back(seen)
    if never:
        return MigrationBlocked(f"there is no way back to ZooKeeper: {never}")
    ahead = _settled(seen)
    if ahead is not None:
        return ahead
    strays = _strays(seen)
    if strays:
        return StartServices(
            "broker", (strays[0],), Knows.BOTH, f"broker {strays[0]} does not know of the quorum that leads"
        )
    alone = sorted(i for i, k in seen.brokers.items() if k is Knows.QUORUM)
    if alone:
        return StartServices("broker", (alone[0],), Knows.BOTH, f"broker {alone[0]} goes back to ZooKeeper's side")
    if seen.registry.kraft_epoch >= 0:
        return _cut(seen)
    return _unbridge(seen)


def _cut(seen: MigrationSeen) -> Step:
    """The quorum stops leading, and a broker leads. One that stops while nobody leads cannot give its leaders away and
    hangs: so one is stopped before the controllers are, and begins as soon as they are gone."""
    running, stopped = _running(seen.controllers), _stopped(seen.brokers)
    if running and not stopped:
        first = min(seen.brokers)
        return Stop("broker", (first,), f"broker {first} will lead: it stops while the quorum still moves its leaders")
    if running:
        return Stop("controller", running, f"broker {stopped[0]} is stopped and will lead once they are gone")
    return ForgetClaim("no controller runs: their claim to lead keeps every broker from it")


def _unbridge(seen: MigrationSeen) -> Step:
    """A broker leads, or will: none is the quorum's any more."""
    sent = [i for i, k in seen.brokers.items() if k is not Knows.ENSEMBLE]
    sent.sort(key=lambda i: (seen.brokers[i] is not Knows.STOPPED, i))
    if sent:
        why = f"broker {sent[0]} is ZooKeeper's alone again; {len(sent)} are left"
        return StartServices("broker", (sent[0],), Knows.ENSEMBLE, why)
    running = _running(seen.controllers)
    if running:
        return Stop("controller", running, "no broker knows of them any more")
    if seen.registry.has_migration:
        return ForgetClaim("a later migration is to begin anew")
    return MigrationDone("the cluster keeps its metadata in ZooKeeper, as before; the controllers' disks are of no use")


def _settled(seen: MigrationSeen) -> Step | None:
    """Never two at once: nothing begins while somebody is not back in sync. One broker may be away by a step of ours:
    stopped, or sent back in the moment in which the quorum began to lead. The next step starts it."""
    away = (*_stopped(seen.brokers), *_strays(seen))
    late = seen.unsettled.difference(away if len(away) == 1 else ())
    return MigrationWaits(f"waiting for {named(late)} to be back in sync") if late else None


def _is_final(seen: MigrationSeen) -> bool:
    return seen.state is MigrationState.OVER or Knows.QUORUM in seen.controllers.values()


def _strays(seen: MigrationSeen) -> tuple[int, ...]:
    """Brokers that know the ensemble alone while a quorum leads: none of their own mode does, so they serve nobody."""
    if seen.registry.kraft_epoch < 0 or not _running(seen.controllers):
        return ()
    return tuple(sorted(i for i, k in seen.brokers.items() if k is Knows.ENSEMBLE))


def _stopped(services: Mapping[int, Knows]) -> tuple[int, ...]:
    return tuple(sorted(i for i, k in services.items() if k is Knows.STOPPED))


def _running(services: Mapping[int, Knows]) -> tuple[int, ...]:
    return tuple(sorted(i for i, k in services.items() if k is not Knows.STOPPED))
