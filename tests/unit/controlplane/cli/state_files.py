"""Small clusters as state files for the verbs that plan."""

import json
from pathlib import Path
from typing import Any

GIB = 2**30
RATE = 100 * 2**20


def broker(number: int, rack: str, **changes: Any) -> dict[str, Any]:
    figures = {"disk_bytes": 100 * GIB, "ingress_bytes_per_s": RATE, "egress_bytes_per_s": RATE}
    return {"id": number, "rack": rack, "state": "active", **figures, **changes}


def partition(topic: str, number: int, *replicas: int, **changes: Any) -> dict[str, Any]:
    usual = {"leader": replicas[0], "isr": list(replicas), "size_bytes": GIB, "min_isr": 1}
    rates = {"write_bytes_per_s": 1000.0, "read_bytes_per_s": 1000.0}
    return {"topic": topic, "partition": number, "replicas": list(replicas), **usual, **rates, **changes}


def state(*partitions: dict[str, Any], brokers: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    """Four brokers in two racks, eight partitions of `orders` with two replicas each."""
    usual = [partition("orders", n, 1 + n % 2, 3 + n // 2 % 2) for n in range(8)]
    return {
        "version": 1,
        "disk_limit": 0.85,
        "flow_bytes_per_s": RATE,
        "brokers": brokers or [broker(1, "a"), broker(2, "a"), broker(3, "b"), broker(4, "b")],
        "partitions": list(partitions) or usual,
        **changes,
    }


def written(folder: Path, content: dict[str, Any], name: str = "state.json") -> str:
    path = folder / name
    path.write_text(json.dumps(content))
    return str(path)
