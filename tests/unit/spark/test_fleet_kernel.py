"""One cluster from packs to answer, without Spark: what goes wrong is a row, never an exception."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.plan_document import plan_json, read_plan
from spark.fleet.answers import AnswerRole, PlanOutcome, certificate
from spark.fleet.files import files_of, throttles_of
from spark.fleet.kernel import answer_of
from spark.fleet.packing import packs_of, unpacked
from spark.fleet.rates import with_rates
from tests.present import present
from tests.unit.spark.fleet_cases import (
    EPOCH,
    named,
    packs_for,
    small_state,
    tables_of,
    with_cell,
    without_rates,
)

STATE = small_state()
TABLES = tables_of(STATE)


def test_the_answer_is_the_planners_own_plan_with_its_measures() -> None:
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, TABLES))
    assert (answer.outcome, answer.reason) == (PlanOutcome.PLANNED, "")
    plan = certified(STATE)
    assert isinstance(plan, CertifiedPlan)
    assert answer.plan == plan_json(STATE, plan.schedule).decode()
    assert answer.values is not None
    assert answer.bounds is not None
    for name in answer.values:
        measure = getattr(plan.measures, name)
        assert math.isclose(answer.values[name], measure.value, rel_tol=1e-12), name
        assert math.isclose(answer.bounds[name], measure.bound, rel_tol=1e-12), name


def test_two_tasks_say_together_what_one_says() -> None:
    packs = packs_for("orders", STATE, TABLES)
    whole, schedule, bounds = (answer_of("orders", role, EPOCH, packs) for role in AnswerRole)
    assert (schedule.plan, schedule.values) == (whole.plan, whole.values)
    assert (schedule.bounds, bounds.bounds) == (None, whole.bounds)
    assert (bounds.plan, bounds.outcome) == (None, PlanOutcome.PLANNED)


def test_wrong_input_is_refused_by_kind() -> None:
    nan = {**TABLES, "brokers": with_cell(TABLES["brokers"], "ingress_bytes_per_s", 2, math.nan)}
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, nan))
    assert answer.outcome is PlanOutcome.REFUSED
    assert answer.problems == ("figure brokers.ingress_bytes_per_s: broker 1003 has nan: a positive number is needed",)
    assert answer.plan is None


def test_a_torn_snapshot_is_refused() -> None:
    torn = {**TABLES, "partitions": TABLES["partitions"].slice(0, 80)}
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, torn))
    assert answer.outcome is PlanOutcome.REFUSED
    assert "80 rows were read, the snapshot says 90" in answer.reason
    gone = {"brokers": TABLES["brokers"]}
    assert answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, gone)).outcome is PlanOutcome.REFUSED


def test_a_snapshot_that_changed_under_the_job_is_refused() -> None:
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, TABLES, epoch=EPOCH + 1))
    assert answer.outcome is PlanOutcome.REFUSED
    assert "changed while the snapshot was read" in answer.reason


def test_what_cannot_be_placed_is_infeasible_and_says_what_to_add() -> None:
    tight = with_cell(TABLES["brokers"], "disk_bytes", 3, 1)
    for row in range(1, 9):
        tight = with_cell(tight, "disk_bytes", row, 1)
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, {**TABLES, "brokers": tight}))
    assert answer.outcome is PlanOutcome.INFEASIBLE
    assert "add" in answer.reason


def test_a_defect_shows_in_the_row_of_its_cluster() -> None:
    broken = {**TABLES, "partitions": TABLES["partitions"].drop_columns(["isr"])}
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, broken))
    assert answer.outcome is PlanOutcome.FAILED
    assert "isr" in answer.reason


def test_unknown_rates_are_an_assumption_of_the_plan() -> None:
    state = without_rates(STATE)
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", state, tables_of(state)))
    assert answer.plan is not None
    assert any(
        "write rates of 90 of 90 partitions are unknown" in line for line in json.loads(answer.plan)["assumptions"]
    )


def test_rows_of_many_clusters_become_packs_of_one_each() -> None:
    mixed = pa.concat_tables([named("a", TABLES["brokers"]), named("b", TABLES["brokers"].slice(0, 4))])
    shuffled = mixed.take(np.random.default_rng(1).permutation(mixed.num_rows))
    packs = pa.Table.from_batches(list(packs_of(shuffled.combine_chunks().to_batches()[0], "brokers")))
    assert sorted(map(present, packs["cluster"].to_pylist())) == ["a", "b"]
    of_b = unpacked(packs.filter(pc.equal(packs["cluster"], pa.scalar("b"))), "brokers")
    assert of_b is not None
    assert of_b.sort_by("id").equals(TABLES["brokers"].slice(0, 4))
    assert unpacked(packs, "partitions") is None


def test_windows_replace_rates_weighed_by_samples_and_leave_the_others() -> None:
    topic, number = (TABLES["partitions"][name][4].as_py() for name in ("topic", "partition"))
    rates = pa.table(
        {
            "topic": [topic, topic, topic, "never-seen"],
            "partition": pa.array([number, number, number, 0], pa.int32()),
            "samples": pa.array([1, 3, 0, 5], pa.int64()),
            "write_bytes_per_s": [100.0, 200.0, 9e9, 1.0],
            "read_bytes_per_s": pa.array([8.0, None, 1.0, 1.0], pa.float64()),
        }
    )
    found = with_rates(TABLES["partitions"], rates)
    assert found["write_bytes_per_s"][4].as_py() == 175.0
    assert found["read_bytes_per_s"][4].as_py() == 8.0
    assert found["write_bytes_per_s"][5] == TABLES["partitions"]["write_bytes_per_s"][5]


def test_the_files_hold_the_plan_and_come_with_the_manifest_last() -> None:
    answer = answer_of("orders", AnswerRole.WHOLE, EPOCH, packs_for("orders", STATE, TABLES))
    assert answer.plan is not None
    assert answer.values is not None
    assert answer.bounds is not None
    made = dict(
        files_of(
            cluster="orders",
            epoch=EPOCH,
            plan=answer.plan,
            certificate=certificate(answer.values, answer.bounds),
            reassignments=answer.reassignments or (),
            rollbacks=answer.rollbacks or (),
        )
    )
    names = ["plan.json", "reassignment-0001.json", "rollback-0001.json", "throttles.json", "checkpoints.json"]
    assert [*made] == [*names, "manifest.json"]
    read = read_plan(made["plan.json"], STATE)
    assert read.measures is not None
    assert read.measures.makespan_s.value == answer.values["makespan_s"]
    sent = json.loads(made["reassignment-0001.json"])["partitions"]
    assert [e["replicas"] for e in sent] == [e["replicas"] for e in json.loads(answer.plan)["partitions"]]
    assert json.loads(made["checkpoints.json"])[0]["entries"] == len(sent)


def test_throttles_are_whole_numbers_under_kafkas_names() -> None:
    throttles = throttles_of({"1001": {"in_bytes_per_s": 12.7, "out_bytes_per_s": 3.0}})
    assert throttles == {
        "1001": {"follower.replication.throttled.rate": "12", "leader.replication.throttled.rate": "3"}
    }
