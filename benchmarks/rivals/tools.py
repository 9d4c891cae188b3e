"""The rivals: how each is run on a state, and its answer as a schedule our judge can replay."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.drain.model.document import state_json
from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.state import NO_BROKER, ClusterState, Int32s

INSIDE = Path(__file__).resolve().parent / "inside"
ENTRIES_PER_REQUEST = 10_000


@dataclass(frozen=True, slots=True)
class Rival:
    """`program` inside the rivals' environment, run in `mode`."""

    title: str
    program: str
    mode: str


RIVALS = (
    Rival("kafka-tools remove", "kafka_tools_plan.py", "remove"),
    Rival("kafka-tools remove, rackaware", "kafka_tools_plan.py", "rackaware"),
    Rival("kafka-utils count", "kafka_utils_plan.py", "count"),
    Rival("kafka-utils genetic", "kafka_utils_plan.py", "genetic"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """`lists` int32[P, W]: what the tool wants; `seconds`: its planning alone, start and files excluded."""

    lists: Int32s
    seconds: float


class NoPlan(Exception):
    """The tool gave no plan; the message is its own, or says how long it was waited for."""


def ask(rival: Rival, python: Path, state: ClusterState, directory: Path, *, limit_s: float) -> Answer:
    """Runs the tool in a process of its own, ended after `limit_s`. Raises NoPlan."""
    state_path, plan_path = directory / "state.json", directory / "plan.json"
    state_path.write_bytes(state_json(state))
    command = [str(python), "-W", "ignore", str(INSIDE / rival.program), rival.mode, str(state_path), str(plan_path)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False, env=_environment())
    except subprocess.TimeoutExpired:
        raise NoPlan(f"no plan in {limit_s:.0f} s") from None
    if ran.returncode:
        raise NoPlan((ran.stderr.strip().splitlines() or ["it failed without a word"])[-1])
    plan = json.loads(plan_path.read_text())
    return Answer(lists=_lists_of(state, plan["partitions"]), seconds=float(plan["seconds"]))


def schedule_of(state: ClusterState, answer: Answer, *, slots: int = UNLIMITED_SLOTS) -> Schedule:
    """The tool's lists in the tool's terms: every copy read from the leader now, no throttle, no order.

    `slots` is how many copies run at once per broker and direction, as the operator would set it.
    """
    row = np.flatnonzero((answer.lists != state.partitions.replicas).any(axis=1)).astype(np.int32)
    brokers = len(state.brokers)
    return Schedule(
        row=row,
        after=answer.lists[row],
        source=np.full(row.size, NO_BROKER, dtype=np.int32),
        slots_in=np.full(brokers, slots, dtype=np.int32),
        slots_out=np.full(brokers, slots, dtype=np.int32),
        throttle_in_bytes_per_s=np.full(brokers, np.inf),
        throttle_out_bytes_per_s=np.full(brokers, np.inf),
        checkpoints=(*range(ENTRIES_PER_REQUEST, row.size, ENTRIES_PER_REQUEST), int(row.size)) if row.size else (),
    )


def _lists_of(state: ClusterState, answered: list[dict[str, Any]]) -> Int32s:
    partitions = state.partitions
    names = [partitions.topics[topic] for topic in partitions.topic.tolist()]
    row_of = {key: row for row, key in enumerate(zip(names, partitions.partition.tolist(), strict=True))}
    broker_row = {int(broker): row for row, broker in enumerate(state.brokers.id)}
    width = max(partitions.replicas.shape[1], *(len(entry["replicas"]) for entry in answered))
    lists = np.full((len(partitions), width), NO_BROKER, dtype=np.int32)
    lists[:, : partitions.replicas.shape[1]] = partitions.replicas
    for entry in answered:
        rows = [broker_row[broker] for broker in entry["replicas"]]
        at = row_of[entry["topic"], entry["partition"]]
        lists[at] = NO_BROKER
        lists[at, : len(rows)] = rows
    return lists


def _environment() -> dict[str, str]:
    """Without the paths of our own environment: both have a package called kafka. The seed fixes the order of sets."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | {"PYTHONHASHSEED": "1"}
