"""What a refresh-only plan found changed in the cloud, as values a person can read (`show -json`, `resource_drift`).

Only what our modules set is judged: what a cloud or its provider fills in by itself (states, times, the disks others
attached) differs from the recorded state all day and is nobody's doing; so does what an attachment or binding of ours
has added to a VM. Secrets are left out by Terraform's own marks (`before_sensitive`, `after_sensitive`), long texts
(boot data) by their length.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from providers.audits import Drift
from providers.errors import TerraformFailed
from providers.tf.address import target_of
from providers.tf.plan import resources_in

MASKED = "(secret)"
_LONGEST = 160
_NOTHING: tuple[object, ...] = (None, "", [], {})
"""Providers write these for one another: no value."""

_Change = tuple[str, Any, Any, bool]
"""Path, before, after, and whether it is secret."""


def drifts_in(plan: Mapping[str, Any], dynamic: Mapping[str, frozenset[str]] = {}) -> tuple[Drift, ...]:
    """Every value set by us that is another one in the cloud, by address and attribute. Raises `TerraformFailed`.

    `dynamic` are blocks of resources (`<type>.<name>`) that are ours as well, and that no plan tells of.
    """
    if plan.get("errored"):
        raise TerraformFailed("the audit's plan ended with an error; it says nothing about what is there")
    ours, ties = _set_by_us(plan, dynamic), tuple(_ties(plan))
    found = (drift for one in plan.get("resource_drift", []) for drift in _drifts(one, ours, ties))
    return tuple(sorted(found, key=lambda d: (d.address, d.attribute)))


def _drifts(
    one: Mapping[str, Any], ours: Mapping[str, frozenset[str]], ties: tuple[Mapping[str, Any], ...]
) -> Iterator[Drift]:
    if one.get("mode") != "managed":
        return
    address, change = one["address"], one["change"]
    target = target_of(address=address, name=one["name"], key=one.get("index"))
    if "delete" in change["actions"]:
        yield Drift(address, target, "", "there", "gone")
        return
    wanted = ours.get(f"{one['type']}.{one['name']}", frozenset())
    before, after = change.get("before") or {}, change.get("after") or {}
    marks = change.get("before_sensitive") or {}, change.get("after_sensitive") or {}
    own_ties = tuple(t for t in ties if str(after.get("id")) in map(str, t.values()))
    for name in sorted(wanted & (before.keys() | after.keys())):
        old, new = before.get(name), _without_tied(before.get(name), after.get(name), own_ties)
        for path, was, is_, is_secret in _changes(name, old, new, *(_at(m, name) for m in marks)):
            told = (MASKED, "another secret") if is_secret else (_shown(was), _shown(is_))
            yield Drift(address, target, path, *told)


def _without_tied(old: Any, new: Any, ties: tuple[Mapping[str, Any], ...]) -> Any:
    """Blocks that are new and say nothing but what a tie of the same VM says are that tie's."""
    if not ties or not _are_blocks(old) or not _are_blocks(new):
        return new
    return [block for block in new if block in old or not any(_says_the_same(block, tie) for tie in ties)]


def _says_the_same(block: Mapping[str, Any], tie: Mapping[str, Any]) -> bool:
    # A provider that does not know a block's network by itself writes 0 for its id.
    shared = [k for k, v in block.items() if v not in (*_NOTHING, 0) and tie.get(k) not in _NOTHING]
    return bool(shared) and all(str(block[k]) == str(tie[k]) for k in shared)


def _changes(path: str, old: Any, new: Any, old_mark: Any, new_mark: Any) -> Iterator[_Change]:
    """The leaves that differ. A list is one leaf, unless both are as long and made of blocks."""
    if old == new or (old in _NOTHING and new in _NOTHING):
        return
    if old_mark is True or new_mark is True:
        yield path, old, new, True
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            marks = _at(old_mark, key), _at(new_mark, key)
            yield from _changes(f"{path}.{key}", old.get(key), new.get(key), *marks)
    elif _are_blocks(old) and _are_blocks(new) and len(old) == len(new):
        for n, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _changes(f"{path}.{n}", one, other, _at(old_mark, n), _at(new_mark, n))
    else:
        is_secret = _has_mark(old_mark) or _has_mark(new_mark)
        if isinstance(old, list) and isinstance(new, list):
            old, new = [one for one in old if one not in new], [one for one in new if one not in old]
            if not old and not new:
                return  # the same in another order
        yield path, old, new, is_secret


def _are_blocks(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _at(mark: Any, key: str | int) -> Any:
    """The marks of a part. What is marked as a whole is marked in each part."""
    if isinstance(mark, Mapping):
        return mark.get(key, False)
    if isinstance(mark, list):
        return mark[key] if isinstance(key, int) and key < len(mark) else False
    return mark is True


def _has_mark(mark: Any) -> bool:
    if isinstance(mark, Mapping):
        return any(map(_has_mark, mark.values()))
    return any(map(_has_mark, mark)) if isinstance(mark, list) else mark is True


def _shown(value: Any) -> str:
    if value in _NOTHING:
        return "nothing"
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(text) <= _LONGEST:
        return text
    return f"a text of {len(text)} characters (SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:12]})"


def _set_by_us(plan: Mapping[str, Any], dynamic: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    """`<type>.<name>` -> the attributes our modules give a value to."""
    root = plan.get("configuration", {}).get("root_module", {})
    told = {
        f"{resource['type']}.{resource['name']}": frozenset(resource.get("expressions", {}))
        for resource in _resources(root)
        if resource.get("mode") == "managed"
    }
    return {resource: names | dynamic.get(resource, frozenset()) for resource, names in told.items()}


def _ties(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The values of every attachment and binding of the state."""
    for resource in resources_in(plan.get("prior_state", {}).get("values", {}).get("root_module", {})):
        if resource.get("name", "").partition("_")[0] in ("attachment", "binding"):
            yield resource.get("values") or {}


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources", [])
    for call in module.get("module_calls", {}).values():
        yield from _resources(call.get("module", {}))
