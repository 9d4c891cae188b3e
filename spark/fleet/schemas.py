"""The columns of every frame of a fleet plan: what a snapshot holds, what the kernel answers, what is checked."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

_IDS = ArrayType(IntegerType(), False)


def _columns(needed: dict[str, DataType], others: dict[str, DataType] | None = None) -> StructType:
    fields = [StructField(name, kind, nullable=False) for name, kind in needed.items()]
    return StructType(fields + [StructField(name, kind) for name, kind in (others or {}).items()])


CLUSTERS = _columns(
    {"cluster": StringType()},
    {
        "epoch": LongType(),
        "disk_limit": DoubleType(),
        "flow_bytes_per_s": DoubleType(),
        "destinations": MapType(IntegerType(), _IDS),
        "brokers": IntegerType(),
        "partitions": LongType(),
    },
)
"""One row per cluster of a snapshot. `epoch`: of the observation. `brokers` and `partitions` say how many rows the
other tables must have, so that a torn snapshot is noticed."""

BROKERS = _columns(
    {"cluster": StringType()},
    {
        "id": IntegerType(),
        "rack": StringType(),
        "state": StringType(),
        "disk_bytes": LongType(),
        "ingress_bytes_per_s": DoubleType(),
        "egress_bytes_per_s": DoubleType(),
    },
)
"""Bandwidths are what migration may use. All but the key may be null or nonsense: that is answered per cluster."""

PARTITIONS = _columns(
    {"cluster": StringType()},
    {
        "topic": StringType(),
        "partition": IntegerType(),
        "replicas": _IDS,
        "leader": IntegerType(),
        "isr": _IDS,
        "min_isr": IntegerType(),
        "size_bytes": LongType(),
        "write_bytes_per_s": DoubleType(),
        "read_bytes_per_s": DoubleType(),
    },
)
"""A null leader: nobody leads. A null rate: nobody measured it."""

RATES = _columns(
    {"cluster": StringType()},
    {
        "topic": StringType(),
        "partition": IntegerType(),
        "samples": LongType(),
        "write_bytes_per_s": DoubleType(),
        "read_bytes_per_s": DoubleType(),
    },
)
"""Means of metric windows; a partition may have several rows, which count by their samples."""

TASKS = _columns({"cluster": StringType(), "role": StringType(), "slot": IntegerType(), "epoch": LongType()})
"""What runs where: `slot` is the shuffle partition, ascending from the largest cluster."""

PACKS = _columns({"cluster": StringType(), "table": StringType(), "payload": BinaryType()})
"""Some rows of one table of one cluster as one Arrow stream: what is shuffled instead of the rows."""

FIGURES = _columns(
    {},
    {
        "bytes": DoubleType(),
        "makespan_s": DoubleType(),
        "disk": DoubleType(),
        "leaders": DoubleType(),
        "leader_changes": DoubleType(),
        "release_s": DoubleType(),
    },
)
"""The measures of a certificate (planner.drain.model.measures), values or bounds."""

SECONDS = _columns(
    {},
    {
        "decode": DoubleType(),
        "solve": DoubleType(),
        "bounds": DoubleType(),
        "replay": DoubleType(),
        "render": DoubleType(),
    },
)

ANSWERS = _columns(
    {
        "cluster": StringType(),
        "role": StringType(),
        "epoch": LongType(),
        "outcome": StringType(),
        "reason": StringType(),
        "problems": ArrayType(StringType(), False),
        "seconds": SECONDS,
    },
    {
        "values": FIGURES,
        "bounds": FIGURES,
        "plan": StringType(),
        "reassignments": ArrayType(StringType(), False),
        "rollbacks": ArrayType(StringType(), False),
        "start_s": ArrayType(DoubleType(), False),
        "end_s": ArrayType(DoubleType(), False),
    },
)
"""One row per task. Of a cluster that is planned by two tasks, one row has the plan and `values`, one the `bounds`.

`plan`: the plan file without its certificate. `reassignments`, `rollbacks`: Kafka's JSON, one per checkpoint.
`start_s`, `end_s`: when the replay starts and completes each entry."""

_ENTRY = _columns(
    {},
    {"topic": StringType(), "partition": IntegerType(), "replicas": _IDS, "source": IntegerType()},
)
PLAN_FILE = _columns(
    {},
    {
        "partitions": ArrayType(_ENTRY),
        "slots": MapType(StringType(), _columns({}, {"in": IntegerType(), "out": IntegerType()})),
        "throttles": MapType(
            StringType(), _columns({}, {"in_bytes_per_s": DoubleType(), "out_bytes_per_s": DoubleType()})
        ),
        "checkpoints": ArrayType(IntegerType()),
    },
)
"""What of a plan file is judged."""

REASSIGNMENT_FILE = _columns({}, {"partitions": ArrayType(_ENTRY)})

MOVES = _columns(
    {"cluster": StringType(), "position": IntegerType(), "topic": StringType(), "partition": IntegerType()},
    {
        "before": _IDS,
        "after": _IDS,
        "added": _IDS,
        "removed": _IDS,
        "source": IntegerType(),
        "leader": IntegerType(),
        "isr": _IDS,
        "min_isr": IntegerType(),
        "size_bytes": LongType(),
        "start_s": DoubleType(),
        "end_s": DoubleType(),
        "sent": _ENTRY,
        "rollback": _ENTRY,
    },
)
"""One row per entry of a plan, in list order from `position` 0, beside what the snapshot says of its partition.
`added`, `removed`: brokers. `source`: the leader where the plan names none. `sent`, `rollback`: the same entry of the
files for Kafka."""

VIOLATIONS = _columns({"cluster": StringType(), "rule": StringType(), "subject": StringType(), "detail": StringType()})
"""What the second check found; a plan with one is not published."""
