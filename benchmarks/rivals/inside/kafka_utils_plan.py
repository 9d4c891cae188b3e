"""Runs Yelp's kafka-utils offline: `kafka_utils_plan.py count|genetic STATE.json PLAN.json`.

A program of the rivals' environment: it imports kafka-utils and the standard library only. Both of the tool's
balancers decommission the brokers that leave, with its own defaults and no limit on movements.
"""

import json
import random
import sys
import time
from argparse import Namespace

from kafka_utils.kafka_cluster_manager.cluster_info.cluster_topology import ClusterTopology  # type: ignore[import-not-found]
from kafka_utils.kafka_cluster_manager.cluster_info.genetic_balancer import GeneticBalancer  # type: ignore[import-not-found]
from kafka_utils.kafka_cluster_manager.cluster_info.partition_count_balancer import PartitionCountBalancer  # type: ignore[import-not-found]
from kafka_utils.kafka_cluster_manager.cluster_info.partition_measurer import PartitionMeasurer  # type: ignore[import-not-found]


class Sizes(PartitionMeasurer):  # type: ignore[misc]
    """Weight and size of a partition from the state file."""

    def __init__(self, sizes: dict[tuple[str, int], int]) -> None:
        self.sizes = sizes

    def get_weight(self, partition_name: tuple[str, int]) -> float:
        return self.sizes[partition_name]

    def get_size(self, partition_name: tuple[str, int]) -> float:
        return self.sizes[partition_name]


def main(mode: str, state_path: str, plan_path: str) -> None:
    random.seed(1)
    with open(state_path, encoding="utf-8") as file:
        state = json.load(file)
    leaving = [b["id"] for b in state["brokers"] if b["state"] in ("outgoing", "dead")]
    racks = {b["id"]: b["rack"] for b in state["brokers"]}
    assignment = {(p["topic"], p["partition"]): list(p["replicas"]) for p in state["partitions"]}
    sizes = {(p["topic"], p["partition"]): max(1, p["size_bytes"]) for p in state["partitions"]}
    started = time.perf_counter()
    topology = ClusterTopology(
        assignment, {b: {"host": f"broker{b}"} for b in racks}, Sizes(sizes), lambda broker: racks[broker.id]
    )
    balancer = GeneticBalancer if mode == "genetic" else PartitionCountBalancer
    balancer(topology, Namespace()).decommission_brokers(leaving)
    after = topology.assignment
    seconds = time.perf_counter() - started
    answer = [{"topic": t, "partition": p, "replicas": list(replicas)} for (t, p), replicas in after.items()]
    with open(plan_path, "w", encoding="utf-8") as file:
        json.dump({"seconds": seconds, "partitions": answer}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
