"""What an audit reads out of a refresh-only plan: values of ours that changed, never a secret."""

from pathlib import Path
from typing import Any

import pytest

from providers.errors import TerraformFailed
from providers.tf.drift import drifts_in
from providers.tf.modules import dynamic_blocks

SECRET = "hunter2-hunter2"


def plan(before: dict[str, Any], after: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    change = {
        "actions": ["update"] if after is not None else ["delete"],
        "before": before,
        "after": after,
        "before_sensitive": more.pop("marks", {}),
        "after_sensitive": more.pop("marks_after", {}),
    }
    drift = {
        "address": 'module.kedge.c_server.instance["b-0.g1"]',
        "mode": "managed",
        "type": "c_server",
        "name": "instance",
        "index": "b-0.g1",
        "change": change,
    }
    expressions: dict[str, dict[str, Any]] = {
        name: {} for name in ("labels", "size", "network", "ports", "password", "text")
    }
    resource = {"mode": "managed", "type": "c_server", "name": "instance", "expressions": expressions}
    module = {"module_calls": {"kedge": {"module": {"resources": [resource]}}}}
    ties = [{"name": "binding", "mode": "managed", "values": more.pop("tie", {})}]
    return {
        "resource_drift": [drift],
        "configuration": {"root_module": module},
        "prior_state": {"values": {"root_module": {"resources": ties}}},
        **more,
    }


def told(*args: Any, **more: Any) -> list[tuple[str, str, str]]:
    return [(d.attribute, d.recorded, d.found) for d in drifts_in(plan(*args, **more))]


def test_only_what_our_module_sets_counts() -> None:
    assert told({"size": 1, "status": "up"}, {"size": 2, "status": "down"}) == [("size", "1", "2")]


def test_a_map_is_told_by_its_keys_and_an_empty_value_is_none() -> None:
    before = {"labels": {"a": "1", "b": "2"}, "ports": None}
    assert told(before, {"labels": {"a": "1", "c": "3"}, "ports": []}) == [
        ("labels.b", '"2"', "nothing"),
        ("labels.c", "nothing", '"3"'),
    ]


def test_a_list_is_told_by_what_is_only_on_one_side_and_its_order_does_not_matter() -> None:
    assert told({"ports": [1, 2]}, {"ports": [2, 3]}) == [("ports", "[1]", "[3]")]
    assert told({"ports": [1, 2]}, {"ports": [2, 1]}) == []


def test_blocks_are_told_by_their_place() -> None:
    assert told({"network": [{"ip": "a", "mtu": 1}]}, {"network": [{"ip": "a", "mtu": 2}]}) == [
        ("network.0.mtu", "1", "2")
    ]


def test_what_a_binding_of_ours_added_is_no_drift_and_what_a_hand_added_is() -> None:
    before = {"id": "7", "network": [{"ip": "a"}]}
    tie = {"server_id": 7, "ip": "b", "subnet": "s"}
    assert told(before, {"id": "7", "network": [{"ip": "a"}, {"ip": "b", "subnet": ""}]}, tie=tie) == []
    by_hand = {"id": "7", "network": [{"ip": "a"}, {"ip": "x"}]}
    assert told(before, by_hand, tie=tie) == [("network", "nothing", '[{"ip": "x"}]')]
    assert told(before, {"id": "7", "network": [{"ip": "a"}, {"ip": "b"}]}, tie={**tie, "server_id": 8}) != []


@pytest.mark.parametrize(
    ("before", "after", "marks"),
    [
        ({"password": SECRET}, {"password": SECRET + "2"}, {"password": True}),
        ({"labels": {"key": SECRET}}, {"labels": {"key": "x"}}, {"labels": {"key": True}}),
        ({"labels": {"key": SECRET}}, {"labels": {"key": "x"}}, {"labels": True}),
        ({"network": [{"k": SECRET}]}, {"network": []}, {"network": [{"k": True}]}),
        ({"text": None}, {"text": SECRET}, {}),
    ],
)
def test_a_secret_is_never_told(before: dict[str, Any], after: dict[str, Any], marks: Any) -> None:
    after_marks = marks or {"text": True}
    found = told(before, after, marks=marks, marks_after=after_marks)
    assert found
    assert SECRET not in str(found)
    assert "(secret)" in str(found)


def test_a_long_text_is_told_by_its_length_and_digest() -> None:
    ((_, recorded, _),) = told({"text": "token" * 100}, {"text": "y"})
    assert "token" not in recorded
    assert recorded.startswith("a text of 502 characters (SHA-256 ")


def test_what_is_gone_is_told_as_a_whole() -> None:
    (drift,) = drifts_in(plan({"size": 1}, None))
    assert drift.is_gone
    assert drift.sentence == 'instance/b-0.g1 (module.kedge.c_server.instance["b-0.g1"]) is gone'


def test_a_plan_that_ended_with_an_error_says_nothing() -> None:
    with pytest.raises(TerraformFailed):
        drifts_in(plan({"size": 1}, {"size": 2}, errored=True))


def test_blocks_of_ours_that_no_plan_tells_of_count_where_the_module_is_read() -> None:
    """A firewall somebody opened was no drift: its rules are `dynamic` blocks, which no plan's configuration has."""
    before, after = {"rule": [{"source": ["10.0.0.0/8"]}]}, {"rule": [{"source": ["10.0.0.0/8", "0.0.0.0/0"]}]}
    assert told(before, after) == []
    (drift,) = drifts_in(plan(before, after), {"c_server.instance": frozenset({"rule"})})
    assert (drift.attribute, drift.recorded, drift.found) == ("rule.0.source", "nothing", '["0.0.0.0/0"]')


def test_dynamic_blocks_of_a_resource_are_read_out_of_its_module(tmp_path: Path) -> None:
    (tmp_path / "a.tf").write_text(
        'resource "c_firewall" "kafka" {\n  dynamic "rule" {\n    content {\n      dynamic "port" {\n      }\n    }\n'
        '  }\n}\n\nresource "c_server" "instance" {\n  network {\n    dynamic "route" {\n    }\n  }\n}\n'
    )
    assert dynamic_blocks(tmp_path) == {"c_firewall.kafka": frozenset({"rule"})}
