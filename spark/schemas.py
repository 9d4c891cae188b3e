"""The columns of every DataFrame we exchange. A job ends in a `select` of one of these, so a drift fails
there.
"""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

REQUESTS = StructType(
    [
        StructField("plan_key", StringType(), nullable=False),
        StructField("request", StringType(), nullable=False),
        StructField("givers", ArrayType(IntegerType(), False), nullable=False),
        StructField("targets", ArrayType(IntegerType(), False), nullable=False),
        StructField("racks", MapType(IntegerType(), StringType(), False), nullable=False),
    ]
)
"""One row per request. `request` is its JSON (planner.kinds); the rest is what columns are judged by: which brokers may
lose replicas (a drain's outgoing ones), which may get some, and the rack of every broker.
"""

PARTITIONS = StructType(
    [
        StructField("plan_key", StringType(), nullable=False),
        StructField("topic", IntegerType(), nullable=False),
        StructField("partition", IntegerType(), nullable=False),
        StructField("leader", IntegerType(), nullable=False),
        StructField("replicas", ArrayType(IntegerType(), False), nullable=False),
        StructField("isr", ArrayType(IntegerType(), False), nullable=False),
        StructField("min_isr", IntegerType(), nullable=False),
        StructField("moving", BooleanType(), nullable=False),
        StructField("size_bytes", LongType(), nullable=False),
        StructField("write_bytes_per_s", LongType(), nullable=False),
    ]
)
"""One row per partition and drain; `topic` is an index into the request's topics."""

REBALANCE_PARTITIONS = StructType(
    [
        *PARTITIONS.fields,
        StructField("adding", ArrayType(IntegerType(), False), nullable=False),
        StructField("removing", ArrayType(IntegerType(), False), nullable=False),
        StructField("dirs", ArrayType(IntegerType(), False), nullable=False),
        StructField("read_bytes_per_s", LongType(), nullable=False),
    ]
)
"""One row per partition and rebalance; the last three as in planner.rebalancing.codec."""

MOVE = StructType(
    [
        StructField("topic", StringType(), nullable=False),
        StructField("partition", IntegerType(), nullable=False),
        StructField("before", ArrayType(IntegerType(), False), nullable=False),
        StructField("after", ArrayType(IntegerType(), False), nullable=False),
        StructField("bytes", LongType(), nullable=False),
    ]
)

ANSWERS = StructType(
    [
        StructField("plan_key", StringType(), nullable=False),
        StructField("answer", BinaryType(), nullable=False),
        StructField("moves", ArrayType(MOVE, False), nullable=False),
    ]
)
"""What the planner gives per request: the canonical bytes, and its moves as columns for the second check."""

OUTCOMES = StructType(
    [
        StructField("plan_key", StringType(), nullable=False),
        StructField("answer", BinaryType(), nullable=False),
        StructField("violations", ArrayType(StringType(), False), nullable=False),
    ]
)
"""What a job returns per request. An answer with a violation is not used."""
