"""The second check alone: a plan that was changed after it was made is refused, whatever was changed."""

import copy
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from spark.fleet.answers import AnswerRole
from spark.fleet.check_inputs import brokers_of
from spark.fleet.kernel import answer_of
from spark.fleet.moves import moves_of, plans_of
from spark.fleet.schemas import ANSWERS, BROKERS, CLUSTERS, PARTITIONS
from spark.fleet.snapshot import Snapshot
from spark.fleet.validation import violations_of
from tests.unit.spark.fleet_cases import EPOCH, head_of, named, packs_for, small_state, tables_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(600)]

STATE = small_state()
TABLES = tables_of(STATE)
RACK = dict(zip(STATE.brokers.id.tolist(), STATE.brokers.rack.tolist(), strict=True))

Row = dict[str, Any]
Plan = dict[str, Any]


def _first_copy(plan: Plan) -> Row:
    """The first entry that moves something: it names a broker its partition was not on."""
    held = {(t, p): r for t, p, r in zip(*(TABLES["partitions"][c].to_pylist() for c in _NAMES), strict=True)}
    entry: Row = next(e for e in plan["partitions"] if set(e["replicas"]) - set(held[e["topic"], e["partition"]]))
    return entry


_NAMES = ("topic", "partition", "replicas")


def _onto_drained(row: Row, plan: Plan) -> None:
    _first_copy(plan)["replicas"][0] = 1001


def _lose_a_replica(row: Row, plan: Plan) -> None:
    _first_copy(plan)["replicas"].pop()


def _one_broker_twice(row: Row, plan: Plan) -> None:
    replicas = _first_copy(plan)["replicas"]
    replicas[0] = replicas[1]


def _one_rack_less(row: Row, plan: Plan) -> None:
    replicas = _first_copy(plan)["replicas"]
    alike = [b for b in RACK if RACK[b] == RACK[replicas[1]] and b not in replicas and b != 1001]
    replicas[2] = alike[0]


def _unknown_target(row: Row, plan: Plan) -> None:
    _first_copy(plan)["replicas"][0] = 4242


def _wrong_source(row: Row, plan: Plan) -> None:
    entry = _first_copy(plan)
    entry["source"] = next(b for b in RACK if b not in entry["replicas"] and b != 1001)


def _entry_left_out(row: Row, plan: Plan) -> None:
    """From every list alike, so only the replica that stays tells."""
    index = plan["partitions"].index(_first_copy(plan))
    for name in ("reassignments", "rollbacks"):
        document = json.loads(row[name][0])
        del document["partitions"][index]
        row[name] = [json.dumps(document)]
    for name in ("start_s", "end_s"):
        row[name] = [*row[name][:index], *row[name][index + 1 :]]
    del plan["partitions"][index]
    plan["checkpoints"] = [len(plan["partitions"])]


def _entry_twice(row: Row, plan: Plan) -> None:
    plan["partitions"][1] = copy.deepcopy(plan["partitions"][0])


def _unknown_partition(row: Row, plan: Plan) -> None:
    plan["partitions"][0]["topic"] = "never-seen"


def _kafka_told_otherwise(row: Row, plan: Plan) -> None:
    document = json.loads(row["reassignments"][0])
    document["partitions"][0]["replicas"].reverse()
    row["reassignments"] = [json.dumps(document)]


def _rollback_elsewhere(row: Row, plan: Plan) -> None:
    document = json.loads(row["rollbacks"][0])
    document["partitions"][0]["replicas"].reverse()
    row["rollbacks"] = [json.dumps(document)]


def _no_slots(row: Row, plan: Plan) -> None:
    plan["slots"] = {str(b): {"in": 0, "out": 10_000} for b in RACK}


def _no_slots_out(row: Row, plan: Plan) -> None:
    plan["slots"] = {str(b): {"in": 10_000, "out": 0} for b in RACK}


def _throttled_in(row: Row, plan: Plan) -> None:
    plan["throttles"] = {str(b): {"in_bytes_per_s": 1.0} for b in RACK}


def _throttled_out(row: Row, plan: Plan) -> None:
    plan["throttles"] = {str(b): {"out_bytes_per_s": 1.0} for b in RACK}


def _never_ends(row: Row, plan: Plan) -> None:
    row["end_s"] = [float("inf"), *row["end_s"][1:]]


def _too_fast(row: Row, plan: Plan) -> None:
    row["end_s"] = list(row["start_s"])


