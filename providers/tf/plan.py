"""What a saved plan would do and what a state holds, from `terraform show -json` (format 1.2)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
        for resource in _resources(plan.get("prior_state", {}).get("values", {}).get("root_module", {}))
        if resource.get("mode") == "managed"
    )


def _action(actions: tuple[str, ...]) -> Action:
    """Two words mean a replacement, whichever comes first; an unknown word is an error, never harmless."""
    if set(actions) in ({"create", "delete"}, {"create", "forget"}):
        return Action.REPLACE
    try:
        (single,) = actions
        return Action(single)
    except ValueError as error:
        raise TerraformFailed(f"the plan holds actions {actions} this version of Kedge does not know") from error


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources", [])
    for child in module.get("child_modules", []):
        yield from _resources(child)
