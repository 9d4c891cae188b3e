"""Steps of a pair as people read them, with the clusters they are about. Pure."""

from collections.abc import Mapping
from typing import Final

from events import failover_facts as facts

_OF_CLUSTER: Final[Mapping[type, str]] = {
    facts.DoorCloseRequested: "the door of {} is to be closed",
    facts.DoorClosed: "the door of {} is proved shut",
    facts.PromotionRequested: "the door of {} is to be opened, behind which nothing is aborted",
    facts.DoorOpened: "the door of {} is open",
}
_TO_CLUSTER: Final[Mapping[type, str]] = {
    facts.NamesFlipRequested: "the pair's name is to lead to {}",
    facts.NamesFlipped: "the pair's name leads to {}",
}
_OTHERS: Final[Mapping[type, str]] = {
    facts.CopyRequested: "the standby is to be copied to",
    facts.ReplicatorPlaced: "a VM of the standby is to copy, or another one than before",
    facts.StandbySeeded: "the standby is what it has to be",
    facts.StandbyReady: "the standby is ready to take over",
    facts.PairDrained: "the standby has every record",
    facts.OffsetsAlignRequested: "offsets of groups are to be set on the standby",
    facts.OffsetsAligned: "offsets of groups are on the standby",
    facts.ReplicatorStopRequested: "the replicator is to end",
    facts.ReplicatorStopped: "the replicator has ended",
    facts.PairPromoted: "the standby is the primary",
    facts.DivergenceJudged: "it is written down which records the old primary alone has",
    facts.FailoverAbortRequested: "the failover is to be aborted",
    facts.FailoverAborted: "all is as before the failover",
    facts.EpochsMissed: "a VM keeps an order that the events lack: the pair is to stand still",
}


def step_words(fact: object, names: Mapping[str, str]) -> str:
    """What an event of `steps.next_step` says. `names`: of clusters, by uid. Raises KeyError for another event."""
    match fact:
        case (
            facts.DoorCloseRequested(cluster=uid)
            | facts.DoorClosed(cluster=uid)
            | facts.PromotionRequested(cluster=uid)
            | facts.DoorOpened(cluster=uid)
        ):
            return _OF_CLUSTER[type(fact)].format(names.get(uid, uid))
        case facts.NamesFlipRequested(to=uid) | facts.NamesFlipped(to=uid):
            return _TO_CLUSTER[type(fact)].format(names.get(uid, uid))
        case _:
            return _OTHERS[type(fact)]
