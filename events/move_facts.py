"""What was done about moves that hang, and what people asked about moves of others: part of a cluster's stream, see
`facts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.registry import fact


@fact("move_cure.requested", schema=1)
@dataclass(frozen=True, slots=True)
class MoveCureRequested:
    """Moves of ours that hang get a cure: `raise_throttle` (to `follower_rates` and `leader_rates`, bytes/s by broker,
    for the drain, or other batch, in hand), `take_back` (these partitions return to their replicas before),
    `restart_controller` (`key`, whose restart is recorded beside it) or, in ZooKeeper mode, `reelect_controller` (whose
    is recorded beside it). `diagnosis` is the kind of trouble, `reason` its words with numbers, `brokers` whom these
    moves wait for (none before that was recorded). `batch` is the rebalance, or the batch of replicas, where they are
    no drain's: `drain` is "" then.
    """

    drain: str
    cure: str
    diagnosis: str
    partitions: tuple[str, ...]
    reason: str
    key: str = ""
    follower_rates: Mapping[str, int] = field(default_factory=dict)
    leader_rates: Mapping[str, int] = field(default_factory=dict)
    brokers: tuple[int, ...] = ()
    batch: str = ""


@fact("election_cure.requested", schema=1)
@dataclass(frozen=True, slots=True)
class ElectionCureRequested:
    """Leaders that `partitions` of the cluster are without, or not at home with, whatever is asked, get another
    controller: `cure` is `restart_controller` (`key`, whose restart is recorded beside it) or, in ZooKeeper mode,
    `reelect_controller`. `reason` has an example, and numbers. It counts with the cures of moves."""

    cure: str
    diagnosis: str
    partitions: int
    reason: str
    key: str = ""


@fact("controller_election.requested", schema=1)
@dataclass(frozen=True, slots=True)
class ControllerElectionRequested:
    """ZooKeeper mode: the brokers are to elect a controller in place of this one, a broker; `epoch` is of the election
    it won, so that no later controller is meant. Recorded beside the cure it is."""

    controller: int
    epoch: int
    reason: str


@fact("moves.cancel_requested", schema=1)
@dataclass(frozen=True, slots=True)
class MovesCancelRequested:
    """A person wants these moves (`topic-partition`), which are nobody's of Kedge, taken back."""

    partitions: tuple[str, ...]
    reason: str


@fact("moves.adopted", schema=1)
@dataclass(frozen=True, slots=True)
class MovesAdopted:
    """A person knows these moves of others: they are waited for and not told any more."""

    partitions: tuple[str, ...]
    reason: str


@fact("moves.settled", schema=1)
@dataclass(frozen=True, slots=True)
class MovesSettled:
    """Moves that were adopted, or to be cancelled, do not run any more."""

    partitions: tuple[str, ...]
