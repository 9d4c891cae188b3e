"""Messages of other versions, and bytes that are none."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from spark.metrics.wire import NEEDED, WIRE, MessageUnreadable, decode

ROW: dict[str, Any] = {
    "schema_version": 1,
    "cluster": "c1",
    "broker": 1001,
    "node": "b-1",
    "interval_start_ms": 1_790_000_400_000,
    "interval_ms": 60_000,
    "elapsed_ms": 30_000,
    "broker_started_ms": 5,
    "cpu": 0.5,
    "topics": ["orders"],
    "topic": [0, 0],
    "partition": [0, 1],
    "log_bytes": [10, 20],
    "in_bytes": [300, None],
    "out_bytes": [600, 0],
}


def encoded(row: Mapping[str, Any], schema: pa.Schema = WIRE) -> bytes:
    batch = pa.RecordBatch.from_pylist([dict(row)], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def test_bytes_become_rates_over_the_time_that_really_passed() -> None:
    message = decode(encoded(ROW))
    np.testing.assert_array_equal(message.in_bytes_per_s, [10.0, np.nan])
    np.testing.assert_array_equal(message.out_bytes_per_s, [20.0, 0.0])


def test_a_first_reading_has_sizes_but_no_rates() -> None:
    message = decode(encoded({**ROW, "elapsed_ms": 0}))
    assert message.log_bytes.tolist() == [10.0, 20.0]
    assert np.isnan(message.in_bytes_per_s).all()


def test_negative_and_not_a_number_figures_are_unknown() -> None:
    message = decode(encoded({**ROW, "log_bytes": [-1, 20], "cpu": float("nan"), "nic_in_bytes_per_s": -3.0}))
    np.testing.assert_array_equal(message.log_bytes, [np.nan, 20.0])
    assert np.isnan(message.figures["cpu"])
    assert np.isnan(message.figures["nic_in_bytes_per_s"])


def test_a_newer_message_is_read_and_its_new_column_ignored() -> None:
    newer = WIRE.append(pa.field("page_cache_hits", pa.float64()))
    message = decode(encoded({**ROW, "schema_version": 2, "page_cache_hits": 0.9}, newer))
    assert message.log_bytes.tolist() == [10.0, 20.0]


def test_an_older_message_leaves_what_it_lacks_unknown() -> None:
    older = pa.schema([field for field in WIRE if field.name in (*NEEDED, "log_bytes")])
    message = decode(encoded({name: ROW[name] for name in older.names}, older))
    assert message.log_bytes.tolist() == [10.0, 20.0]
    assert np.isnan(message.in_bytes_per_s).all()
    assert all(np.isnan(figure) for figure in message.figures.values())


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"not arrow at all",
        encoded(ROW)[:200],
        encoded({k: v for k, v in ROW.items() if k != "topic"}, WIRE.remove(WIRE.get_field_index("topic"))),
        encoded({**ROW, "interval_ms": 70_000}),
        encoded({**ROW, "interval_ms": 0}),
        encoded({**ROW, "topic": [0, 1]}),
        encoded({**ROW, "partition": [0]}),
        encoded({**ROW, "log_bytes": [1, 2, 3]}),
        encoded({**ROW, "topics": None}),
    ],
    ids=[
        "empty",
        "text",
        "cut",
        "no topics codes",
        "interval",
        "no interval",
        "code",
        "uneven",
        "too many",
        "no names",
    ],
)
def test_what_is_no_message_is_refused_as_one_error(broken: bytes) -> None:
    with pytest.raises(MessageUnreadable):
        decode(broken)
