"""What a saved plan would do and what a state holds, from `terraform show -json` (format 1.2)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from providers.errors import TerraformFailed
from providers.tf.address import target_of


class Action(StrEnum):
    """What Terraform means to do with one resource. `FORGET` is a `removed` block, never an inventory's proof."""

    NOOP = "no-op"
    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REPLACE = "replace"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One resource of the plan. `address` is Terraform's, `target` is `<resource>/<key>`."""

    address: str
    target: str
    action: Action
    imported: bool = False
    changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Of an update: what is before and after, by the path of each value that changes and is known (`size`,
    `input.size_gib`)."""
    unknown: tuple[str, ...] = ()
    """Of an update: what was known, and is to be known again only once it is applied. By top-level name."""


@dataclass(frozen=True, slots=True)
class StateResource:
    """One resource of the state. Tainted: Terraform saw its creation fail and would replace it."""

    address: str
    target: str
    tainted: bool


def planned_changes(plan: Mapping[str, Any]) -> tuple[PlannedChange, ...]:
    """Every managed resource of a plan, also those that stay as they are. Raises `TerraformFailed`."""
    if plan.get("errored"):
        raise TerraformFailed("the plan ended with an error; it says nothing about what would happen")
    return tuple(
        PlannedChange(
            address=change["address"],
            target=target_of(address=change["address"], name=change["name"], key=change.get("index")),
            action=_action(tuple(change["change"]["actions"])),
            imported="importing" in change["change"],
            changed=_changed(change["change"]),
            unknown=_unknown(change["change"]),
        )
        for change in plan.get("resource_changes", [])
        if change.get("mode") == "managed"
    )


def resources_before(plan: Mapping[str, Any]) -> tuple[StateResource, ...]:
    """Every managed resource of the state a plan was made from; empty for a state that was never written."""
    return tuple(
        StateResource(
            address=resource["address"],
            target=target_of(address=resource["address"], name=resource["name"], key=resource.get("index")),
            tainted=bool(resource.get("tainted", False)),
        )
        for resource in resources_in(plan.get("prior_state", {}).get("values", {}).get("root_module", {}))
        if resource.get("mode") == "managed"
    )


def _changed(change: Mapping[str, Any]) -> Mapping[str, tuple[Any, Any]]:
    """Leaves that differ. What is unknown until it is applied is what the provider computes, and no wish of ours."""
    if tuple(change["actions"]) != ("update",):
        return {}
    unknown = change.get("after_unknown") or {}
    before, after = dict(_leaves(change.get("before") or {})), dict(_leaves(change.get("after") or {}))
    paths = sorted(before.keys() | after.keys())
    return {
        path: (before.get(path), after.get(path))
        for path in paths
        if before.get(path) != after.get(path) and unknown.get(path.partition(".")[0]) is not True
    }


def _unknown(change: Mapping[str, Any]) -> tuple[str, ...]:
    if tuple(change["actions"]) != ("update",):
        return ()
    return tuple(sorted(name for name, mark in (change.get("after_unknown") or {}).items() if _is_marked(mark)))


def _is_marked(mark: Any) -> bool:
    if isinstance(mark, Mapping):
        return any(map(_is_marked, mark.values()))
    return any(map(_is_marked, mark)) if isinstance(mark, list) else mark is True


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, part in value.items():
        here = f"{path}.{key}" if path else key
        if isinstance(part, Mapping):
            yield from _leaves(part, here)
        else:
            yield here, part


def _action(actions: tuple[str, ...]) -> Action:
    """Two words mean a replacement, whichever comes first; an unknown word is an error, never harmless."""
    if set(actions) in ({"create", "delete"}, {"create", "forget"}):
        return Action.REPLACE
    try:
        (single,) = actions
        return Action(single)
    except ValueError as error:
        raise TerraformFailed(f"the plan holds actions {actions} this version of Kedge does not know") from error


def resources_in(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every resource below a module of `values`, data sources too."""
    yield from module.get("resources", [])
    for child in module.get("child_modules", []):
        yield from resources_in(child)
