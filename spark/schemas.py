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
        StructField("drain_key", StringType(), nullable=False),
        StructField("request", StringType(), nullable=False),
        StructField("outgoing", ArrayType(IntegerType(), False), nullable=False),
        StructField("targets", ArrayType(IntegerType(), False), nullable=False),
        StructField("racks", MapType(IntegerType(), StringType(), False), nullable=False),
    ]
)
"""One row per drain. `request` is the JSON of planner.drain.codec; the rest is what columns are judged by."""

PARTITIONS = StructType(
    [
        StructField("drain_key", StringType(), nullable=False),
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
        StructField("drain_key", StringType(), nullable=False),
        StructField("answer", BinaryType(), nullable=False),
        StructField("moves", ArrayType(MOVE, False), nullable=False),
    ]
)
"""What the planner gives per drain: the canonical bytes, and its moves as columns for the second check."""

OUTCOMES = StructType(
    [
        StructField("drain_key", StringType(), nullable=False),
        StructField("answer", BinaryType(), nullable=False),
        StructField("violations", ArrayType(StringType(), False), nullable=False),
    ]
)
"""What the job returns per drain. An answer with a violation is not used."""
