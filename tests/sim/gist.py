"""What a golden log says of an event: the part of it that tells the story."""

from typing import Any

from events.envelope import Recorded


def gist(recorded: Recorded) -> str:
    """The part of an event that tells the story."""
    data = recorded.data
    if recorded.type == "surge.requested":
        return ", ".join(
            f"{i['node']}.g{i['generation']} ({i['service']} {i['service_id']})" for i in data["instances"]
        )
    if recorded.type == "cluster.declared":
        return f"{data['name']} generation {data['generation']}"
    if recorded.type == "surge.completed":
        return ", ".join(i["key"] for i in data["instances"])
    if recorded.type == "quorum.founded":
        return f"{len(data['voters'])} controllers at {data['metadata_level']}"
    if recorded.type == "drain.requested":
        return f"{', '.join(data['keys'])} round {data['round']}: {data['reason']}"
    if recorded.type == "drain.planned":
        return f"{data['moves']} moves, {data['bytes']} bytes, {data['batches']} batches, {data['engine']}"
    keep = ("key", "keys", "reason", "node", "old", "new", "feature", "level", "generation", "type", "status", "proof")
    return " ".join(f"{k}={_short(data[k])}" for k in keep if k in data)


def _short(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
