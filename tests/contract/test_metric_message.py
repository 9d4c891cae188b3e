"""The message is one contract with two sides that do not import each other: what agents encode is what jobs decode."""

import numpy as np
import pyarrow as pa
import pytest

from agent.metrics_message import (
    BROKER_FIGURES as WRITTEN,
    LATENCIES as WRITTEN_LATER,
    SCHEMA_VERSION,
    VITALS as WRITTEN_LAST,
)
from spark.metrics.wire import BROKER_FIGURES, WIRE, decode
from tests.metric_messages import a_message, a_partition


def test_an_agent_encodes_exactly_the_schema_that_is_read() -> None:
    batch = pa.ipc.open_stream(a_message().encode()).read_next_batch()
    assert [(field.name, field.type) for field in batch.schema] == [(field.name, field.type) for field in WIRE]
    assert batch.num_rows == 1
    batch.validate(full=True)
    assert WRITTEN + WRITTEN_LATER + WRITTEN_LAST == BROKER_FIGURES
    assert batch.column("schema_version").to_pylist() == [SCHEMA_VERSION]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_every_figure_arrives_as_it_was_sent(count: int) -> None:
    sent = [
        a_partition(
            i,
            topic=f"t{i % 3}",
            log_bytes=2**40 + i,
            in_bytes=None if i % 2 else 120 * i,
            out_bytes=None if i % 5 else i,
        )
        for i in range(count)
    ]
    read = decode(a_message(2, partitions=sent, figures={"cpu": 0.5}).encode())
    expected = sorted(sent, key=lambda p: (p.topic, p.partition))
    assert [read.partitions.topics[c] for c in read.partitions.topic] == [p.topic for p in expected]
    assert read.partitions.partition.tolist() == [p.partition for p in expected]
    assert read.log_bytes.tolist() == [p.log_bytes for p in expected]
    np.testing.assert_array_equal(
        read.in_bytes_per_s, [np.nan if p.in_bytes is None else p.in_bytes / 60 for p in expected]
    )
    np.testing.assert_array_equal(
        read.out_bytes_per_s, [np.nan if p.out_bytes is None else p.out_bytes / 60 for p in expected]
    )
    assert read.figures["cpu"] == 0.5
    assert np.isnan(read.figures["log_flush_p99_ms"])


def test_the_key_names_the_message() -> None:
    message = a_message(3, broker=1007, cluster="abc")
    assert message.key.decode() == f"1/abc/1007/{message.interval_start_ms}"
