"""Which single change of the quorum's voters comes next, and whether it may be made now. Pure.

    a directory that is lost, its process stopped > a controller that is to get a vote > one that is to leave

One at a time, and none that could cost the majority: Kafka commits a change with the majority of the voters after it
(KIP-853), and every other voter has to be there for the next failure. A voter that is gone counts in every majority
until it is removed, so removing it never makes things worse; adding to an odd quorum takes one more vote to win.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from controlplane.kafka.gates import Gate, is_following, lags
from controlplane.kafka.quorum import STEADY_S
from planner.observed import QuorumSeen, VoterSeen


@dataclass(frozen=True, slots=True)
class Seat:
    """A controller node in the quorum. `directory_id` is the one that votes, or is to; `others` are those it had
    before, `lost` those of them whose processes are proved stopped. `stays`: its node keeps its vote, or gets it.
    """

    node: str
    id: int
    index: int
    directory_id: str
    stays: bool
    others: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    swaps: bool = False
    """The directory that is to vote follows before a lost one loses its vote: between the two there is a moment."""
    hosted: bool = False
    """A ZooKeeper server on a broker's VM: it leaves when that broker is empty, not when it is not wanted any more."""


@dataclass(frozen=True, slots=True)
class VoterStep:
    """The next change, and whether it may be made now: its gate says why, or why not."""

    adds: bool
    seat: Seat
    directory_id: str
    gate: Gate

    @property
    def leaves(self) -> bool:
        """Whether the node goes with its vote."""
        return not self.adds and self.directory_id == self.seat.directory_id


@dataclass(frozen=True, slots=True)
class ForeignVoter:
    """A voter that belongs to none of the cluster's nodes: a person's doing, and a person's to undo."""

    id: int
    directory_id: str


def next_voter_change(
    quorum: QuorumSeen, seats: Sequence[Seat], *, only: Collection[int] = ()
) -> VoterStep | ForeignVoter | None:
    """None when exactly the seats that stay have a vote, each with its own directory.

    Who is dead and is to leave goes before anybody comes. Removing prefers who is gone already, then the newest
    (highest index, then highest id), the leader last; where ids are named, `only` those leave.
    """
    voters = _voters(quorum)
    ours = {(s.id, d) for s in seats for d in (s.directory_id, *s.others)}
    foreign = [v for v in voters if (v.id, v.directory_id) not in ours]
    if foreign:
        return ForeignVoter(foreign[0].id, foreign[0].directory_id)
    have = {(v.id, v.directory_id): v for v in voters}
    losses = [_loss(quorum, s, d) for s in seats for d in sorted(s.lost) if (s.id, d) in have]
    if losses:
        return next((step for step in losses if step.gate.open), losses[0])
    leaving = [s for s in seats if not s.stays and (s.id, s.directory_id) in have and (not only or s.id in only)]
    for seat in leaving:
        # Dead and not wanted any more: its vote only keeps the gate of whoever is to be added closed.
        gate = may_remove(quorum, seat.id, seat.directory_id)
        if gate.open and not is_following(have[seat.id, seat.directory_id]):
            return VoterStep(False, seat, seat.directory_id, gate)
    missing = [s for s in seats if s.stays and (s.id, s.directory_id) not in have]
    if missing:
        return _addition(quorum, missing)
    if not leaving:
        return None
    first = min(leaving, key=lambda s: _leaves_first(have[s.id, s.directory_id], s, quorum.leader))
    return VoterStep(False, first, first.directory_id, may_remove(quorum, first.id, first.directory_id))