def _no_checkpoints(row: Row, plan: Plan) -> None:
    plan["checkpoints"] = []


def _better_than_it_is(row: Row, plan: Plan) -> None:
    row["values"] = {**row["values"], "makespan_s": row["values"]["makespan_s"] / 2}


def _nothing(row: Row, plan: Plan) -> None:
    pass


MUTATIONS: dict[str, tuple[Callable[[Row, Plan], None], str]] = {
    "none": (_nothing, ""),
    "onto-drained": (_onto_drained, "nothing stays on a drained broker"),
    "fewer": (_lose_a_replica, "as many replicas as before"),
    "broker-twice": (_one_broker_twice, "every replica on a broker of its own"),
    "racks": (_one_rack_less, "racks"),
    "unknown-target": (_unknown_target, "targets may receive"),
    "source": (_wrong_source, "the source is in sync"),
    "left-out": (_entry_left_out, "drained brokers end empty"),
    "twice": (_entry_twice, "each partition once"),
    "unknown-partition": (_unknown_partition, "every entry is in the snapshot"),
    "kafka": (_kafka_told_otherwise, "Kafka is sent the plan"),
    "rollback": (_rollback_elsewhere, "rollback is what was"),
    "slots-in": (_no_slots, "slots of a target"),
    "slots-out": (_no_slots_out, "slots of a source"),
    "throttle-in": (_throttled_in, "bytes into a target"),
    "throttle-out": (_throttled_out, "bytes out of a source"),
    "no-end": (_never_ends, "it ends"),
    "too-fast": (_too_fast, "no faster than one fetch"),
    "checkpoints": (_no_checkpoints, "checkpoints divide the plan"),
    "boast": (_better_than_it_is, "the certificate says what is"),
    "full-disk": (_nothing, "disk"),
}


def test_every_mutated_plan_is_refused_and_the_sound_one_is_not(spark_session: "SparkSession") -> None:
    answers = spark_session.createDataFrame(_answers(), schema=ANSWERS)
    snapshot, plans = _snapshot(spark_session), plans_of(answers)
    moves = moves_of(plans, snapshot.partitions, few=True).persist()
    brokers = brokers_of(snapshot, plans, moves).persist()
    found: dict[str, set[str]] = {name: set() for name in MUTATIONS}
    for row in violations_of(snapshot, plans, moves, brokers).collect():
        found[row["cluster"]].add(row["rule"])
    assert found["none"] == set()
    missed = {name: (rule, found[name]) for name, (_, rule) in MUTATIONS.items() if rule and rule not in found[name]}
    assert missed == {}


def test_moves_are_the_same_with_and_without_a_broadcast(spark_session: "SparkSession") -> None:
    plans, partitions = plans_of(spark_session.createDataFrame(_answers(), schema=ANSWERS)), _snapshot(spark_session)
    few, many = (
        moves_of(plans, partitions.partitions, few=few).where("cluster = 'none'").orderBy("position").toArrow()
        for few in (True, False)
    )
    assert few.equals(many)
    assert few.num_rows > 0


def _answers() -> pa.Table:
    """The same plan under a name per mutation, each changed in its way."""
    rows = []
    for name, (change, _) in MUTATIONS.items():
        row = answer_of(name, AnswerRole.WHOLE, EPOCH, packs_for(name, STATE, TABLES)).row()
        plan = json.loads(row["plan"])
        change(row, plan)
        rows.append({**row, "plan": json.dumps(plan)})
    return pa.Table.from_pylist(rows, schema=to_arrow_schema(ANSWERS))


def _snapshot(session: "SparkSession") -> Snapshot:
    """The cluster the plan was made for, once per mutation; one has fuller disks than the planner was told."""
    heads = [head_of(name, STATE, {"disk_limit": 0.5} if name == "full-disk" else None) for name in MUTATIONS]
    copies = {table: [named(name, rows) for name in MUTATIONS] for table, rows in TABLES.items()}
    frames = {"clusters": (heads, CLUSTERS)} | {
        table: (copies[table], schema) for table, schema in (("brokers", BROKERS), ("partitions", PARTITIONS))
    }
    return Snapshot(
        **{
            name: session.createDataFrame(
                pa.concat_tables(tables).combine_chunks().cast(to_arrow_schema(schema)), schema
            )
            for name, (tables, schema) in frames.items()
        }
    )
