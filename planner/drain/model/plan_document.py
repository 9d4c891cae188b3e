"""The plan file (JSON, version 1) as a Schedule and back. Kafka's reassignment JSON is read as well: it is a plan
with nothing but a list, so a rival's plan can be judged.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic_core import to_json

from planner.drain.model.document import broker_rows
from planner.drain.model.files import CertificateEntry, MeasureEntry, PlanFile, parse_plan
from planner.drain.model.log_dirs import known_paths, move_problems, planned_log_dirs, planned_paths
from planner.drain.model.measures import Measure, Measures
from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.problem import DocumentRefused, StateProblem, StateProblemKind
from planner.drain.model.state import NO_BROKER, ClusterState, Floats, Int32s

_CERTIFIED = ("bytes", "makespan_s", "disk", "leaders", "leader_changes", "release_s")


@dataclass(frozen=True, slots=True, eq=False)
class ReadPlan:
    """`measures` is what the plan *says* it reaches: None without a certificate. Only a replay is believed."""

    schedule: Schedule
    measures: Measures | None


def read_plan(data: bytes | str, state: ClusterState) -> ReadPlan:
    """The plan against the state it was made for. Raises DocumentRefused for what cannot be expressed as rows
    (unknown partitions and brokers) or read at all; what a plan merely does wrong is left to the judge. The end of
    the list is a checkpoint, named or not.
    """
    file = parse_plan(data)
    row_of = _partition_rows(state)
    problems = [*_problems(file, state, row_of)]
    if problems:
        raise DocumentRefused("plan file", problems)
    moves = file["partitions"]
    sources = broker_rows([[] if m.get("source") is None else [m["source"]] for m in moves], state.brokers.id)  # type: ignore[list-item]
    after = broker_rows([m["replicas"] for m in moves], state.brokers.id)
    ends = file.get("checkpoints", [])
    return ReadPlan(
        schedule=Schedule(
            row=np.array([row_of[m["topic"], m["partition"]] for m in moves], dtype=np.int32),
            after=after,
            source=sources[:, 0],
            slots_in=_slots(file, state, "in"),
            slots_out=_slots(file, state, "out"),
            throttle_in_bytes_per_s=_throttles(file, state, "in_bytes_per_s"),
            throttle_out_bytes_per_s=_throttles(file, state, "out_bytes_per_s"),
            checkpoints=tuple(ends if ends[-1:] == [len(moves)] else [*ends, len(moves)]),
            assumptions=tuple(file.get("assumptions", ())),
            log_dirs=planned_log_dirs(state, moves, after),
        ),
        measures=_measures(file["certificate"]) if "certificate" in file else None,
    )


def plan_json(state: ClusterState, schedule: Schedule, measures: Measures | None = None) -> bytes:
    """The plan file; valid input for kafka-reassign-partitions too, which ignores what it does not know."""
    return to_json(plan_document(state, schedule, measures))


def plan_document(state: ClusterState, schedule: Schedule, measures: Measures | None = None) -> dict[str, Any]:
    """As `plan_json`, before it becomes text. A measure that is infinite becomes null."""
    document: dict[str, Any] = {"version": 1}
    if measures is not None:
        document["certificate"] = {name: _measure_entry(getattr(measures, name)) for name in _CERTIFIED}
    document["assumptions"] = list(schedule.assumptions)
    document["partitions"] = list(_move_entries(state, schedule))
    ids = state.brokers.id.tolist()
    document["slots"] = _per_broker(ids, {"in": schedule.slots_in, "out": schedule.slots_out}, UNLIMITED_SLOTS)
    document["throttles"] = _per_broker(
        ids,
        {
            "in_bytes_per_s": schedule.throttle_in_bytes_per_s,
            "out_bytes_per_s": schedule.throttle_out_bytes_per_s,
        },
        math.inf,
    )
    document["checkpoints"] = list(schedule.checkpoints)
    return document


def _move_entries(state: ClusterState, schedule: Schedule) -> Iterator[dict[str, Any]]:
    parts, ids = state.partitions, state.brokers.id.tolist()
    topics = [parts.topics[t] for t in parts.topic[schedule.row].tolist()]
    numbers = parts.partition[schedule.row].tolist()
    lists, sources = schedule.after.tolist(), schedule.source.tolist()
    paths = (
        planned_paths(state, schedule.log_dirs, schedule.after)
        if schedule.log_dirs is not None
        else [None] * len(lists)
    )
    for topic, number, after, source, dirs in zip(topics, numbers, lists, sources, paths, strict=True):
        entry: dict[str, Any] = {
            "topic": topic,
            "partition": number,
            "replicas": [ids[b] for b in after if b != NO_BROKER],
        }
        if source != NO_BROKER:
            entry["source"] = ids[source]
        if dirs is not None:
            entry["log_dirs"] = dirs
        yield entry


def _per_broker(
    ids: list[int], columns: Mapping[str, Int32s | Floats], unlimited: float
) -> dict[str, dict[str, float]]:
    limits: dict[str, dict[str, float]] = {}
    for name, values in columns.items():
        for broker, value in zip(ids, values.tolist(), strict=True):
            if value != unlimited:
                limits.setdefault(str(broker), {})[name] = value
    return limits


def _measure_entry(measure: Measure) -> dict[str, float | None]:
    return {"value": _finite(measure.value), "bound": _finite(measure.bound)}


def _finite(figure: float) -> float | None:
    return figure if math.isfinite(figure) else None


def _measures(entry: CertificateEntry) -> Measures:
    said = {name: _measure(entry[name]) for name in _CERTIFIED if name in entry}  # type: ignore[literal-required]
    return Measures(**{"leader_changes": Measure(math.nan, math.nan), **said})


def _measure(entry: MeasureEntry) -> Measure:
    value, bound = entry["value"], entry["bound"]
    return Measure(math.inf if value is None else value, math.inf if bound is None else bound)


def _partition_rows(state: ClusterState) -> dict[tuple[str, int], int]:
    parts = state.partitions
    names = zip([parts.topics[t] for t in parts.topic.tolist()], parts.partition.tolist(), strict=True)
    return {name: row for row, name in enumerate(names)}


def _problems(file: PlanFile, state: ClusterState, row_of: Mapping[tuple[str, int], int]) -> Iterator[StateProblem]:
    known = set(state.brokers.id.tolist())
    paths = known_paths(state)
    named = [*(("slots", b) for b in file.get("slots", {})), *(("throttles", b) for b in file.get("throttles", {}))]
    for index, move in enumerate(file["partitions"]):
        path, name = f"partitions[{index}]", f"{move['topic']}-{move['partition']}"
        if (move["topic"], move["partition"]) not in row_of:
            yield StateProblem(StateProblemKind.UNKNOWN, path, f"the state has no partition {name}")
        for place, broker in enumerate(move["replicas"]):
            if broker not in known:
                message = f"{name}: the state has no broker {broker}"
                yield StateProblem(StateProblemKind.UNKNOWN, f"{path}.replicas[{place}]", message)
        source = move.get("source")
        if source is not None and source not in known:
            yield StateProblem(StateProblemKind.UNKNOWN, f"{path}.source", f"{name}: the state has no broker {source}")
        yield from move_problems(path, move, paths)
    for field, broker_id in named:
        if int(broker_id) not in known:
            yield StateProblem(StateProblemKind.UNKNOWN, f"{field}.{broker_id}", f"the state has no broker {broker_id}")


def _slots(file: PlanFile, state: ClusterState, side: str) -> Int32s:
    given: Mapping[str, Any] = file.get("slots", {})
    named = [given.get(str(broker), {}).get(side, UNLIMITED_SLOTS) for broker in state.brokers.id.tolist()]
    return np.array(named, dtype=np.int32)


def _throttles(file: PlanFile, state: ClusterState, side: str) -> Floats:
    given: Mapping[str, Any] = file.get("throttles", {})
    named = [given.get(str(broker), {}).get(side, math.inf) for broker in state.brokers.id.tolist()]
    return np.array(named, dtype=np.float64)


def with_assumptions(schedule: Schedule, assumptions: tuple[str, ...]) -> Schedule:
    """The schedule with these assumptions added, each once, in order."""
    return replace(schedule, assumptions=tuple(dict.fromkeys((*schedule.assumptions, *assumptions))))
