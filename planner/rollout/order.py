"""Who goes next. A priority ladder over the changes of a cluster, with ties broken by name.

    what is lost > what is missing > lost and surplus > outdated brokers, one rack at a time >
    outdated controllers, one at a time, the quorum's leader last > what is surplus, all in one drain >
    what only has to be started anew, one at a time in the same order (`restart_order`)

In ZooKeeper mode a broker is the active controller: it goes last of all brokers, so that one election is enough.
Brokers go before controllers: that order was run on real clusters (4.1 -> 4.2), and a broker needs no new controller.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change, NodeChange


@dataclass(frozen=True, slots=True)
class Work:
    """The next piece of work: all nodes of it are treated together."""

    change: Change
    nodes: tuple[NodeChange, ...]
    reason: str


def who_leads(kafka: KafkaSnapshot | None) -> frozenset[int]:
    """Ids of the quorum's leader and, in ZooKeeper mode, of the broker that is the active controller; -1 for nobody."""
    return frozenset({kafka.quorum.leader, kafka.controller}) if kafka is not None else frozenset()


def next_work(changes: Sequence[NodeChange], *, surge: int, leaders: Collection[int]) -> Work | None:
    """The next piece of work, None when every node is kept.

    `surge` is how many brokers of one rack may be replaced together; `leaders` those of `who_leads`.
    """
    lost = [c for c in changes if c.change is Change.REPLACE and c.incumbent and c.incumbent.to_mend]
    missing = [c for c in changes if c.change is Change.CREATE]
    if missing and not lost:
        return Work(Change.CREATE, tuple(missing), f"{len(missing)} nodes of the spec do not exist yet")
    left_behind = [c for c in changes if c.change is Change.REMOVE and c.incumbent and c.incumbent.lost]
    if left_behind and not lost:
        gone = _of_one_kind(left_behind)
        return Work(Change.REMOVE, gone, f"{len(gone)} surplus nodes have lost their VM")
    outdated = sorted((c for c in changes if c.change is Change.REPLACE), key=lambda c: _urgency(c, leaders))
    if outdated:
        group = _group(outdated, surge, leaders)
        return Work(Change.REPLACE, group, "; ".join(c.reason for c in group))
    surplus = [c for c in changes if c.change is Change.REMOVE]
    if surplus:
        # Emptying is copying: it takes nothing from any ISR, so all surplus brokers are emptied in one plan.
        newest_first = sorted(surplus, key=lambda c: -(c.incumbent.service_id if c.incumbent else 0))
        leaving = _of_one_kind(newest_first)
        return Work(Change.REMOVE, leaving, f"{len(leaving)} nodes are not in the spec any more")
    return None


def restart_order(changes: Sequence[NodeChange], *, leaders: Collection[int]) -> tuple[NodeChange, ...]:
    """Services to start anew where they are, one after the other: brokers rack by rack, then controllers, those of
    `leaders` (`who_leads`) last of their kind.

    Controllers check what brokers pass on to them of clients. So who is to have more rights gets them of controllers
    first, and who is to have less loses them of brokers first: nothing a broker lets in is refused behind it.
    """
    restarts = [c for c in changes if c.change is Change.RESTART]
    brokers_last = any(c.gives_rights and c.service == "controller" for c in restarts)

    def turn(change: NodeChange) -> tuple[bool, tuple[bool, bool, bool, str, str]]:
        return brokers_last and change.service == "broker", _urgency(change, leaders)

    return tuple(sorted(restarts, key=turn))


def first_nodes(work: Work, count: int) -> Work:
    """As much of the work as `count` nodes (at least 1) of it, in its order."""
    if len(work.nodes) <= count:
        return work
    few = work.nodes[:count]
    return Work(work.change, few, "; ".join(c.reason for c in few))


def _of_one_kind(surplus: Sequence[NodeChange]) -> tuple[NodeChange, ...]:
    """All brokers, or else all controllers: those leave the quorum one by one, nothing of them is copied."""
    brokers = tuple(c for c in surplus if c.service == "broker")
    return brokers or tuple(surplus)


def _urgency(change: NodeChange, leaders: Collection[int]) -> tuple[bool, bool, bool, str, str]:
    lost = change.incumbent is not None and change.incumbent.to_mend
    return (not lost, change.service != "broker", _leads(change, leaders), change.rack, change.node)


def _leads(change: NodeChange, leaders: Collection[int]) -> bool:
    return change.incumbent is not None and change.service_id in leaders


def _group(outdated: Sequence[NodeChange], surge: int, leaders: Collection[int]) -> tuple[NodeChange, ...]:
    first = outdated[0]
    if first.service != "broker" or first.has_member or _leads(first, leaders):
        return (first,)
    same_rack = [c for c in outdated if c.service == "broker" and c.rack == first.rack and not _leads(c, leaders)]
    return tuple([c for c in same_rack if not c.has_member][: max(1, surge)])
