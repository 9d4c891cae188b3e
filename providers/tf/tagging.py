"""Tag runs: cost tags of what stands are changed in place, and nothing else of it.

What exists is frozen: every other run ignores what it looks like. `tagging.json` of a cloud's module says, for each
kind of thing that can be tagged where it is, which attributes hold tags and all others that a plan could change:

    "aws_ebs_volume.volume": {"tags": {"tags": "volume"}, "ignored": ["availability_zone", "size", ...]}

The module of a tag run is a copy in which those resources ignore exactly `ignored`. What they are to carry is told by
the variable `retags`, by `<word>/<key>`: what they carry now, as the cloud has just told it, with the run's change. So
neither a tag of Kedge's nor one that somebody else gave them is ever taken off or put back.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from providers.base import Tagging
from providers.errors import UnsupportedChange
from providers.tf.address import target_of
from providers.tf.plan import PlannedChange, resources_in

VARIABLE = "retags"
TABLE = "tagging.json"

_RESOURCE = re.compile(r'^resource "(\w+)" "(\w+)" \{$.*?^\}$', re.MULTILINE | re.DOTALL)
_IGNORES = re.compile(r"^(\s*ignore_changes\s*=\s*)\S.*$", re.MULTILINE)

_HOLD_TAGS = ("tags", "tags_all", "labels", "effective_labels", "terraform_labels")
"""Attributes of the providers that hold tags, their own computed ones among them."""


def taggable(module: Path) -> Mapping[str, Mapping[str, Any]]:
    """What the module of a cloud can tag where it is, by `<type>.<name>`. Empty for a cloud without tags."""
    table = module / TABLE
    return json.loads(table.read_text()) if table.exists() else {}


def tagging_module(module: Path, copy: Path) -> Path:
    """Writes the module of tag runs to the new directory `copy`, and returns that. Raises `UnsupportedChange`."""
    table = taggable(module)
    found: set[str] = set()
    copy.mkdir(mode=0o700)

    def thawed(block: re.Match[str]) -> str:
        name = f"{block[1]}.{block[2]}"
        if name not in table:
            return block[0]
        text, lines = _IGNORES.subn(rf"\g<1>[{', '.join(table[name]['ignored'])}]", block[0])
        found.update({name} if lines == 1 else ())
        return text

    for file in sorted(path for path in module.iterdir() if path.is_file()):
        if file.suffix == ".tf":
            (copy / file.name).write_text(_RESOURCE.sub(thawed, file.read_text()))
        else:
            shutil.copyfile(file, copy / file.name)
    if not table or found != table.keys():
        lacking = ", ".join(sorted(table.keys() - found)) or "nothing of it"
        raise UnsupportedChange(f"the module of {module.name} cannot be tagged in place: {lacking}")
    return copy


def retags(plan: Mapping[str, Any], module: Path, tagging: Tagging) -> dict[str, object]:
    """What everything taggable is to carry after the run, by `<word>/<key>`, from a plan that looked at the cloud."""
    table = taggable(module)
    found: dict[str, object] = {}
    for resource in resources_in(plan.get("prior_state", {}).get("values", {}).get("root_module", {})):
        entry = table.get(f"{resource['type']}.{resource['name']}")
        if resource.get("mode") != "managed" or entry is None:
            continue
        named = target_of(address=resource["address"], name=resource["name"], key=resource.get("index"))
        for path, word in entry["tags"].items():
            carried = _at(resource.get("values") or {}, path)
            after = _retagged(carried, tagging) if named in tagging.targets else carried
            found[f"{word}/{resource['index']}"] = after if after is not None else {}
    return found


def refusal(change: PlannedChange, tagging: Tagging) -> str | None:
    """None where the update is of cost tags that the run names, and of nothing beside them."""
    others = sorted({told for path, pair in change.changed.items() for told in _others(path, pair, tagging)})
    # What a provider cannot tell beforehand it may change: UpCloud's stops a server where it finds that it has.
    others += [f"{name} (known after it is applied)" for name in change.unknown if name not in _HOLD_TAGS]
    if others:
        return (
            f"the plan would change its {', '.join(others)}; a tag run changes the cost tags it names and nothing else"
        )
    if not change.changed:
        return "the plan would update it and does not say what of it"
    return None


def _others(path: str, pair: tuple[Any, Any], tagging: Tagging) -> Iterator[str]:
    """What of a changed value is no cost tag of the run."""
    name, _, key = path.partition(".")
    before, after = pair
    if name in _HOLD_TAGS and key:
        if key not in tagging.keys or after not in (tagging.put.get(key), None):
            yield path
    elif name in _HOLD_TAGS and _are_words(before) and _are_words(after):
        wanted = {f"{k}:{v}" for k, v in tagging.put.items()}
        added, gone = set(after or ()) - set(before or ()), set(before or ()) - set(after or ())
        yield from (f"{path} {word}" for word in sorted(added - wanted))
        yield from (f"{path} {word}" for word in sorted(gone) if word.partition(":")[0] not in tagging.keys)
    elif _are_blocks(before) and _are_blocks(after) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            for word in sorted(one.keys() | other.keys()):
                old, new = one.get(word), other.get(word)
                if old == new:
                    continue
                if word not in _HOLD_TAGS:
                    yield f"{path}.{word}"
                    continue
                old, new = old or {}, new or {}
                for tag in sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k)):
                    yield from _others(f"{word}.{tag}", (old.get(tag), new.get(tag)), tagging)
    else:
        yield path


def _retagged(carried: Any, tagging: Tagging) -> Any:
    if isinstance(carried, list):  # flat words, `key:value`
        kept = [word for word in carried if word.partition(":")[0] not in tagging.keys]
        return sorted([*kept, *(f"{key}:{value}" for key, value in tagging.put.items())])
    kept_tags = {key: value for key, value in (carried or {}).items() if key not in tagging.keys}
    return {**kept_tags, **tagging.put}


def _at(values: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(values, list):
            values = values[int(part)] if int(part) < len(values) else None
        else:
            values = (values or {}).get(part)
    return values


def _are_words(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _are_blocks(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)
