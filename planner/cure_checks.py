"""Why a finding is not acted on, by the three questions of `planner.cure_table`. Pure.

A cure takes something away: a restart, for as long as the broker starts, every replica on it; a new VM, the traffic of
a copy of all of them. It must not make worse what it finds. Unknown is not dead: where a row says so, nothing is done
while nobody can tell.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.cure_table import ROWS, ClientHarm, Row, Sharing

SHARED_BY = 2
"""Half of the peers, and at least so many, with the same finding have a cause in common."""

SOON_S = 600.0
"""What recedes at a rate that takes longer than this to end does not count as getting better by itself."""

FEW_RECORDS = 100.0
"""A broker less far behind in metadata follows: what it advances by is what the controllers write."""

START_S, START_S_PER_PARTITION = 30.0, 0.03
"""How long a broker is away for a restart: for its stop and start, and for each partition it hosts."""

LONG_S = 300.0
"""For how long partitions may be at their min ISR before people are told (`AtMinIsr`): an act that takes as long for
the sake of a broker that serves costs more than it cures."""


class Question(StrEnum):
    """Which question was answered against the act. The values are reasons of the condition `Ailing`."""

    RECOVERING = "Recovering"
    NOT_KNOWN = "NotKnown"
    SHARED = "SharedCause"
    COSTLY = "TooCostly"


@dataclass(frozen=True, slots=True)
class ServiceProgress:
    """What came on by how much in `over_s` seconds. `left` of it, `closer` by how much less than before; `position` is
    where it is now. None is not known."""

    over_s: float
    advanced: float
    left: float | None = None
    closer: float | None = None
    position: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a service beside its finding."""

    progress: Mapping[str, ServiceProgress] = field(default_factory=dict)
    """By name; what is not in it is not known."""
    log_end: float | None = None
    """The furthest end of the metadata log that anybody else has; None where nobody was heard of it."""
    unheard: frozenset[str] = frozenset()
    """Nodes of its peers whose agents are silent."""
    hosted: int | None = None
    """Partitions on it; None where Kafka's metadata is not known."""
    thinned: int = 0
    """Those of them that are at their min ISR without it."""


NOTHING_KNOWN = Evidence()


@dataclass(frozen=True, slots=True)
class NoAct:
    """Why nothing is done: which question, and the answer in words."""

    question: Question
    words: str


def why_no_act(
    finding: str, is_restart: bool, node: str, have: Collection[str], peers: Collection[str], evidence: Evidence
) -> NoAct | None:
    """The first answer against acting on that finding of that node; None where nothing speaks against it.

    `have` are the nodes that have it now, `peers` those that do the same as it does; the node itself may be among both.
    """
    row = ROWS[finding]
    return (
        _by_itself(finding, row, evidence)
        or _by_peers(row, node, frozenset(have), frozenset(peers), evidence)
        or (_by_cost(row, evidence) if is_restart else None)
    )


def recovery_words(finding: str, evidence: Evidence) -> str:
    """How that finding gets better by itself; "" where it does not, or nobody knows."""
    row = ROWS[finding]
    advances = (_advances(row, name, evidence) for name in row.recovers)
    return next((words for words in advances if words), "")


def is_shared(have: Collection[str], peers: Collection[str]) -> bool:
    """Whether so many have it that what they share is the cause."""
    together = len(frozenset(have) & frozenset(peers))
    return together >= SHARED_BY and 2 * together >= len(peers)


def _by_itself(finding: str, row: Row, evidence: Evidence) -> NoAct | None:
    if words := recovery_words(finding, evidence):
        return NoAct(Question.RECOVERING, f"{words}: it gets better by itself")
    if not row.unknown_waits:
        return None
    unknown = [name for name in row.recovers if name not in evidence.progress]
    if unknown:
        return NoAct(Question.NOT_KNOWN, f"whether it gets better by itself is not known yet ({_what(unknown[0])})")
    behind = _behind(evidence)
    if behind is not None and behind < 1:
        words = "it has applied all that anybody has heard from the controllers: the cause is not this broker"
        return NoAct(Question.SHARED, words)
    return None


