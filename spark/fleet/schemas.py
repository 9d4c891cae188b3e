"""The columns of every frame of a fleet plan: what a snapshot holds, what the kernel answers, what is checked."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
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

PACKS = _columns(
    {"cluster": StringType(), "table": StringType()},
    {"payload": BinaryType(), "path": StringType(), "row_group": IntegerType()},
)
"""Some rows of one table of one cluster, shuffled instead of the rows: as one Arrow stream (`payload`), or where they
lie, in a row group of a Parquet file."""

ROW_GROUPS = _columns(
    {"table": StringType()},
    {
        "path": StringType(),
        "row_group": IntegerType(),
        "cluster": StringType(),
        "rows": LongType(),
        "epoch": LongType(),
        "partitions": LongType(),
        "to_empty": BooleanType(),
    },
)
"""Where rows of a cluster lie: `rows` of all clusters are in that row group. A table that cannot be read so has one row
without `path`. `epoch`, `partitions`: what its row of CLUSTERS says; `to_empty`: whether a broker in it has to be
emptied, or is in a state nobody knows."""

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
        "read": DoubleType(),
        "decode": DoubleType(),
        "solve": DoubleType(),
        "bounds": DoubleType(),
        "replay": DoubleType(),
        "render": DoubleType(),
        "check": DoubleType(),
    },
)
"""Of each step in a task: KERNELS (spark.fleet.kernel), and beside them what is read and the second check."""

ANSWERS = _columns(
    {
        "cluster": StringType(),
        "role": StringType(),
        "epoch": LongType(),
        "outcome": StringType(),
        "reason": StringType(),
        "entries": IntegerType(),
        "problems": ArrayType(StringType(), False),
        "violations": ArrayType(StringType(), False),
        "seconds": SECONDS,
    },
    {
        "values": FIGURES,
        "bounds": FIGURES,
        "plan": StringType(),
        "reassignments": ArrayType(StringType(), False),
        "rollbacks": ArrayType(StringType(), False),
    },
)
"""One row per task. Of a cluster that is planned by two tasks, one row has the plan and `values`, one the `bounds`.

`plan`: the plan file without its certificate. `reassignments`, `rollbacks`: Kafka's JSON, one per checkpoint.
`violations`: what the second check found; a plan with one is not published."""
