"""What is asked of each finding before it is acted on, and why it is answered as it is: one row each.

    1. Does it get better by itself?        `recovers`: progress that says so, measured by the agent
    2. Do its peers have it too?            `sharing`: what is not done then
    3. Would the act cost more than it cures?   `harm`: what leaving it alone costs, against what the act takes away

`planner.cure_checks` answers them; docs/health.md has the table for people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from planner.breakdown import MISREGISTERED, BreakdownKind

CONTROLLER_STUCK = "controller_stuck"
TARGET_DEAD, RESTART_FAILED = "target_dead", "restart_failed"
"""What a new VM is counted as that others than its agent found necessary: moves wait for it, or no start brings it
back."""


class Sharing(StrEnum):
    """What is not done about a finding that half of the peers have."""

    NO_ACT = "no act"
    """Its cause is outside of the broker: no fresh process takes that away."""
    NO_NEW_VM = "no new VM"
    """It is inside each process, and a fresh one is rid of it for a while; a new VM would have it again."""
    NOTHING_WITHHELD = "nothing withheld"
    """It is each one's own, or its cause was looked for before."""


class ClientHarm(StrEnum):
    """What a broker that is left alone with it does to clients."""

    SERVES_NO_CLIENT = "serves nobody"
    """The act takes nothing away that anybody has."""
    ENDS = "ends"
    """It comes to an end by itself, at no time anybody chose and without an orderly stop: worse than a restart."""
    DEGRADED = "degraded"
    """It serves on; the act alone takes replicas away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How the questions are answered for one finding. `recovers`: names of progress, () where none could be."""

    recovers: tuple[str, ...] = ()
    unknown_waits: bool = False
    """Whether nothing is done while nobody knows if it gets better by itself."""
    behind: bool = False
    """Whether progress counts only while something is left to be done: a broker that follows advances for ever."""
    sharing: Sharing
    harm: ClientHarm
    by_itself: str
    peers: str
    cost: str


_METADATA = ("metadata", "partitions")
_START = ("recovery", *_METADATA)
_BACK = (*_START, "replicas")
_A_PROCESS_EACH = "each process has its own, and a fresh one is rid of it; a new VM of many would have it again"
_LOAD = "load of clients, or of the machines below, gives it to many at once: no restart takes that away"
_ENDS = "left alone it ends in a crash and a recovery of all its logs: a restart in order takes less away"
_SERVES_NO_CLIENT = "nobody is served by it: the act takes nothing away that is there"