def _behind(evidence: Evidence) -> float | None:
    """Metadata records that it has not applied, by its own log and by that of others."""
    metadata = evidence.progress.get("metadata")
    if metadata is None:
        return None
    by_others = None
    if metadata.position is not None and evidence.log_end is not None:
        by_others = evidence.log_end - metadata.position
    known = [records for records in (metadata.left, by_others) if records is not None]
    return max(known) if known else None


def _advances(row: Row, name: str, evidence: Evidence) -> str:
    """In words, with the rate and what is left; "" where it does not, or not soon enough to count."""
    seen = evidence.progress.get(name)
    if seen is None or seen.advanced <= 0:
        return ""
    unit, soon = _UNITS[name]
    left = _behind(evidence) if name == "metadata" else seen.left
    if row.behind and not _is_behind(name, seen, evidence):
        return ""
    closer = seen.closer if seen.closer is not None else 0.0
    left_s = left * seen.over_s / closer if left is not None and closer > 0 else None
    if soon and (left_s is None or left_s > SOON_S):
        return ""
    about = "" if left_s is None else f", about {max(1, round(left_s / 60))} min left"
    return f"{unit.format(_figure(seen.advanced * 60 / seen.over_s))}{about}"


def _is_behind(name: str, seen: ServiceProgress, evidence: Evidence) -> bool:
    """Whether something is left of what it comes on with: one that follows comes on for ever."""
    if name in ("metadata", "partitions"):
        return (_behind(evidence) or 0.0) >= FEW_RECORDS
    return seen.left is None or seen.left > 0


_UNITS: Mapping[str, tuple[str, bool]] = {
    "metadata": ("it advances {} metadata offsets a minute", False),
    "partitions": ("it opens or closes {} partitions a minute, or changes what it leads", False),
    "recovery": ("it opens {} logs a minute", False),
    "replicas": ("its replica that is furthest behind comes {} records closer a minute", False),
    "heap": ("collections leave {} bytes less in use each minute", True),
    "collecting": ("the share of its time that goes into collections falls by {} a minute", True),
    "threads": ("{} threads more end than begin each minute", True),
    "descriptors": ("{} files more are closed than opened each minute", True),
    "uncleanable": ("the cleaner has given up on {} partitions fewer each minute", True),
}
"""In words, and whether it counts only where it ends soon: a number that falls by chance is no recovery."""


def _what(name: str) -> str:
    return {"metadata": "the offset it has applied", "partitions": "the partitions it opens"}.get(name, name)


def _figure(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _by_peers(row: Row, node: str, having: frozenset[str], peers: frozenset[str], evidence: Evidence) -> NoAct | None:
    if row.sharing is not Sharing.NO_ACT:
        return None
    others, have = peers - {node}, (having & peers) - {node}
    if is_shared(have | {node}, peers | {node}):
        words = f"{len(have)} of {len(others)} peers have it too: the cause is not this broker"
        return NoAct(Question.SHARED, words)
    silent = (evidence.unheard & others) - have
    if is_shared(have | silent | {node}, peers | {node}):
        words = f"whether its peers have it too is not known: {', '.join(sorted(silent)[:3])} not heard"
        return NoAct(Question.NOT_KNOWN, words)
    return None


def _by_cost(row: Row, evidence: Evidence) -> NoAct | None:
    if row.harm is not ClientHarm.DEGRADED or not evidence.thinned or evidence.hosted is None:
        return None
    takes_s = START_S + START_S_PER_PARTITION * evidence.hosted
    if takes_s <= LONG_S:
        return None
    words = (
        f"it serves, and its restart with {evidence.hosted:,} partitions takes about {takes_s / 60:.0f} min, in which "
        f"{evidence.thinned:,} would be at their min ISR: that costs more than it cures"
    )
    return NoAct(Question.COSTLY, words)
