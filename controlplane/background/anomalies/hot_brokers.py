"""What is found of hot brokers at a look at the metrics, and what may be done about them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from controlplane.background.anomalies.windows import Windows
from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.observed.hot_brokers import HotNoted, ListNoted
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.pacing import bandwidths
from planner.anomalies.cooling import Cooling, cooling
from planner.anomalies.hot import HotBroker, HotRule, hot_brokers, hot_suspects
from planner.anomalies.slow import BrokerWindow
from planner.observed import KafkaSnapshot, TopicPartition

SETTLES = timedelta(minutes=10)
"""How long after leaders were handed over a window has to end to tell what came of it: it began after that."""


def hot_in(
    view: ClusterView,
    recent: Sequence[BrokerWindow],
    windows: Windows,
    now: datetime,
    *,
    known: Collection[int],
    rule: HotRule,
) -> tuple[HotBroker, ...] | None:
    """The hot brokers of a cluster, None where no window says anything. The past is read of suspects alone."""
    limits = bandwidths(view)
    asked = hot_suspects(recent, limits, now, rule)
    past = windows.past(view.uid, sorted(asked), now) if asked else ()
    return hot_brokers(recent, past, limits, now, known=known, rule=rule)


def coolings_of(
    view: ClusterView,
    kafka: KafkaSnapshot | None,
    hot: Iterable[HotBroker],
    recent: Sequence[BrokerWindow],
    windows: Windows,
    now: datetime,
    *,
    rule: HotRule,
) -> Mapping[str, Cooling]:
    """By node, what others could lead of it. Of one that was helped since its last hot window nothing is known yet, and
    no second batch follows on old figures."""
    moved_at = view.topics.handed_over_at
    settled = [one for one in hot if moved_at is None or one.at - moved_at >= SETTLES]
    if not settled or kafka is None:
        return {}
    if is_shared(view):
        why = "others run a part of the cluster, so no list is changed"
        return {
            i.node: Cooling(i.service_id, why_not=why)
            for one in settled
            for i in view.brokers()
            if i.service_id == one.broker
        }
    nodes = {i.service_id: i.node for i in view.receivers()}
    demoted = {d.broker for d in view.requests.demotions.values()}
    loads = windows.loads(view.uid, now)
    takers = nodes.keys() - demoted - {one.broker for one in hot}
    found = {}
    for one in settled:
        figures = {w.broker: w.figures for w in recent if w.end == one.at}
        if one.broker in nodes:
            found[nodes[one.broker]] = cooling(kafka, one, figures, loads, bandwidths(view), takers, rule=rule)
    return found


def advice(
    view: ClusterView, kafka: KafkaSnapshot | None, cures: Mapping[str, Cooling], at: datetime
) -> Mapping[str, HotNoted]:
    """By node, what may be done; of one that nothing can be done about there is none."""
    found = {}
    for node, cure in cures.items():
        if cure.orders and kafka is not None:
            lists = tuple(ListNoted(*_named(n), kafka.by_name[n].replicas, after) for n, after in cure.orders.items())
            found[node] = HotNoted(at, cure.sentence, lists)
        elif spreads(view):
            found[node] = HotNoted(at, f"broker {cure.broker} is hot: {cure.why_not}", spread=True)
    return found


def spreads(view: ClusterView) -> bool:
    """Whether the spec has replicas spread anew without being asked."""
    return view.document is not None and view.document.spec.balance.continuous


def _named(name: TopicPartition) -> tuple[str, int]:
    return name.topic, name.partition