ROWS: Mapping[str, Row] = MappingProxyType(
    {
        "deadlock": Row(
            sharing=Sharing.NO_NEW_VM,
            harm=ClientHarm.ENDS,
            by_itself="no: threads that wait for each other go on never, and the same ones were seen twice",
            peers=_A_PROCESS_EACH,
            cost="requests that reach these threads are never answered",
        ),
        "heap_full": Row(
            recovers=("heap",),
            sharing=Sharing.NO_NEW_VM,
            harm=ClientHarm.ENDS,
            by_itself="while collections leave less and less of the old generation in use",
            peers=_A_PROCESS_EACH,
            cost=_ENDS,
        ),
        "memory_leak": Row(
            sharing=Sharing.NO_NEW_VM,
            harm=ClientHarm.ENDS,
            by_itself="no: each third of the collections left more than the one before",
            peers=_A_PROCESS_EACH,
            cost=_ENDS,
        ),
        "gc_thrashing": Row(
            recovers=("collecting",),
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.ENDS,
            by_itself="while less of its time goes into collections than a minute before",
            peers=_LOAD,
            cost=_ENDS,
        ),
        "threads_exhausted": Row(
            recovers=("threads",),
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.ENDS,
            by_itself="while threads end faster than they begin",
            peers=_LOAD,
            cost=_ENDS,
        ),
        "descriptors_exhausted": Row(
            recovers=("descriptors",),
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.ENDS,
            by_itself="while files and connections are closed faster than opened",
            peers=_LOAD,
            cost=_ENDS,
        ),
        "log_cleaner_dead": Row(
            sharing=Sharing.NO_NEW_VM,
            harm=ClientHarm.DEGRADED,
            by_itself="no: a thread that ended is not started again",
            peers=_A_PROCESS_EACH,
            cost="compacted topics grow, for hours or days; the broker serves",
        ),
        "log_cleaner_gave_up": Row(
            recovers=("uncleanable",),
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.DEGRADED,
            by_itself="while partitions it gave up on become fewer",
            peers="replicas of one partition hold the same records: the cleaner of each stumbles over them again",
            cost="some compacted partitions grow; the broker serves",
        ),
        "metadata_lag": Row(
            recovers=_METADATA,
            unknown_waits=True,
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.DEGRADED,
            by_itself="while the offset it has applied advances, or it opens partitions or takes the lead of some",
            peers="controllers that are slow or away, or busy machines, let all of them lag",
            cost="it serves what it has; it applies all of it anew after a restart, with every partition it hosts",
        ),
        "metadata_errors": Row(
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.DEGRADED,
            by_itself="no: what was not applied is not tried again by this process",
            peers="a record that many cannot apply would not be applied by their next process, which may not come up",
            cost="what it believes is not what is; the broker serves",
        ),
        "wrong_identity": Row(
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.DEGRADED,
            by_itself="no: a process keeps its id and its release",
            peers="an image or an installation that many have is what is wrong",
            cost="it serves under another name or release",
        ),
        "zookeeper_session": Row(
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="over in the moment it connects: it has not for all of the time the finding lasts",
            peers="the ensemble, or the way to it",
            cost="for the others it is gone already",
        ),
        MISREGISTERED: Row(
            recovers=_START,
            behind=True,
            sharing=Sharing.NO_NEW_VM,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="while it opens logs or catches up with metadata: it is let in at the end of that",
            peers="half of the brokers at once are told alone (`_misregistered`); no new VM for what many had",
            cost=_SERVES_NO_CLIENT,
        ),
        CONTROLLER_STUCK: Row(
            sharing=Sharing.NOTHING_WITHHELD,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="over in the moment it writes: it has not for all of the time the finding lasts",
            peers="one controller alone is active; the gate asks that the others follow it and have its log",
            cost="nothing is decided in the cluster, and the others can lead at once",
        ),
        "log_dir_failed": Row(
            sharing=Sharing.NOTHING_WITHHELD,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="no: Kafka takes a directory that failed in again with no live process",
            peers="each disk is its own; one node at a time, and never what only this one has",
            cost="its replicas there are gone; the broker serves the others until it is drained",
        ),
        "directory_lost": Row(
            sharing=Sharing.NOTHING_WITHHELD,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="no: what was on it is not there",
            peers="each disk is its own; one node at a time, and never what only this one has",
            cost=_SERVES_NO_CLIENT,
        ),
        BreakdownKind.CRASH_LOOP.value: Row(
            sharing=Sharing.NOTHING_WITHHELD,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="each end begins anew; one that has run for 3 min since is on its way, and no loop any more",
            peers="asked before it becomes a finding to be cured (`planner.breakdown.why_left`)",
            cost=_SERVES_NO_CLIENT,
        ),
        BreakdownKind.UNREACHABLE.value: Row(
            sharing=Sharing.NOTHING_WITHHELD,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="over in the moment anybody hears it: nobody has for `healing.lostAfter`",
            peers="asked before it becomes a finding to be cured (`planner.breakdown.why_left`)",
            cost="nobody is served by it; its VM goes with proof alone",
        ),
        TARGET_DEAD: Row(
            recovers=_BACK,
            behind=True,
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="while it opens logs, or catches up with metadata or its replicas: it serves at the end of that",
            peers="half of the brokers away are a split, or what they share",
            cost=_SERVES_NO_CLIENT,
        ),
        RESTART_FAILED: Row(
            recovers=_BACK,
            behind=True,
            sharing=Sharing.NO_ACT,
            harm=ClientHarm.SERVES_NO_CLIENT,
            by_itself="while it opens logs, or catches up with metadata or its replicas: it serves at the end of that",
            peers="half of the brokers away are a split, or what they share",
            cost=_SERVES_NO_CLIENT,
        ),
    }
)
"""By finding, without what follows a colon. What is in no row is for a person: more brokers, more disk."""
