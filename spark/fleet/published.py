"""What a plan says, from the documents that are published: parsed once, as the second check reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from spark.fleet.answers import PlanAnswer

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PublishedPlan:
    """`entries`, `slots`, `throttles` and `checkpoints` of the plan file; `sent` and `rollback`: the entries of all of
    Kafka's documents, in order. `start_s`, `end_s` and `values` are the replay's, to be held against the rest.
    """

    entries: Sequence[Entry]
    slots: Mapping[str, Mapping[str, int]]
    throttles: Mapping[str, Mapping[str, float]]
    checkpoints: Sequence[int]
    sent: Sequence[Entry]
    rollback: Sequence[Entry]
    start_s: Sequence[float]
    end_s: Sequence[float]
    values: Mapping[str, float]


def plan_said(answer: PlanAnswer) -> PublishedPlan:
    """Raises ValueError, KeyError or TypeError for documents that are none of ours."""
    plan = from_json(answer.plan or "")
    return PublishedPlan(
        entries=plan["partitions"],
        slots=plan["slots"],
        throttles=plan["throttles"],
        checkpoints=plan["checkpoints"],
        sent=_entries(answer.reassignments or ()),
        rollback=_entries(answer.rollbacks or ()),
        start_s=() if answer.start_s is None else answer.start_s,
        end_s=() if answer.end_s is None else answer.end_s,
        values=answer.values or {},
    )


def _entries(documents: Sequence[str]) -> list[Entry]:
    return [entry for document in documents for entry in from_json(document)["partitions"]]
