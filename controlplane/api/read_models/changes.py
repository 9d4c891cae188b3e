"""Events as people read them: who, what, in a sentence. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controlplane.api.read_models.event_words import WORDS
from events.envelope import Recorded
from events.quantities import named
from planner.engines import planned_by
from planner.quantities import human_bytes, human_seconds

_MOST = 160


@dataclass(frozen=True, slots=True)
class EventChange:
    """One event in words. `generation` is set where it declares one."""

    position: int
    version: int
    type: str
    at: datetime
    who: str
    kind: str
    """person, git or kedge."""
    sentence: str
    generation: int = 0


def changes_of(events: Iterable[Recorded]) -> list[EventChange]:
    """The newest first."""
    changes = [_change(e) for e in events]
    changes.reverse()
    return changes


def _change(event: Recorded) -> EventChange:
    kind, _, name = event.actor.partition(":")
    return EventChange(
        position=event.position,
        version=event.version,
        type=event.type,
        at=event.recorded_at,
        who=name or ("Kedge" if kind == "converger" else kind),
        kind=kind if kind in ("person", "git") else "kedge",
        sentence=_sentence(event.type, event.data),
        generation=int(event.data["generation"]) if event.type == "cluster.declared" else 0,
    )


def _sentence(kind: str, data: Mapping[str, Any]) -> str:
    said = _SENTENCES.get(kind)
    if said is not None:
        return said(data)
    parts = (
        f"{name} {_short(value)}" for name, value in data.items() if name in _SHOWN and value not in ("", [], None)
    )
    return ", ".join(parts)[:_MOST]


def _short(value: Any) -> str:
    return named(value) if isinstance(value, list) else str(value)


def _declared(data: Mapping[str, Any]) -> str:
    source = f" from {data['source']}" if data.get("source") else ""
    return f"declared generation {data['generation']}{source}"


def _paused(data: Mapping[str, Any]) -> str:
    return f"paused: {data['reason']}" + (f", until {data['until']}" if data.get("until") else "")


def _started(data: Mapping[str, Any]) -> str:
    counts = [f"{len(data[k])} to {k}" for k in ("create", "replace", "remove") if data[k]]
    return f"roll to generation {data['generation']} began: {', '.join(counts) or 'no VM to change'}"


def _surge(data: Mapping[str, Any]) -> str:
    made = [f"{p['node']}.g{p['generation']} ({p['service']} {p['service_id']})" for p in data["instances"]]
    return f"{_short(made)} to be made: {data['reason']}"


def _launched(data: Mapping[str, Any]) -> str:
    return f"{_short([i['key'] for i in data['instances']])} run"


def _condition(data: Mapping[str, Any]) -> str:
    return f"{data['type']} is {data['status']} ({data['reason']}){': ' + data['message'] if data['message'] else ''}"


def _source(data: Mapping[str, Any]) -> str:
    commit = f", commit {data['commit'][:12]}" if data.get("commit") else ""
    reason = f": {data['reason']}" if data.get("reason") else ""
    return f"the spec comes from {data['source']}{commit}{reason}"


def _planned(data: Mapping[str, Any]) -> str:
    return f"{data['moves']} moves {planned_by(data['engine'])}, {human_bytes(data['bytes'])}"


def _scored(data: Mapping[str, Any]) -> str:
    if data["detected_s"] is None:
        return "the fault of the game day was not noticed"
    healed = data["healed_s"]
    then = "did not heal" if healed is None else f"in full health after {human_seconds(healed)}"
    return f"the fault of the game day: noticed after {human_seconds(data['detected_s'])}, {then}"


_SENTENCES = {
    **WORDS,
    "cluster.declared": _declared,
    "cluster.paused": _paused,
    "cluster.resumed": lambda d: f"resumed: {d['reason']}" if d["reason"] else "resumed",
    "cluster.aborted": lambda d: f"aborted the roll: {d['reason']}",
    "cluster.deletion_requested": lambda d: f"deletion asked for: {d['reason']}".removesuffix(": asked for"),
    "cluster.source_changed": _source,
    "chaos.injected": lambda d: f"{d['fault']} of {_short(d['keys'])} on purpose, {d['reason']}",
    "chaos.ended": lambda d: f"a fault on purpose is over: {d['outcome']}",
    "chaos.game_started": lambda d: f"a game day of {d['wanted']} faults by seed {d['seed']}, {d['reason']}",
    "chaos.fault_scored": _scored,
    "chaos.game_ended": lambda d: f"the game day is over: {d['stopped']}" if d["stopped"] else "the game day is over",
    "recycle.started": _started,
    "recycle.completed": lambda d: f"generation {d['generation']} is in force",
    "surge.requested": _surge,
    "surge.completed": _launched,
    "condition.changed": _condition,
    "drain.planned": _planned,
    "rebalance.planned": _planned,
}

_SHOWN = frozenset(
    {
        "key",
        "keys",
        "node",
        "old",
        "new",
        "reason",
        "service_id",
        "round",
        "batch",
        "moves",
        "bytes",
        "feature",
        "level",
    }
    | {"proof", "message", "error", "source", "commit", "name"}
)
