"""The columns of every DataFrame we exchange. A job ends in a `select` of one of these, so a drift fails
there.
"""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
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
        StructField("kind", StringType(), nullable=False),
        StructField("slot", IntegerType(), nullable=False),
        StructField("request", StringType(), nullable=False),
        StructField("partitions", BinaryType(), nullable=False),
        StructField("givers", ArrayType(IntegerType(), False), nullable=False),
        StructField("targets", ArrayType(IntegerType(), False), nullable=False),
        StructField("racks", MapType(IntegerType(), StringType(), False), nullable=False),
    ]
)
"""One row per cluster and plan. `kind` (planner.kinds) says what is asked, `request` is its JSON, `partitions` its
table as an Arrow stream, `slot` the Spark task it is solved in. The rest is what columns are judged by: which brokers
may lose replicas (a drain's outgoing ones), which may get some, and the rack of every broker.
"""

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
        StructField("answer", BinaryType(), nullable=True),
        StructField("moves", ArrayType(MOVE, False), nullable=False),
        StructField("failure", StringType(), nullable=True),
    ]
)
"""What the planner gives per request: the canonical bytes, and its moves as columns for the second check. Without
`answer`, `failure` has what the planner raised."""

OUTCOMES = StructType(
    [
        StructField("plan_key", StringType(), nullable=False),
        StructField("answer", BinaryType(), nullable=True),
        StructField("failure", StringType(), nullable=True),
        StructField("violations", ArrayType(StringType(), False), nullable=False),
    ]
)
"""What a job returns per request. An answer with a violation is not used."""
