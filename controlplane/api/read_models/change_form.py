"""The form that changes what is declared: its fields as they are in force, and what was typed as a spec file. Pure.

A field is called by its path in the spec, as problems name it. What has no field stays as it is declared.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Literal

from controlplane.api.read_models.spec_form import number_or_text, text_of
from events.spec.model import API_VERSION, KafkaClusterDocument
from events.spec.settings import DEFAULT_RF
from events.spec.topic_model import TOPIC_KIND
from events.spec.topic_tiers import TIERS, cluster_default
from events.topic_facts import TopicDeclaration

Shape = Literal["text", "number", "list", "map"]
Step = str | int
_LINES_AROUND = 3


@dataclass(frozen=True, slots=True)
class FormField:
    """One field. `declared` is what is in force, as it is typed; "" where a default decides."""

    path: str
    steps: tuple[Step, ...]
    label: str
    declared: str
    shape: Shape = "text"
    choices: tuple[str, ...] = ()
    group: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the difference between two files. `kind`: `added`, `gone`, `same`, or `place` for a jump."""

    kind: str
    text: str


def topic_data(cluster: KafkaClusterDocument, declared: TopicDeclaration) -> dict[str, Any]:
    """A declared topic as the shortest file that means it: what its tier says is left out."""
    tier = TIERS[declared.tier]
    default = tier.replicas or cluster_default(cluster, DEFAULT_RF, 1)
    config = {k: v for k, v in (declared.config or {}).items() if tier.config.get(k) != v}
    metadata = {"name": declared.name, "owner": declared.owner, "labels": dict(declared.labels)}
    spec = {
        "cluster": cluster.metadata.name,
        "partitions": declared.partitions,
        "replicas": declared.replicas if declared.replicas != default else None,
        "tier": declared.tier,
        "config": config,
        "deletionPolicy": declared.deletion_policy,
        "onLoss": declared.on_loss,
        "rate": _said({"min": declared.rate_min, "max": declared.rate_max, "learn": declared.rate_learn or None}),
    }
    return {"apiVersion": API_VERSION, "kind": TOPIC_KIND, "metadata": _said(metadata), "spec": _said(spec)}


def cluster_fields(data: Mapping[str, Any]) -> tuple[FormField, ...]:
    """What the form has of a cluster, pool by pool."""
    return (
        _field(data, ("metadata", "owner"), "Team"),
        _field(data, ("metadata", "labels"), "Labels", "map", hint="one a line, as in env: prod"),
        _field(data, ("spec", "kafka", "version"), "Kafka"),
        _field(
            data, ("spec", "kafka", "config"), "Kafka settings", "map", hint="one a line, as in log.retention.hours: 72"
        ),
        _field(data, ("spec", "rollout", "throttleMibPerS"), "Ceiling of moves, MiB/s a broker", "number"),
        *(found for index, pool in enumerate(data["spec"]["pools"]) for found in _pool_fields(data, index, pool)),
    )


def topic_fields(data: Mapping[str, Any]) -> tuple[FormField, ...]:
    """What the form has of a topic."""
    return (
        _field(data, ("metadata", "owner"), "Team"),
        _field(data, ("metadata", "labels"), "Labels", "map", hint="one a line, as in env: prod"),
        _field(data, ("spec", "partitions"), "Partitions", "number", hint="they grow, and never shrink"),
        _field(data, ("spec", "replicas"), "Replicas", "number", hint="empty: as the tier says"),
        _field(data, ("spec", "tier"), "Tier", choices=("critical", "standard", "scratch")),
        _field(data, ("spec", "config"), "Settings", "map", hint="one a line, as in retention.ms: 86400000"),
        _field(data, ("spec", "deletionPolicy"), "When it is deleted", choices=("retain", "delete"), default="retain"),
        _field(data, ("spec", "onLoss"), "When somebody else deletes it", choices=("tell", "recreate"), default="tell"),
    )


