"""State and plan files: there and back, and every bad input refused with its place and all at once."""

import json
import math
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from planner.drain.model import arrow
from planner.drain.model.document import read_state, state_document, state_json
from planner.drain.model.files import PlanFile, StateFile
from planner.drain.model.kafka_json import reassignments, rollbacks
from planner.drain.model.measures import Measure, Measures
from planner.drain.model.plan_document import plan_document, plan_json, read_plan
from planner.drain.model.problem import DocumentRefused, StateProblemKind
from planner.drain.model.state import NO_BROKER, ClusterState
from tests.unit.planner.drain.judge_cases import ACTIVE, DEAD, NEW, OUTGOING, cluster, plan

DOCS = Path(__file__).parents[4] / "docs"


def example() -> ClusterState:
    return cluster(
        "abcad",
        [OUTGOING, ACTIVE, ACTIVE, NEW, DEAD],
        [[0, 1, 2], [1, 4]],
        out_of_sync=[(1, 4)],
        write=2.5,
        destinations={0: (3,)},
    )


def same(left: ClusterState, right: ClusterState) -> None:
    for mine, theirs in ((left.brokers, right.brokers), (left.partitions, right.partitions)):
        for column in fields(mine):
            assert np.array_equal(getattr(mine, column.name), getattr(theirs, column.name)) or np.array_equal(
                getattr(mine, column.name), getattr(theirs, column.name), equal_nan=True
            ), column.name
    assert (left.disk_limit, left.flow_bytes_per_s) == (right.disk_limit, right.flow_bytes_per_s)
    assert dict(left.destinations) == dict(right.destinations)


def test_a_state_survives_its_file() -> None:
    same(read_state(state_json(example())).state, example())


def test_a_state_survives_arrow() -> None:
    same(arrow.state_of(arrow.brokers_table(example()), arrow.partitions_table(example())), example())


def test_the_figures_of_the_issue_are_a_state_file() -> None:
    text = """{"version":1,"disk_limit":0.85,"flow_bytes_per_s":70e6,
      "brokers":[{"id":1002,"rack":"b","disk_bytes":10,"ingress_bytes_per_s":1,"egress_bytes_per_s":2},
                 {"id":1001,"rack":"a","disk_bytes":10,"ingress_bytes_per_s":1,"egress_bytes_per_s":2,"state":"outgoing"}],
      "partitions":[{"topic":"t","partition":0,"replicas":[1002,1001],"leader":1001,"isr":[1001,1002],"size_bytes":7}]}"""
    read = read_state(text)
    assert read.state.brokers.id.tolist() == [1001, 1002]
    assert read.state.partitions.replicas.tolist() == [[1, 0]]
    assert read.state.partitions.leader.tolist() == [0]
    assert math.isnan(read.state.partitions.write_bytes_per_s[0])
    told = ["min ISR", "1", "write rates", "read rates", "what the volumes"]
    assert [line.split(" of ")[0] for line in read.assumptions] == told


