"""The files of one cluster's plan, made of the documents that were judged: for people, Kedge and Kafka's own tools."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json, to_json

KAFKA_RATES = {
    "in_bytes_per_s": "follower.replication.throttled.rate",
    "out_bytes_per_s": "leader.replication.throttled.rate",
}
"""Broker configs that hold a copy back: what a broker takes, what it gives (whole bytes per second)."""

MANIFEST = "manifest.json"


def files_of(
    *,
    cluster: str,
    epoch: int,
    plan: str,
    certificate: Mapping[str, Any],
    reassignments: Sequence[str],
    rollbacks: Sequence[str],
) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each. The manifest comes last: whoever finds one finds all it names, whole.

    `plan.json` is the plan file with its certificate. `reassignment-0001.json` and so on are for
    kafka-reassign-partitions, one per checkpoint, each to be sent when the one before is complete; `rollback-0001.json`
    takes the same entries back. `throttles.json`: broker -> Kafka configs. `checkpoints.json`: what belongs together.
    """
    document = from_json(plan)
    whole = to_json({"version": document.pop("version"), "certificate": certificate, **document})
    yield "plan.json", whole
    names = []
    for number, (sent, back) in enumerate(zip(reassignments, rollbacks, strict=True), 1):
        names.append((f"reassignment-{number:04}.json", f"rollback-{number:04}.json"))
        yield names[-1][0], sent.encode()
        yield names[-1][1], back.encode()
    yield "throttles.json", to_json(throttles_of(document["throttles"]))
    steps = zip(document["checkpoints"], names, strict=True)
    checkpoints = [{"entries": end, "reassignment": sent, "rollback": back} for end, (sent, back) in steps]
    yield "checkpoints.json", to_json(checkpoints)
    sha256 = hashlib.sha256(whole).hexdigest()
    yield MANIFEST, to_json({"version": 1, "cluster": cluster, "epoch": epoch, "plan_sha256": sha256})


def throttles_of(throttles: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, str]]:
    """Broker -> dynamic config; Kafka takes whole numbers, as text."""
    return {
        broker: {KAFKA_RATES[side]: str(int(rate)) for side, rate in rates.items()}
        for broker, rates in throttles.items()
    }
