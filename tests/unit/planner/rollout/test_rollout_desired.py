"""From a spec to its nodes: spread over the zones, and a digest that moves exactly when the VM must be another."""

import gc
from typing import Any

import pytest

from planner.rollout import desired
from planner.rollout.desired import desired_nodes
from tests.builders import a_document


def _names(**spec: Any) -> list[str]:
    return [n.node for n in desired_nodes(a_document(**spec))]


def test_nodes_are_dealt_out_to_the_zones_in_turn() -> None:
    assert _names(brokers=5)[3:] == ["brokers-a-0", "brokers-b-0", "brokers-c-0", "brokers-a-1", "brokers-b-1"]
    racks = [n.rack for n in desired_nodes(a_document(brokers=6)) if n.service == "broker"]
    assert {rack: racks.count(rack) for rack in racks} == {"a": 2, "b": 2, "c": 2}


def test_a_larger_pool_keeps_the_nodes_it_had() -> None:
    assert set(_names(brokers=3)) < set(_names(brokers=6))


def test_a_node_knows_what_its_vm_is_made_of() -> None:
    node = next(n for n in desired_nodes(a_document(machine="medium")) if n.node == "brokers-b-0")
    assert (node.pool, node.rack, node.index, node.service) == ("brokers", "b", 0, "broker")
    assert (node.shape, node.disks.kind, node.disks.gib, node.kafka_version) == ("medium", "persistent", 100, "4.1.1")
    assert node.heap_mib > 0


def _changed(**spec: Any) -> set[str]:
    before = {n.node: n.digest for n in desired_nodes(a_document())}
    after = {n.node: n.digest for n in desired_nodes(a_document(**spec))}
    return {n for n, digest in after.items() if n in before and digest != before[n]}


ALL = {f"{pool}-{rack}-0" for pool in ("brokers", "controllers") for rack in "abc"}
BROKERS = {n for n in ALL if n.startswith("brokers")}


@pytest.mark.parametrize(
    ("spec", "rolled"),
    [
        ({"version": "4.2.0"}, ALL),
        ({"machine": "medium"}, BROKERS),
        ({"brokers": 6}, set()),
        ({"linger": "1m"}, set()),
        ({"soak": "1h"}, set()),
        ({"surge": 2}, set()),
        ({"pause": "true"}, set()),
        ({"deletion": "retain"}, set()),
        ({"name": "other"}, set()),
    ],
    # A set's text differs from process to process, and so would the test's name.
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_only_what_a_running_vm_cannot_take_makes_another_vm(spec: dict[str, Any], rolled: set[str]) -> None:
    assert _changed(**spec) == rolled


def test_the_nodes_of_a_document_are_worked_out_once_and_forgotten_with_it() -> None:
    document = a_document(name="short-lived").model_copy()
    assert desired_nodes(document) is desired_nodes(document)
    assert desired_nodes(document) == desired_nodes(document.model_copy())
    key = id(document)
    assert key in desired._WORKED_OUT
    del document
    gc.collect()
    assert key not in desired._WORKED_OUT