def may_add(quorum: QuorumSeen, controller: int, directory_id: str) -> Gate:
    """Open when this very controller (id *and* directory) has caught up, and its vote leaves no smaller margin."""
    found = _member(quorum, controller, directory_id)
    if found is None:
        return Gate(False, f"controller {controller} with directory {directory_id} does not follow the quorum yet")
    if not is_following(found):
        return Gate(False, f"controller {controller} is not caught up: {lags([found])}")
    voters = _voters(quorum)
    late = [v for v in voters if not is_following(v)]
    alive, size = len(voters) - len(late), len(voters)
    if alive < majority(size):
        return Gate(False, f"only {alive} of {size} voters keep up, a majority is {majority(size)}: {lags(late)}")
    if late and size % 2:
        return Gate(
            False, f"one more voter would make the majority {majority(size + 1)}, and not all keep up: {lags(late)}"
        )
    return Gate(True, f"{alive} of {size} voters keep up, controller {controller} is {found.lag} records behind")


def may_remove(quorum: QuorumSeen, controller: int, directory_id: str) -> Gate:
    """Open when the voters that remain are a majority that keeps up, of the voters before and of those after.

    One that is alive is let go only while all others keep up: it is needed else.
    """
    voters = _voters(quorum)
    found = _member(quorum, controller, directory_id)
    others = [v for v in voters if (v.id, v.directory_id) != (controller, directory_id)]
    if not others:
        return Gate(False, f"controller {controller} is the only voter")
    is_alive = found is not None and is_following(found)
    late = [v for v in others if not is_following(v) or (is_alive and v.silent_s >= STEADY_S)]
    up, after = len(others) - len(late), len(others)
    if up + is_alive < majority(len(voters)) or up < majority(after):
        return Gate(
            False, f"{up} of {after} other voters keep up, a majority of them is {majority(after)}: {lags(late)}"
        )
    if is_alive and late:
        return Gate(False, f"controller {controller} is needed, others are not caught up: {lags(late)}")
    return Gate(True, f"{up} of the {after} other voters keep up, a majority of them is {majority(after)}")


def majority(voters: int) -> int:
    """Votes that decide."""
    return voters // 2 + 1


def listed_enough(listed: Iterable[int], voters: Iterable[int]) -> bool:
    """Whether a list of controllers names one that is alive for as long as the quorum itself can be: more of the voters
    than may fail at once. A broker that has lost the leader asks only whom its list names (measured on 4.1.1).
    """
    now = frozenset(voters)
    return len(now & frozenset(listed)) > (len(now) - 1) // 2


def _loss(quorum: QuorumSeen, seat: Seat, directory_id: str) -> VoterStep:
    """Kafka lets a directory follow while another one of its id, stopped, has the vote (seen on 4.1.1)."""
    gate = may_remove(quorum, seat.id, directory_id)
    successor = _member(quorum, seat.id, seat.directory_id) if seat.swaps else None
    if seat.swaps and gate.open and (successor is None or not is_following(successor)):
        gate = Gate(False, f"controller {seat.id} is to follow from directory {seat.directory_id} first")
    return VoterStep(False, seat, directory_id, gate)


def _addition(quorum: QuorumSeen, missing: Sequence[Seat]) -> VoterStep:
    """The first that has caught up. Two that are to come are added one right after the other: an even quorum survives
    no more than the odd one below it, so it does not last."""
    steps = [VoterStep(True, s, s.directory_id, may_add(quorum, s.id, s.directory_id)) for s in missing]
    ready = [s for s in steps if s.gate.open]
    if not ready:
        return steps[0]
    if len(_voters(quorum)) % 2 and len(missing) > 1 and len(ready) < 2:
        late = next(s for s in steps if not s.gate.open)
        reason = f"two get their votes together, {ready[0].seat.id} is ready: {late.gate.reason}"
        return VoterStep(True, ready[0].seat, ready[0].directory_id, Gate(False, reason))
    return ready[0]


def _leaves_first(voter: VoterSeen, seat: Seat, leader: int) -> tuple[bool, bool, int, int]:
    return (is_following(voter), voter.id == leader, -seat.index, -seat.id)


def _voters(quorum: QuorumSeen) -> list[VoterSeen]:
    return [m for m in quorum.members if m.is_voter]


def _member(quorum: QuorumSeen, controller: int, directory_id: str) -> VoterSeen | None:
    return next((m for m in quorum.members if (m.id, m.directory_id) == (controller, directory_id)), None)
