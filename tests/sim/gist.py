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
    if recorded.type in ("quorum.founded", "migration.quorum_founded"):
        return f"{len(data['voters'])} controllers at {data['metadata_level']}"
    if recorded.type == "ensemble.founded":
        return f"{len(data['servers'])} servers, protocol {data['protocol_version']}"
    if recorded.type == "protocol.raised":
        return f"{data['before']} -> {data['after']}: {data['reason']}"
    if recorded.type == "drain.requested":
        return f"{', '.join(data['keys'])} round {data['round']}: {data['reason']}"
    if recorded.type == "drain.planned":
        return f"{data['moves']} moves, {data['bytes']} bytes, {data['batches']} batches, {data['engine']}"
    if recorded.type.startswith("voter.") and "id" in data:
        told = f"controller {data['id']} ({data['node']})"
        return f"{told}: {data['reason']}" if "reason" in data else told
    if recorded.type.startswith("rebalance.") and "moves" in data:
        return _of_rebalance(recorded.type, data)
    if recorded.type == "image.chosen":
        told = f"{data['kafka_version']}-r{data['number']}"
        return f"{told} ({data['security']}: {data['reason']})" if data["security"] else told
    if recorded.type.startswith("migration.") and "generation" not in data:
        return _of_migration(data)
    family = recorded.type.partition(".")[0]
    if family in ("topics", "brake"):
        return _of_topics(data) if family == "topics" else _of_brake(data)
    keep = ("key", "keys", "reason", "node", "old", "new", "feature", "level", "generation", "type", "status", "proof")
    told = " ".join(f"{k}={_short(data[k])}" for k in keep if k in data)
    return f"{told} beside={_short(data['beside'])}" if data.get("beside") else told


def _of_brake(data: Any) -> str:
    if "before" not in data:
        return f"{data['share']:.0%}: {data['reason']}"
    softly = f", begun at {data['share']:.0%}: {data['reason']}" if data["share"] < 1 else ""
    return f"{len(data['before'])} brokers told{softly}"


def _of_rebalance(what: str, data: Any) -> str:
    moved = f"{data['moves']} moves, {data['bytes']} bytes"
    if what == "rebalance.planned":
        imbalance = f"imbalance {data['imbalance_before']} % -> {data['imbalance_after']} %"
        return f"{moved}, {data['batches']} batches, {data['engine']}, {imbalance}"
    if what == "rebalance.batch_started":
        return f"batch {data['batch'] + 1}: {moved}"
    end = data.get("reason") or f"imbalance {data['imbalance']} %"
    return f"{moved}, {end}"


def _of_migration(data: Any) -> str:
    if "service" not in data:
        return f"{data['mode']}: {data['reason']}"
    knows = f" ({data['knows']})" if "knows" in data else ""
    ends = "; ends the way back" if data.get("ends_way_back") else ""
    return f"{data['service']} {_short(data['ids'])}{knows}: {data['reason']}{ends}"


def _of_topics(data: Any) -> str:
    told = [t["name"] for t in data.get("topics", ())]
    told += [f"{t['name']}: {t['reason'] or 'over'}" for t in data.get("troubles", ())]
    told += [f"{m['topic']}-{m['partition']} {m['before']} -> {m['after']}" for m in data.get("moves", ())]
    told += [f"{k} {','.join(data[k])}" for k in ("created", "settled", "deleted", "left", "names") if data.get(k)]
    return ", ".join(told) or data.get("reason", "")


def _short(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
