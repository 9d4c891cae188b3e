"""Runs LinkedIn's kafka-tools offline: `kafka_tools_plan.py remove|rackaware STATE.json PLAN.json`.

A program of the rivals' environment: it imports kafka-tools and the standard library only. `remove` is the tool's way
of emptying brokers; `rackaware` runs the tool's rack balancer over the brokers that stay, after that.
"""

import json
import random
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from kafka.tools.assigner.actions.balancemodules.rackaware import ActionBalanceRackAware
from kafka.tools.assigner.actions.remove import ActionRemove
from kafka.tools.models.broker import Broker
from kafka.tools.models.cluster import Cluster
from kafka.tools.models.topic import Topic


def main(mode: str, state_path: str, plan_path: str) -> None:
    random.seed(1)
    with open(state_path, encoding="utf-8") as file:
        state = json.load(file)
    leaving = [b["id"] for b in state["brokers"] if b["state"] in ("outgoing", "dead")]
    fresh = [b["id"] for b in state["brokers"] if b["state"] == "new"]
    lists = {(p["topic"], p["partition"]): p["replicas"] for p in state["partitions"]}
    started = time.perf_counter()
    cluster = build(state, lists, without=())
    remove = Namespace(brokers=leaving, to_brokers=fresh, exclude_topics=[])
    ActionRemove(remove, cluster).process_cluster()
    lists = read(cluster)
    if mode == "rackaware":
        cluster = build(state, lists, without=leaving)
        ActionBalanceRackAware(Namespace(exclude_topics=[]), cluster).process_cluster()
        lists = read(cluster)
    seconds = time.perf_counter() - started
    answer = [{"topic": t, "partition": p, "replicas": replicas} for (t, p), replicas in lists.items()]
    with open(plan_path, "w", encoding="utf-8") as file:
        json.dump({"seconds": seconds, "partitions": answer}, file)


Lists = dict[tuple[str, int], list[int]]


def build(state: Any, lists: Lists, without: Sequence[int]) -> Any:
    cluster = Cluster(retention=1)
    for entry in state["brokers"]:
        if entry["id"] not in without:
            broker = Broker(f"broker{entry['id']}", id=entry["id"])
            broker.rack = entry["rack"]
            cluster.add_broker(broker)
    counts: dict[str, int] = {}
    for topic, _ in lists:
        counts[topic] = counts.get(topic, 0) + 1
    for topic, count in counts.items():
        cluster.add_topic(Topic(topic, count))
    for entry in state["partitions"]:
        partition = cluster.topics[entry["topic"]].partitions[entry["partition"]]
        partition.set_size(entry["size_bytes"])
        for broker_id in lists[entry["topic"], entry["partition"]]:
            partition.add_replica(cluster.brokers[broker_id])
    return cluster


def read(cluster: Any) -> Lists:
    return {(p.topic.name, p.num): [b.id for b in p.replicas] for p in cluster.partitions()}


if __name__ == "__main__":
    main(*sys.argv[1:])
