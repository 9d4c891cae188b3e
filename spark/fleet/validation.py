"""The second check of every plan, in Spark's own columns: nothing of planner or replay is used or believed.

It reads the files that are published and the snapshot, and takes from the replay only when each entry starts and ends,
which it holds against slots, disks, bandwidths and one fetch's pace.
"""

from typing import TYPE_CHECKING

from spark.fleet.check_inputs import facts_of
from spark.fleet.entry_rules import entry_violations
from spark.fleet.plan_rules import plan_violations
from spark.fleet.running_sums import running_violations
from spark.fleet.schemas import VIOLATIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark.fleet.snapshot import Snapshot


def violations_of(snapshot: "Snapshot", plans: "DataFrame", moves: "DataFrame", brokers: "DataFrame") -> "DataFrame":
    """The snapshot of the planned clusters, `plans_of`, MOVES and `brokers_of` in; VIOLATIONS out, none if all is well.

    `moves` and `brokers` are used many times: pass stored frames.
    """
    found = entry_violations(moves, facts_of(snapshot))
    found = found.unionByName(running_violations(moves, brokers, snapshot.clusters))
    return found.unionByName(plan_violations(plans, moves, brokers)).select(*VIOLATIONS.names)
