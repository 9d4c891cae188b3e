"""`python -m benchmarks failover [--warm] [--topics N] [--size N] [--grown N]`: a pair of real clusters on the local
cloud.

Cold: from a person's yes to the first record that is acknowledged, and the first that is read, on a standby that grew
and got its topics meanwhile. Then the planned way back, both clusters being there: the pause of a producer that runs
all the time. Warm: there and back by plan, and then the primary's VMs lose their power under a producer: what it was
promised and is nowhere, and what was told before a person said yes. Doors, agents, Terraform, brokers and BIND are
real; clients are in a network of their own. As root.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from confluent_kafka import Consumer, Producer

from controlplane.api.schemas import failovers as api
from controlplane.kafka.audit import record
from providers.local.namespaces import inside
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.pair_of_clusters import (
    EU,
    PAIR,
    TOPIC,
    US,
    MovingClient,
    Pair,
    a_pair,
    moving_client,
    pair_document,
    topic_documents,
    warm_document,
)
from tests.fakes.bind import running_bind

PARTITIONS = 6


def main(arguments: Sequence[str] = ()) -> dict[str, object]:
    """Figures in seconds; `lost` counts acknowledged records that are on neither cluster."""
    asked = _asked(arguments)
    names = [TOPIC, *(f"topic-{n}" for n in range(1, asked.topics))]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bind").mkdir()
        with (
            running_bind(Path(folder) / "bind") as bind,
            a_pair(Path(folder) / "home", bind, eu=_spec(EU, asked.grown), us=_spec(US, asked.size)) as pair,
        ):
            pair.apply(*topic_documents(*names, partitions=PARTITIONS, replicas=2))
            pair.has_topics(*names)
            if asked.warm:
                found = _warm(pair)
            else:
                pair.apply(pair_document(size=asked.size))
                pair.until_state("Standby")
                found = {"cold": _cold(pair), "planned_back": _back(pair)}
    return {
        "topics": asked.topics,
        "partitions": asked.topics * PARTITIONS,
        "brokers": [asked.size, asked.grown],
        **found,
    }


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks failover")
    parser.add_argument("--warm", action="store_true", help="records are copied all the time")
    parser.add_argument("--topics", type=int, default=200, help="of the primary, six partitions each")
    parser.add_argument("--size", type=int, default=3, help="brokers of the standby while it waits")
    parser.add_argument("--grown", type=int, default=6, help="brokers of the primary, and of the standby in the end")
    return parser.parse_args(arguments)


def _spec(name: str, brokers: int) -> ClusterSpec:
    """Spread over three pools."""
    spec = ClusterSpec(name=name)
    sizes = {pool: brokers // 3 + (n < brokers % 3) for n, pool in enumerate(spec.sizes)}
    return replace(spec, sizes=sizes)


def _cold(pair: Pair) -> dict[str, float]:
    at = pair.order()
    ready_s = promoted_s = 0.0
    while not promoted_s:
        state = pair.state()
        ready_s = ready_s or (time.monotonic() - at if state.state not in ("Standby", "Preparing") else 0.0)
        promoted_s = time.monotonic() - at if state.primary == US else 0.0
        time.sleep(0.1)
    servers = ",".join(pair.brokers(US))
    inside(pair.machine, partial(_produced, servers))
    acknowledged_s = time.monotonic() - at
    inside(pair.machine, partial(_consumed, servers))
    figures = {
        "standby_ready_s": ready_s,
        "promoted_s": promoted_s,
        "acknowledged_s": acknowledged_s,
        "consumed_s": time.monotonic() - at,
    }
    return {name: round(value, 1) for name, value in figures.items()}


def _produced(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})
    producer.produce(TOPIC, record((9, 0), 200))
    if producer.flush(60):
        raise RuntimeError("the standby acknowledges nothing")


def _consumed(servers: str) -> None:
    config = {"bootstrap.servers": servers, "group.id": "after-the-failover", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "log_level": 0})
    consumer.subscribe([TOPIC])
    until = time.monotonic() + 60
    try:
        while time.monotonic() < until:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                return
        raise RuntimeError("nothing can be read on the standby")
    finally:
        consumer.close()


def _back(pair: Pair) -> dict[str, object]:
    pair.until_state("Standby", primary=US)
    with moving_client(pair) as client:
        at = pair.order()
        pair.until_state("Standby", primary=EU, within_s=180)
        promoted_s = time.monotonic() - at
        pair.living.until(lambda: client.acked[-1][0] > at + promoted_s or None, "records there", timeout_s=60)
    kept = pair.names(EU) | pair.names(US)
    return {
        "done_s": round(promoted_s, 1),
        "producer_pause_s": round(client.pause_after(at), 1),
        "acknowledged": len(client.acked),
        "lost": sum(1 for _, name in client.acked if name not in kept),
        "restarts_of_the_client": len(client.restarts),
    }


def _warm(pair: Pair) -> dict[str, object]:
    began = time.monotonic()
    pair.apply(warm_document())
    pair.until_state("Standby", within_s=300)
    seeded_s = time.monotonic() - began
    with moving_client(pair) as client:
        ways = [_led_over(pair, client, to) for to in (US, EU)]
    pair.until_copied()
    kept = pair.names(EU)
    lost = sum(1 for _, name in client.acked if name not in kept)
    return {
        "seeded_s": round(seeded_s, 1),
        "planned": ways,
        "planned_acknowledged": len(client.acked),
        "planned_lost": lost,
        "records_that_differ_after_both_ways": len(kept ^ pair.names(US)),
        "killed": _killed(pair),
    }


def _led_over(pair: Pair, client: MovingClient, to: str) -> dict[str, object]:
    at, restarts = pair.order(), len(client.restarts)
    pair.until_state("Reversing", "Seeding", "Standby", primary=to, within_s=180)
    promoted_s = time.monotonic() - at
    client.is_taken_now(pair.living)
    pause_s = client.pause_after(at)
    pair.until_state("Standby", primary=to, within_s=300)
    return {
        "to": to,
        "promoted_s": round(promoted_s, 1),
        "producer_pause_s": round(pause_s, 1),
        "restarts_of_the_client": len(client.restarts) - restarts,
        "copied_back_s": round(time.monotonic() - at - promoted_s, 1),
    }


def _killed(pair: Pair) -> dict[str, object]:
    """Its VMs lose their power; a person says yes at once, and that they are gone: of whole racks nobody is believed by
    Kedge but a person."""
    with moving_client(pair) as client:
        time.sleep(20)
        told = pair.copy()
        pair.living.uid = pair.living.client.cluster(EU).uid
        for key in pair.broker_keys(EU):
            pair.living.power_cut(key)
        at = pair.order(planned=False, accept_loss=True)
        pair.until_state("Fencing", within_s=60)
        word = api.DoorCertificationIn(confirm=PAIR, reason="their power is cut: benchmark")
        pair.living.client.certify_door_shut(PAIR, word)
        pair.until_state("Reversing", primary=US, within_s=180)
        client.is_taken_now(pair.living)
        first = min(when for when, _ in client.acked if when > at + 1)
    kept = pair.names(US)
    return {
        "acknowledged_s": round(first - at, 1),
        "lag_told_s": told.lag_s,
        "lag_told_records": told.lag_records,
        "acknowledged": len(client.acked),
        "lost": sum(1 for _, name in client.acked if name not in kept),
    }
