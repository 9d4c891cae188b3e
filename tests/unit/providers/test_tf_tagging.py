"""Tag runs: what the guard lets through, what is told to the module, and the modules themselves."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.base import RunKind, Tagging, TerraformRun
from providers.cost_tags import FORMS
from providers.errors import UnsafeChange, UnsupportedChange
from providers.tf.guard import check
from providers.tf.modules import module_root
from providers.tf.plan import Action, PlannedChange, planned_changes
from providers.tf.tagging import retags, taggable, tagging_module
from tests.fakes.resources import resources, run

MODULES = module_root()
VM, VOLUME = "instance/b-0.g1", "volume/b-0.data.v1"
TAGGING = Tagging(frozenset({VM, VOLUME}), {"team": "billing"}, frozenset({"env"}))
SCHEMAS = Path(__file__).parents[2] / "standins" / "schemas"


def a_run(kind: RunKind = RunKind.TAG, tagging: Tagging | None = TAGGING) -> TerraformRun:
    return replace(run(kind, resources()), tagging=tagging)


def update(target: str, **changed: tuple[Any, Any]) -> PlannedChange:
    named = {path.replace("__", "."): pair for path, pair in changed.items()}
    return PlannedChange(f"module.kedge.x.{target}", target, Action.UPDATE, changed=named)


@pytest.mark.parametrize(
    "changed",
    [
        {"tags__team": ("payments", "billing")},
        {"tags__team": (None, "billing"), "tags_all__team": (None, "billing"), "tags__env": ("test", None)},
        {"labels__env": ("test", None), "effective_labels__env": ("test", None)},
        {"tags": (["a:b", "env:test", "team:payments"], ["a:b", "team:billing"])},
        {"tags": (["a:b"], ["team:billing", "a:b"])},
        {"tags": (None, ["team:billing"])},
        {
            "root_block_device": (
                [{"volume_id": "v", "tags": {"env": "test"}}],
                [{"volume_id": "v", "tags": {"team": "billing"}}],
            )
        },
    ],
)
def test_a_change_of_the_cost_tags_a_run_names_passes(changed: dict[str, Any]) -> None:
    check([update(VM, **changed), PlannedChange("x", VOLUME, Action.NOOP)], a_run())


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"tags__team": ("payments", "other")}, "tags.team"),
        ({"tags__team": ("payments", "billing"), "tags__kedge-node": ("b-0", "b-1")}, "tags.kedge-node"),
        ({"labels__kedge-intent": ("i", None)}, "labels.kedge-intent"),
        ({"labels__owner": ("ops", None)}, "labels.owner"),
        ({"tags__env": ("test", "prod")}, "tags.env"),
        ({"tags__team": ("payments", "billing"), "instance_type": ("a", "b")}, "instance_type"),
        ({"user_data": ("a", "b")}, "user_data"),
        ({"tags": (["kedge-node:b-0"], ["team:billing"])}, "tags kedge-node:b-0"),
        ({"tags": (["team:payments"], ["team:billing", "firewall"])}, "tags firewall"),
        ({"tags": (["owner:ops"], [])}, "tags owner:ops"),
        ({"tags__team__x": ("a", "b")}, "tags.team.x"),
        (
            {"root_block_device": ([{"volume_size": 8, "tags": {}}], [{"volume_size": 9, "tags": {}}])},
            "root_block_device.volume_size",
        ),
        ({"root_block_device": ([{"tags": {"kedge-node": "b"}}], [{"tags": {}}])}, "tags.kedge-node"),
        ({"root_block_device": ([{"tags": {}}], [{"tags": {"kedge-node": "b"}}])}, "tags.kedge-node"),
        ({"root_block_device": ([{"tags": {}}], [{"tags": {}, "kms": "k"}])}, "root_block_device.kms"),
        ({"root_block_device": ([{"tags": {}}], [])}, "root_block_device"),
        ({"root_block_device": ([{"tags": {}}, "a"], [{"tags": {}}, "b"])}, "would change its root_block_device;"),
        ({"root_block_device": ([1], [2])}, "would change its root_block_device;"),
        ({"security_groups": (["env:test"], ["team:billing"])}, "would change its security_groups;"),
        ({"tags": ([1], ["team:billing"])}, "would change its tags;"),
        ({}, "does not say what"),
    ],
)
def test_a_change_of_anything_else_is_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(UnsafeChange) as caught:
        check([update(VM, **changed)], a_run())
    assert told in str(caught.value)


def test_all_that_it_would_change_beside_is_told() -> None:
    before, after = {"size": 8, "tags": {"kedge-node": "b"}}, {"size": 9, "tags": {}}
    with pytest.raises(UnsafeChange, match=r"its root_block_device\.size, tags\.kedge-node;"):
        check([update(VM, root_block_device=([before], [after]))], a_run())


def test_what_is_known_only_once_it_is_applied_is_no_tag() -> None:
    """UpCloud's provider stops a server whose template or network it finds changed, and it may find so only then."""
    told = replace(update(VM, labels__team=("payments", "billing")), unknown=("labels", "network_interface"))
    with pytest.raises(UnsafeChange, match=r"network_interface \(known after it is applied\)"):
        check([told], a_run())
    check([replace(told, unknown=("tags_all",))], a_run())