Spoil = Callable[[dict[str, Any]], Any]
BAD: list[tuple[str, Spoil, StateProblemKind, str]] = [
    ("version", lambda d: d.update(version=2), StateProblemKind.SHAPE, "version"),
    ("NaN", lambda d: d["brokers"][0].update(ingress_bytes_per_s=math.nan), StateProblemKind.FIGURE,
     "brokers[0].ingress_bytes_per_s"),
    ("infinite", lambda d: d.update(flow_bytes_per_s=math.inf), StateProblemKind.FIGURE, "flow_bytes_per_s"),
    ("zero bandwidth", lambda d: d["brokers"][0].update(egress_bytes_per_s=0), StateProblemKind.FIGURE,
     "brokers[0].egress_bytes_per_s"),
    ("zero disk", lambda d: d["brokers"][1].update(disk_bytes=0), StateProblemKind.FIGURE, "brokers[1].disk_bytes"),
    ("negative size", lambda d: d["partitions"][0].update(size_bytes=-1), StateProblemKind.FIGURE,
     "partitions[0].size_bytes"),
    ("disk limit above 1", lambda d: d.update(disk_limit=85), StateProblemKind.FIGURE, "disk_limit"),
    ("missing size", lambda d: d["partitions"][0].pop("size_bytes"), StateProblemKind.SHAPE,
     "partitions[0].size_bytes"),
    ("missing disk", lambda d: d["brokers"][1].pop("disk_bytes"), StateProblemKind.SHAPE, "brokers[1].disk_bytes"),
    ("no rack", lambda d: d["brokers"][0].pop("rack"), StateProblemKind.SHAPE, "brokers[0].rack"),
    ("empty rack", lambda d: d["brokers"][0].update(rack=""), StateProblemKind.FIGURE, "brokers[0].rack"),
    ("state word", lambda d: d["brokers"][0].update(state="leaving"), StateProblemKind.SHAPE, "brokers[0].state"),
    ("no replicas", lambda d: d["partitions"][0].update(replicas=[]), StateProblemKind.FIGURE,
     "partitions[0].replicas"),
    ("unknown replica", lambda d: d["partitions"][0].update(replicas=[1001, 1002, 1003, 7]), StateProblemKind.UNKNOWN,
     "partitions[0].replicas[3]"),
    ("duplicate replica", lambda d: d["partitions"][0]["replicas"].append(1001), StateProblemKind.TWICE,
     "partitions[0].replicas[3]"),
    ("unknown leader", lambda d: d["partitions"][0].update(leader=7), StateProblemKind.UNKNOWN, "partitions[0].leader"),
    ("leader out of sync", lambda d: d["partitions"][1].update(leader=1005), StateProblemKind.CONTRADICTION,
     "partitions[1].leader"),
    ("unknown in ISR", lambda d: d["partitions"][1]["isr"].append(7), StateProblemKind.UNKNOWN, "partitions[1].isr[1]"),
    ("in sync without a replica", lambda d: d["partitions"][1]["isr"].append(1001), StateProblemKind.CONTRADICTION,
     "partitions[1].isr[1]"),
    ("min ISR above RF", lambda d: d["partitions"][1].update(min_isr=3), StateProblemKind.CONTRADICTION,
     "partitions[1].min_isr"),
    ("broker twice", lambda d: d["brokers"].append(dict(d["brokers"][0])), StateProblemKind.TWICE, "brokers[5]"),
    ("partition twice", lambda d: d["partitions"].append(dict(d["partitions"][0])), StateProblemKind.TWICE,
     "partitions[2]"),
    ("unknown destination", lambda d: d.update(destinations={"1001": [7]}), StateProblemKind.UNKNOWN,
     "destinations.1001[0]"),
    ("outgoing destination", lambda d: d.update(destinations={"1001": [1001]}), StateProblemKind.CONTRADICTION,
     "destinations.1001[0]"),
    ("destinations of an active broker", lambda d: d.update(destinations={"1002": [1004]}),
     StateProblemKind.CONTRADICTION, "destinations.1002"),
    ("ISR below RF where it has to move", lambda d: d["partitions"][0].update(isr=[1001, 1002]),
     StateProblemKind.REPAIR_FIRST, "partitions[0].isr"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "kind", "path"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_a_bad_state_file_is_refused_with_its_place(spoil: Spoil, kind: StateProblemKind, path: str) -> None:
    document = state_document(example())
    spoil(document)
    with pytest.raises(DocumentRefused) as refused:
        read_state(json.dumps(document))
    assert (kind, path) in [(p.kind, p.path) for p in refused.value.problems]


def test_all_problems_are_told_at_once() -> None:
    document = state_document(example())
    document["partitions"][0]["replicas"] += [7, 8]
    document["destinations"]["9"] = [1002]
    with pytest.raises(DocumentRefused, match="3 problems"):
        read_state(json.dumps(document))


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(DocumentRefused) as refused:
        read_state("{")
    assert refused.value.problems[0].kind == StateProblemKind.SYNTAX


def test_what_is_to_be_repaired_first_can_be_tolerated() -> None:
    document = state_document(example())
    document["partitions"][0]["isr"] = [1001, 1002]
    read = read_state(json.dumps(document), tolerate={StateProblemKind.REPAIR_FIRST})
    assert read.state.partitions.in_sync[0].tolist() == [True, True, False]


def test_a_plan_survives_its_file() -> None:
    state = example()
    schedule = plan(state, [(0, [3, 1, 2], 1)], slots_in=4, throttle_out=12.5)
    said = Measures(**{f.name: Measure(2.0, 1.0) for f in fields(Measures)})
    read = read_plan(plan_json(state, schedule, said), state)
    for column in fields(schedule):
        assert np.array_equal(getattr(read.schedule, column.name), getattr(schedule, column.name)), column.name
    assert read.measures == said


def test_kafkas_own_reassignment_is_a_plan_that_starts_everything_at_once() -> None:
    state = example()
    text = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1004,1002,1003],"log_dirs":["any"]}]}'
    schedule = read_plan(text, state).schedule
    assert schedule.after.tolist() == [[3, 1, 2]]
    assert schedule.source.tolist() == [NO_BROKER]
    assert schedule.checkpoints == (1,)
    assert np.isinf(schedule.throttle_in_bytes_per_s).all()


def test_a_plan_for_another_cluster_is_refused() -> None:
    text = '{"version":1,"partitions":[{"topic":"x","partition":0,"replicas":[5],"source":6}],"slots":{"7":{"in":1}}}'
    with pytest.raises(DocumentRefused) as refused:
        read_plan(text, example())
    assert [p.path for p in refused.value.problems] == [
        "partitions[0]", "partitions[0].replicas[0]", "partitions[0].source", "slots.7",
    ]  # fmt: skip


def test_a_measure_that_never_ends_becomes_null() -> None:
    state = example()
    said = Measures(**{f.name: Measure(math.inf, 1.0) for f in fields(Measures)})
    document = plan_document(state, plan(state, [(0, [3, 1, 2], 1)]), said)
    assert document["certificate"]["makespan_s"] == {"value": None, "bound": 1.0}


def test_reassignments_follow_the_checkpoints_and_rollbacks_take_them_back() -> None:
    state = example()
    schedule = plan(state, [(0, [3, 1, 2], 1), (1, [1, 2], 1)], checkpoints=(1, 2))
    there, back = list(reassignments(state, schedule)), list(rollbacks(state, schedule))
    assert [d["partitions"][0]["replicas"] for d in there] == [[1004, 1002, 1003], [1002, 1003]]
    assert [d["partitions"][0]["replicas"] for d in back] == [[1001, 1002, 1003], [1002, 1005]]
    assert there[0]["partitions"][0]["log_dirs"] == ["any", "any", "any"]


@pytest.mark.parametrize(("name", "shape"), [("state", StateFile), ("drain-plan", PlanFile)])
def test_the_committed_schema_is_the_one_files_are_read_by(name: str, shape: type[Any]) -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **TypeAdapter(shape).json_schema()}
    assert json.loads((DOCS / f"{name}.schema.json").read_text()) == schema
