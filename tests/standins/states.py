"""The three moments of a resource's values: planned, made, seen again. Pure, on the plain data of the plugin protocol.

A value that is told only by the cloud is `Unknown` in a plan; what a person set stays as it was set.
"""

from collections.abc import Mapping
from typing import Any

from tf.types import Unknown

from tests.standins.kind import Values

Block = Mapping[str, Any]
"""`attributes` and `blocks` of a resource, or of one of its blocks, as in `tests.standins.document`."""


def blank(block: Block) -> Values:
    """Nothing set: what an import begins with."""
    nested: Values = {name: None if b["nesting"] == "single" else [] for name, b in block.get("blocks", {}).items()}
    return dict.fromkeys(block["attributes"]) | nested


def fitted(block: Block, old: Mapping[str, Any]) -> Values:
    """What another release of the provider wrote, as this one has it: unknown things go, new ones are null."""
    values: Values = {name: old.get(name) for name in block["attributes"]}
    for name, nested in block.get("blocks", {}).items():
        given = old.get(name)
        if isinstance(given, dict):
            values[name] = fitted(nested, given)
        elif isinstance(given, list):
            values[name] = [fitted(nested, each) for each in given]
        else:
            values[name] = None if nested["nesting"] == "single" else []
    return values


def planned(block: Block, proposed: Values) -> Values:
    """A new one as it will be: what nobody set and the cloud tells is unknown, in blocks too."""
    values = dict(proposed)
    for name, (_, *modes) in block["attributes"].items():
        if values.get(name) is None:
            values[name] = Unknown if "computed" in modes else None
    return _with_blocks(block, values, planned)


def made(block: Block, plan: Values, facts: Mapping[str, Any]) -> Values:
    """After a create or an update: the plan, its unknowns filled from the facts, None for what has none."""
    values = {name: facts.get(name) if plan.get(name) is Unknown else plan.get(name) for name in block["attributes"]}
    for name, nested in block.get("blocks", {}).items():
        values[name] = _paired(nested, plan.get(name), facts.get(name), made)
    return values


def seen(block: Block, state: Values, facts: Mapping[str, Any]) -> Values:
    """After a read: the facts, where there are some. Nothing told and nothing set are the same."""
    values: Values = {}
    for name in block["attributes"]:
        told = facts.get(name, state.get(name))
        values[name] = None if state.get(name) is None and not told and not _computed(block, name) else told
    for name, nested in block.get("blocks", {}).items():
        if name in facts and _count(facts[name]) != _count(state.get(name)):
            values[name] = _filled(nested, facts[name])
        else:
            values[name] = _paired(nested, state.get(name), facts.get(name), seen)
    return values


def _computed(block: Block, name: str) -> bool:
    return "computed" in block["attributes"][name]


def _with_blocks(block: Block, values: Values, what: Any) -> Values:
    for name, nested in block.get("blocks", {}).items():
        given = values.get(name)
        if isinstance(given, list):
            values[name] = [what(nested, each) for each in given]
        elif isinstance(given, dict):
            values[name] = what(nested, given)
        else:
            values[name] = Unknown if given is Unknown else blank({"attributes": {}, "blocks": {name: nested}})[name]
    return values


def _paired(nested: Block, given: Any, facts: Any, what: Any) -> Any:
    """Each block with the facts of the same place in order."""
    if isinstance(given, dict):
        return what(nested, given, facts or {})
    if not isinstance(given, list):
        return None if nested["nesting"] == "single" else []
    told = list(facts or [])
    return [what(nested, each, told[i] if i < len(told) else {}) for i, each in enumerate(given)]


def _filled(nested: Block, facts: Any) -> Any:
    """Blocks as told, for which there is no state."""
    if nested["nesting"] == "single":
        return None if facts is None else seen(nested, blank(nested), facts)
    return [seen(nested, blank(nested), each) for each in facts or ()]


def _count(given: Any) -> int:
    return len(given) if isinstance(given, list) else int(given is not None)
