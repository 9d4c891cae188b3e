"""Plans and streams of Terraform as data: names, actions, taints, progress."""

import json
from typing import Any

import pytest

from providers.errors import TerraformFailed
from providers.tf.address import target_of
from providers.tf.plan import Action, planned_changes, resources_before
from providers.tf.progress import ProgressKind, parse_line


def entry(name: str, key: str | None, *actions: str, mode: str = "managed", **extra: Any) -> dict[str, Any]:
    index = {} if key is None else {"index": key}
    return {
        "address": f'module.kedge.terraform_data.{name}["{key}"]',
        "mode": mode,
        "name": name,
        "change": {"actions": list(actions), **extra},
        **index,
    }


def test_a_resource_of_the_contract_is_named_by_word_and_key() -> None:
    assert target_of(address="x", name="instance", key="b-0.g1") == "instance/b-0.g1"
    assert target_of(address="x", name="instance_nic", key="b-0.g1") == "instance/b-0.g1"


@pytest.mark.parametrize(("name", "key"), [("network", "a"), ("instance", None), ("instance", 0), ("instances", "a")])
def test_anything_else_keeps_terraforms_address(name: str, key: object) -> None:
    assert target_of(address="module.kedge.x", name=name, key=key) == "module.kedge.x"


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (["no-op"], Action.NOOP),
        (["read"], Action.READ),
        (["create"], Action.CREATE),
        (["update"], Action.UPDATE),
        (["delete"], Action.DELETE),
        (["delete", "create"], Action.REPLACE),
        (["create", "delete"], Action.REPLACE),
        (["create", "forget"], Action.REPLACE),
        (["forget"], Action.FORGET),
    ],
)
def test_each_set_of_words_has_one_meaning(words: list[str], action: Action) -> None:
    (change,) = planned_changes({"resource_changes": [entry("instance", "b-0.g1", *words)]})
    assert (change.target, change.action) == ("instance/b-0.g1", action)


@pytest.mark.parametrize("words", [["explode"], [], ["delete", "update"]])
def test_words_nobody_knows_are_an_error(words: list[str]) -> None:
    with pytest.raises(TerraformFailed, match="does not know"):
        planned_changes({"resource_changes": [entry("instance", "b-0.g1", *words)]})


def test_data_sources_are_no_changes() -> None:
    assert planned_changes({"resource_changes": [entry("x", "k", "read", mode="data")]}) == ()


def test_a_plan_that_failed_says_nothing() -> None:
    with pytest.raises(TerraformFailed):
        planned_changes({"errored": True, "resource_changes": []})


def test_an_import_is_noticed_in_a_change_that_does_nothing_else() -> None:
    (change,) = planned_changes({"resource_changes": [entry("volume", "v", "no-op", importing={"id": "x"})]})
    assert change.imported


def changed(action: str, before: dict[str, Any] | None, after: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    told = entry("volume", "b-0.data.v1", action, before=before, after=after, **more)
    (change,) = planned_changes({"resource_changes": [told]})
    return dict(change.changed)


def test_an_update_tells_each_value_that_differs_by_its_path_and_none_that_stays() -> None:
    before = {"size": 10, "type": "gp3", "input": {"size_gib": 10, "zone": "a", "disk": {"kind": "ssd"}}}
    after = {"size": 20, "type": "gp3", "input": {"size_gib": 20, "zone": "a", "disk": {"kind": "nvme"}}}
    assert changed("update", before, after) == {
        "size": (10, 20),
        "input.size_gib": (10, 20),
        "input.disk.kind": ("ssd", "nvme"),
    }


def test_a_value_that_comes_or_goes_with_an_update_differs_too() -> None:
    assert changed("update", {"size": 10}, {"type": "gp3"}) == {"size": (10, None), "type": (None, "gp3")}
    assert changed("update", None, {"size": 10}) == {"size": (None, 10)}
    assert changed("update", {"size": 10}, None) == {"size": (10, None)}


def test_what_the_provider_works_out_is_no_change_of_ours_and_what_it_only_may_is() -> None:
    before, after = {"output": {"id": "a"}, "size": 10}, {"size": 20}
    assert changed("update", before, after, after_unknown={"output": True}) == {"size": (10, 20)}
    both = {"output.id": ("a", None), "size": (10, 20)}
    assert changed("update", before, after, after_unknown={"output": False}) == both
    assert changed("update", before, after, after_unknown={"id": True}) == both


@pytest.mark.parametrize("action", ["create", "delete", "no-op"])
def test_only_an_update_tells_what_it_changes(action: str) -> None:
    assert changed(action, {"size": 10}, {"size": 20}) == {}


def test_what_the_state_held_is_found_in_every_module() -> None:
    def resource(key: str, **more: object) -> dict[str, object]:
        return {"address": f"a.{key}", "mode": "managed", "name": "instance", "index": key, **more}

    plan = {
        "prior_state": {
            "values": {
                "root_module": {
                    "resources": [resource("r.g1")],
                    "child_modules": [{"child_modules": [{"resources": [resource("c.g1", tainted=True)]}]}],
                }
            }
        }
    }
    assert [(r.target, r.tainted) for r in resources_before(plan)] == [
        ("instance/r.g1", False),
        ("instance/c.g1", True),
    ]
    assert resources_before({}) == ()


def line(kind: str, **rest: object) -> str:
    return json.dumps({"type": kind, **rest})


RESOURCE = {"addr": "module.kedge.x", "resource_name": "instance", "resource_key": "b-0.g1"}


def test_the_stream_tells_which_resource_is_worked_on() -> None:
    step = parse_line(line("apply_complete", hook={"resource": RESOURCE, "action": "create", "elapsed_seconds": 2}))
    assert step is not None
    assert (step.kind, step.target, step.action, step.elapsed_s) == (
        ProgressKind.DONE,
        "instance/b-0.g1",
        "create",
        2.0,
    )


def test_a_diagnostic_keeps_terraforms_words() -> None:
    told = {"severity": "error", "summary": "No", "detail": "because\n", "address": "x.y"}
    step = parse_line(line("diagnostic", diagnostic=told))
    assert step is not None
    assert (step.kind, step.message) == (ProgressKind.ERROR, "No: because (x.y)")


@pytest.mark.parametrize("text", ["", "plain words", "[1]", line("version"), line("planned_change")])
def test_what_nobody_needs_to_see_is_dropped(text: str) -> None:
    assert parse_line(text) is None


@pytest.mark.parametrize(("action", "told"), [("update", ("all", "in blocks", "one of two", "within")), ("create", ())])
def test_what_an_update_knows_only_once_it_is_applied_is_named_however_deep_it_is(
    action: str, told: tuple[str, ...]
) -> None:
    unknown = {
        "all": True,
        "known": False,
        "within": {"a": False, "b": True},
        "known within": {"a": False},
        "one of two": [False, True],
        "known both": [False, False],
        "in blocks": [{"a": False}, {"a": {"b": True}}],
        "nothing": {},
    }
    (change,) = planned_changes({"resource_changes": [entry("volume", "v", action, after_unknown=unknown)]})
    assert change.unknown == told
