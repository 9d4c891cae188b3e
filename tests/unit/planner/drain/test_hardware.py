"""What brokers are made of, in state files and Arrow tables: as it was told, and unknown where nobody said."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planner.drain.model.arrow import brokers_table, partitions_table, state_of
from planner.drain.model.document import read_state, state_document, state_json
from planner.drain.model.hardware import FIGURES, Hardware, known_of, unknown_hardware
from planner.drain.model.problem import DocumentRefused
from planner.drain.model.state import ClusterState
from tests.unit.planner.drain.judge_cases import ACTIVE, OUTGOING, cluster

STATE = cluster("abc", [OUTGOING, ACTIVE, ACTIVE], [[0, 1], [1, 0]])


def told() -> ClusterState:
    figures = {name: np.array([100.0 + n, np.nan, 300.0 + n]) for n, name in enumerate(FIGURES)}
    return replace(STATE, hardware=Hardware(**figures))


def same(left: Hardware | None, right: Hardware | None) -> bool:
    assert left is not None
    assert right is not None
    return all(np.array_equal(getattr(left, name), getattr(right, name), equal_nan=True) for name in FIGURES)


def test_a_state_file_has_the_figures_that_are_known_and_no_others() -> None:
    document = state_document(told())
    assert [sorted(name for name in FIGURES if name in b) for b in document["brokers"]] == [
        sorted(FIGURES), [], sorted(FIGURES),
    ]  # fmt: skip
    assert same(read_state(state_json(told())).state.hardware, told().hardware)


def test_a_state_file_of_before_knows_none() -> None:
    assert read_state(state_json(STATE)).state.hardware is None
    assert not any(name in broker for broker in state_document(STATE)["brokers"] for name in FIGURES)


def test_it_crosses_to_spark_and_back() -> None:
    state = told()
    assert same(state_of(brokers_table(state), partitions_table(state)).hardware, state.hardware)
    assert state_of(brokers_table(STATE), partitions_table(STATE)).hardware is None


@pytest.mark.parametrize("value", [0, -1, "much"])
def test_what_is_no_rate_is_refused(value: Any) -> None:
    document = state_document(STATE)
    document["brokers"][1]["disk_write_bytes_per_s"] = value
    with pytest.raises(DocumentRefused, match=r"brokers\[1\].disk_write_bytes_per_s"):
        read_state(json.dumps(document))


def test_of_a_broker_only_what_is_known_is_told() -> None:
    assert known_of(told().hardware, 0) == {name: 100.0 + n for n, name in enumerate(FIGURES)}
    assert known_of(told().hardware, 1) == {}
    assert known_of(None, 0) == {}
    assert known_of(unknown_hardware(1), 0) == {}