def changed_text(data: Mapping[str, Any], fields: Sequence[FormField], typed: Mapping[str, str]) -> str:
    """The file with what was typed in it. Values stand as they were typed: the rules of specs judge them."""
    whole = deepcopy(dict(data))
    for field in changed_fields(fields, typed):
        _put(whole, field.steps, _value(field, typed[field.path]))
    return text_of(whole)


def changed_fields(fields: Sequence[FormField], typed: Mapping[str, str]) -> list[FormField]:
    """Fields whose text says something else than what is in force."""
    return [f for f in fields if f.path in typed and _meant(f, typed[f.path]) != _meant(f, f.declared)]


def moved_on(fields: Sequence[FormField], base: Mapping[str, str], typed: Mapping[str, str]) -> dict[str, str]:
    """What was typed, on what is in force now: only what was changed since the form was filled from `base`."""
    mine = {f.path for f in fields if _meant(f, typed.get(f.path, "")) != _meant(f, base.get(f.path, ""))}
    return {f.path: typed.get(f.path, "") if f.path in mine else f.declared for f in fields}


def diff_lines(before: str, after: str) -> list[DiffLine]:
    """What differs between two files, with a few lines around it; empty where nothing does."""
    found = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_LINES_AROUND)
    kinds = {"+": "added", "-": "gone", " ": "same", "@": "place"}
    lines = [DiffLine(kinds[line[0]], line) for line in list(found)[2:]]
    return [DiffLine("place", "…") if line.kind == "place" else line for line in lines]


def _pool_fields(data: Mapping[str, Any], index: int, pool: Mapping[str, Any]) -> Iterator[FormField]:
    steps: tuple[Step, ...] = ("spec", "pools", index)
    group = f"{pool['name']} ({', '.join(pool['services'])}, {pool['place']['cloud']} {pool['place']['region']})"
    yield _field(data, (*steps, "size"), "Nodes", "number", group=group)
    yield _field(data, (*steps, "machine"), "Machine", group=group)
    yield _field(data, (*steps, "disk", "sizeGib"), "Disk, GiB", "number", group=group)
    yield _field(data, (*steps, "place", "zones"), "Zones", "list", group=group)


def _field(
    data: Mapping[str, Any],
    steps: tuple[Step, ...],
    label: str,
    shape: Shape = "text",
    *,
    choices: tuple[str, ...] = (),
    group: str = "",
    hint: str = "",
    default: str = "",
) -> FormField:
    path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).lstrip(".")
    declared = _shown(_get(data, steps)) or default
    return FormField(path, steps, label, declared, shape, choices, group, hint)


def _get(data: Any, steps: Sequence[Step]) -> Any:
    for step in steps:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int):
            data = data[step]
    return data


def _put(data: Any, steps: Sequence[Step], value: Any) -> None:
    *way, last = steps
    for step in way:
        data = data.setdefault(step, {}) if isinstance(data, dict) else data[step]
    if value is None:
        data.pop(last, None)
    else:
        data[last] = value


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return "\n".join(f"{key}: {said}" for key, said in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _meant(field: FormField, text: str) -> object:
    """What a text stands for, so that a space or the order of settings is no change."""
    value = _value(field, text)
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def _value(field: FormField, text: str) -> Any:
    """None for an empty text: the key is left out, and its default decides."""
    text = text.replace("\r\n", "\n").strip()
    if not text:
        return None
    if field.shape == "number":
        return number_or_text(text)
    if field.shape == "list":
        return [word for word in text.replace(",", " ").split() if word]
    return _pairs(text) if field.shape == "map" else text


def _pairs(text: str) -> Any:
    """`key: value` lines as a mapping; the text itself where a line is none: the rules then say what is missing."""
    found = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        key, colon, value = line.partition(":")
        if not colon or not key.strip() or key.strip() in found:
            return text
        found[key.strip()] = value.strip()
    return found


def _said(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if value not in (None, "", {})}