@pytest.mark.parametrize("action", [Action.CREATE, Action.DELETE, Action.REPLACE, Action.FORGET])
def test_a_tag_run_makes_and_deletes_nothing(action: Action) -> None:
    with pytest.raises(UnsafeChange):
        check([PlannedChange("x", VM, action)], a_run())
    with pytest.raises(UnsafeChange, match="may create nothing"):
        check([], replace(a_run(), creates=frozenset({VM})))
    with pytest.raises(UnsafeChange, match="changes only"):
        check([], replace(a_run(), deletes=frozenset({VM})))


def test_what_the_run_does_not_name_is_frozen() -> None:
    with pytest.raises(UnsafeChange, match="frozen"):
        check([update("instance/b-1.g1", tags__team=("payments", "billing"))], a_run())


@pytest.mark.parametrize("kind", [kind for kind in RunKind if kind is not RunKind.TAG])
def test_no_other_run_may_tag(kind: RunKind) -> None:
    with pytest.raises(UnsafeChange):
        check([update(VM, tags__team=("payments", "billing"))], a_run(kind, None))
    with pytest.raises(UnsafeChange, match="may not tag it"):
        check([], a_run(kind))


def test_tags_of_others_and_of_things_the_run_does_not_name_are_told_as_they_are_found(tmp_path: Path) -> None:
    table = {
        "x_vm.instance": {"tags": {"tags": "instance", "root.0.tags": "root"}, "ignored": []},
        "x_disk.volume": {"tags": {"tags": "volume"}, "ignored": []},
    }
    (tmp_path / "tagging.json").write_text(json.dumps(table))

    def one(type_: str, name: str, key: str, **values: object) -> dict[str, object]:
        address = f'{type_}.{name}["{key}"]'
        return {
            "mode": "managed",
            "type": type_,
            "name": name,
            "index": key,
            "address": address,
            "values": values,
        }

    held = [
        one("x_disk", "attachment", "b-0.g0.data"),
        {**one("x_vm", "instance", "found"), "mode": "data"},
        one("x_vm", "instance", "b-0.g1", tags={"env": "t", "owner": "ops"}, root=[{"tags": {"kedge-node": "b-0"}}]),
        one("x_vm", "instance", "b-1.g1", tags={"env": "t"}, root=[]),
        one("x_disk", "volume", "b-0.data.v1", tags=["owner:ops", "env:test"]),
        one("x_disk", "attachment", "b-0.g1.data"),
    ]
    plan = {"prior_state": {"values": {"root_module": {"child_modules": [{"resources": held}]}}}}
    assert retags(plan, tmp_path, TAGGING) == {
        "instance/b-0.g1": {"owner": "ops", "team": "billing"},
        "root/b-0.g1": {"kedge-node": "b-0", "team": "billing"},
        "instance/b-1.g1": {"env": "t"},
        "root/b-1.g1": {},
        "volume/b-0.data.v1": ["owner:ops", "team:billing"],
    }


