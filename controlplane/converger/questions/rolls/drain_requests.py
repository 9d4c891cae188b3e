"""The intents to empty brokers: ours, or those that others run. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import DrainView
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import derived_id
from planner.drain.plan import Move


def request_drain(
    situation: Situation,
    keys: Sequence[str],
    successors: Mapping[int, int],
    *,
    round_number: int,
    reason: str,
    done: Sequence[Move] = (),
    stays: bool = False,
) -> facts.DrainRequested:
    """The intent to empty these instances; targets are all brokers that stay and are not kept empty. `done`: moves of
    the round before; `stays`: they do not leave once they are empty, and a person may have chosen the targets."""
    view = situation.view
    outgoing = tuple(view.instances[k].service_id for k in keys)
    leaving = set(outgoing)
    chosen = view.requests.evacuations[keys[0]].targets if stays else ()
    there = (i.service_id for i in view.receivers() if not chosen or i.service_id in chosen)
    targets = tuple(sorted(broker for broker in there if broker not in leaving))
    pairs = successors if _one_of_each_node(view, keys) else {}
    return replace(
        _requested(view, outgoing, targets, round_number=round_number, reason=reason, done=done),
        keys=tuple(keys),
        # One that is to be kept empty takes nothing.
        successors={str(old): new for old, new in pairs.items() if new in targets},
        stays=stays,
    )


def request_external_drain(
    view: ClusterView, brokers: Sequence[int], *, round_number: int, reason: str, done: Sequence[Move] = ()
) -> facts.DrainRequested:
    """The intent to empty brokers that others run onto ours. It has no keys: they are no instances, and what ends it
    is `ExternalDrained`."""
    targets = sorted(i.service_id for i in view.receivers())
    return _requested(view, brokers, targets, round_number=round_number, reason=reason, done=done)


def requested_again(
    situation: Situation, drain: DrainView, *, round_number: int, reason: str, done: Sequence[Move] = ()
) -> facts.DrainRequested:
    """The same drain once more, on what is left."""
    if not drain.keys:
        return request_external_drain(
            situation.view, drain.outgoing, round_number=round_number, reason=reason, done=done
        )
    return request_drain(
        situation,
        drain.keys,
        drain.successors,
        round_number=round_number,
        reason=reason,
        done=done,
        stays=drain.stays,
    )


def _one_of_each_node(view: ClusterView, keys: Sequence[str]) -> bool:
    """Where several of a node are emptied together, its next one is no successor of one of them alone, and a partition
    may have replicas on both, and on others: what all of them have goes to whoever has room."""
    nodes = [view.instances[key].node for key in keys]
    return len(set(nodes)) == len(nodes)


def _requested(
    view: ClusterView,
    outgoing: Sequence[int],
    targets: Sequence[int],
    *,
    round_number: int,
    reason: str,
    done: Sequence[Move],
) -> facts.DrainRequested:
    return facts.DrainRequested(
        drain=derived_id("drain", view.uid, str(view.moves.drains + 1)),
        keys=(),
        outgoing=tuple(outgoing),
        successors={},
        targets=tuple(targets),
        round=round_number,
        reason=reason,
        done_bytes=sum(m.bytes for m in done) + (view.moves.drain.progress.done_bytes if view.moves.drain else 0),
        done_moves=len(done) + (view.moves.drain.progress.done_moves if view.moves.drain else 0),
    )
