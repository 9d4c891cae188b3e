"""The second check of every plan, on whole columns: nothing of planner or replay is used or believed.

It reads the documents that are published and the snapshot, and takes from the replay only when each entry starts and
ends, which it holds against slots, disks, bandwidths and one fetch's pace. It runs where the plan was made: there the
snapshot's columns are in memory already, and nothing of them has to be read, sent or sorted again.
"""

from typing import Any

import pyarrow as pa

from spark.fleet.answers import PlanAnswer
from spark.fleet.check_inputs import broker_table_of
from spark.fleet.entry_rules import Policy, entry_violations
from spark.fleet.moves import moves_of
from spark.fleet.plan_rules import plan_violations
from spark.fleet.published import plan_said
from spark.fleet.running_sums import running_violations
from spark.fleet.violation import Violation


def violations_of(
    answer: PlanAnswer, policy: dict[str, Any], brokers: pa.Table, partitions: pa.Table
) -> list[Violation]:
    """What is wrong with a plan, in order; empty if all is well. `policy`: the cluster's row of CLUSTERS; the tables:
    its BROKERS and PARTITIONS, sound (spark.fleet.soundness). Raises ValueError, KeyError or TypeError for documents
    that are none of ours.
    """
    flow = policy["flow_bytes_per_s"]
    said = plan_said(answer)
    moves = moves_of(said, partitions)
    broker_table = broker_table_of(brokers, partitions, said, moves, disk_limit=policy["disk_limit"])
    limits = Policy(policy["disk_limit"], flow, {b: to for b, to in policy["destinations"].items() if to is not None})
    found = list(entry_violations(moves, broker_table, limits))
    found += running_violations(moves, broker_table, flow_bytes_per_s=flow)
    found += plan_violations(said, moves, broker_table)
    return sorted(found)