@pytest.mark.parametrize("cloud", FORMS)
def test_the_module_of_a_tag_run_ignores_all_but_tags_of_what_can_be_tagged(cloud: str, tmp_path: Path) -> None:
    copy = tagging_module(MODULES / cloud, tmp_path / "copy")
    assert copy.stat().st_mode & 0o777 == 0o700
    text = "\n".join(path.read_text() for path in sorted(copy.glob("*.tf")))
    table = taggable(MODULES / cloud)
    blocks = dict(re.findall(r'^resource "(\w+" "\w+)" \{$(.*?)^\}$', text, re.MULTILINE | re.DOTALL))
    assert {name.replace(".", '" "') for name in table} <= blocks.keys()
    before = "\n".join(path.read_text() for path in sorted((MODULES / cloud).glob("*.tf")))
    left_alone = dict(re.findall(r'^resource "(\w+" "\w+)" \{$(.*?)^\}$', before, re.MULTILINE | re.DOTALL))
    left_alone = {name: block for name, block in left_alone.items() if name.replace('" "', ".") not in table}
    assert {name: blocks.get(name) for name in left_alone} == left_alone
    for name, block in blocks.items():
        entry = table.get(name.replace('" "', "."))
        ignored = re.findall(r"ignore_changes = (.*)$", block, re.MULTILINE)
        if entry is None:
            assert all(told.startswith("all") for told in ignored), name
            continue
        assert ignored == [f"[{', '.join(entry['ignored'])}]"]
        for path, word in entry["tags"].items():
            assert f'lookup(var.retags, "{word}/${{each.key}}"' in block, path
            assert path.replace(".0.", "[0].") not in entry["ignored"]


@pytest.mark.parametrize("cloud", ["azure", "digitalocean", "google", "upcloud"])
def test_all_that_a_provider_takes_is_ignored_but_its_tags(cloud: str) -> None:
    schema = json.loads((SCHEMAS / f"{cloud}.json").read_text())["resources"]
    for name, entry in taggable(MODULES / cloud).items():
        told = schema[name.partition(".")[0]]
        settable = {a for a, (_, *modes) in told["attributes"].items() if {"optional", "required"} & {*modes}}
        wanted = (settable | told.get("blocks", {}).keys()) - {"id", "timeouts"} - entry["tags"].keys()
        assert {*entry["ignored"]} == wanted, name


def test_a_cloud_without_tags_has_no_tag_run(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedChange, match="cannot be tagged in place"):
        tagging_module(MODULES / "local", tmp_path / "copy")


def test_a_table_that_names_what_the_module_has_not_is_refused(tmp_path: Path) -> None:
    module = tmp_path / "module"
    module.mkdir()
    (module / "main.tf").write_text('resource "x" "instance" {\n  lifecycle {\n    ignore_changes = all\n  }\n}\n')
    entry = {"tags": {"tags": "volume"}, "ignored": []}
    (module / "tagging.json").write_text(json.dumps({"x.instance": entry, "y.volume": entry}))
    with pytest.raises(UnsupportedChange, match=r"in place: y\.volume$"):
        tagging_module(module, tmp_path / "copy")


def test_a_plan_tells_the_tags_it_changes_by_their_names() -> None:
    change = {
        "mode": "managed",
        "address": 'module.kedge.x.instance["b-0.g1"]',
        "name": "instance",
        "index": "b-0.g1",
        "change": {
            "actions": ["update"],
            "before": {"tags": {"team": "a", "x.y": "1"}},
            "after": {"tags": {"team": "billing", "x.y": "1"}},
            "after_unknown": {},
        },
    }
    (planned,) = planned_changes({"resource_changes": [change]})
    assert dict(planned.changed) == {"tags.team": ("a", "billing")}
    check([planned], a_run())
