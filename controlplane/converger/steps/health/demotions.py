"""Brokers that are to lead nothing, as they are slow or a person said so, and those that may lead again.

    broker(s).demote_requested -> lists reordered, some at a time -> broker.demoted ... -> demotion_ended -> promoted

Only the order of replica lists changes; `housekeeping_step` then asks Kafka for the preferred leaders. Read off the
metadata at each look: a list that Kafka or a person makes with the broker in front is put right at the next one.
A person's word is about the node: it passes on to the next VM of it, whatever its broker's id.
"""

from itertools import islice

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.decision import Decision, act, record
from controlplane.converger.situation.effects import Reassign
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.demotion import Orders, demoted_orders, restored_orders
from planner.observed import KafkaSnapshot

AT_A_TIME = 200
"""Lists reordered in one step: each is a record in the metadata log, and an election after it."""


def demotion_step(situation: Situation) -> Decision | None:
    """The next lists to reorder, or the end of it. None where nobody is demoted or Kafka cannot be read."""
    view = situation.view
    if not view.requests.demotions:
        return None
    for gone in sorted(k for k in view.requests.demotions if _is_gone(view, k)):
        decision = _of_gone(view, gone)
        if decision is not None:
            return decision
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return None
    slow = {d.broker: k for k, d in view.requests.demotions.items() if not d.ended and not _is_gone(view, k)}
    return _taken_off(view, kafka, slow) or _given_back(view, kafka, slow)


def _of_gone(view: ClusterView, key: str) -> Decision | None:
    """A demotion ends with its VM, but for a person's: that passes on to the next one of the node, and waits for it."""
    demotion = view.requests.demotions[key]
    node = view.instances[key].node if key in view.instances else key.rpartition(".")[0]
    later = [i for i in view.of_node(node) if i.key != key and not i.lost]
    if not demotion.by_person or demotion.ended or (not later and node not in view.nodes()):
        return record(f"{key} is gone, and its demotion with it", facts.BrokerPromoted(key))
    joined = next((i for i in later if i.phase is Phase.JOINED), None)
    if joined is None:
        return None
    passed = facts.DemoteRequested(joined.key, joined.service_id, demotion.reason, by_person=True)
    return record(f"{joined.key} leads nothing, as {key} did not before it", passed, facts.BrokerPromoted(key))


def _is_gone(view: ClusterView, key: str) -> bool:
    instance = view.instances.get(key)
    return instance is None or instance.lost or instance.phase is not Phase.JOINED


def _taken_off(view: ClusterView, kafka: KafkaSnapshot, slow: dict[int, str]) -> Decision | None:
    if not slow:
        return None
    orders, left = demoted_orders(kafka, slow)
    if orders:
        names = ", ".join(sorted(slow.values()))
        return _reordered(f"taking leadership of {len(orders)} partitions off {names}", orders)
    # Leaders follow the lists by `housekeeping_step`, which is above this one: there is nothing left for it to do.
    fresh = sorted(k for k in slow.values() if view.requests.demotions[k].done_at is None)
    if not fresh:
        return None
    return record(f"{', '.join(fresh)} leads nothing any more", *(facts.BrokerDemoted(k, left) for k in fresh))


def _given_back(view: ClusterView, kafka: KafkaSnapshot, slow: dict[int, str]) -> Decision | None:
    ended = sorted(k for k, d in view.requests.demotions.items() if d.ended)
    if not ended:
        return None
    key, demotion = ended[0], view.requests.demotions[ended[0]]
    orders = restored_orders(kafka, demotion.broker, avoid=slow)
    if orders:
        return _reordered(f"giving {key} the leadership of {len(orders)} partitions back ({demotion.ended})", orders)
    return record(f"{key} has its share of leaders again", facts.BrokerPromoted(key))


def _reordered(sentence: str, orders: Orders) -> Decision:
    batch = dict(islice(sorted(orders.items()), AT_A_TIME))
    return act(sentence, Reassign(batch))
