"""What differs between two accepted specs, field by field, with what each change costs.

Generic over the model: a field is compared because it exists and costs what its class says. Lists of parts are
compared by name, so moving a pool to another line of the file is no change.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic.fields import FieldInfo

from events.spec.failover_model import KafkaFailoverDocument
from events.spec.fields import (
    FieldClass,
    Part,
    field_class,
    fields_of,
    is_listed,
    item_class_rule,
    part_type,
)
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Path
from events.spec.properties import property_class


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One changed field. `old` and `new` are JSON-safe; None also stands for an item that was not there.

    `path` is for people (`spec.pools[brokers].size`); `steps` leads to the new value in the new document.
    """

    path: str
    old: Any
    new: Any
    field_class: FieldClass
    steps: Path = field(default=(), compare=False)


ItemClasses = Mapping[str, Callable[[str], FieldClass]]


def item_classes(document: KafkaClusterDocument) -> ItemClasses:
    """Rules that class the keys of a mapping one by one, by their name in the model, for the document to come."""
    return {"kafka-property": lambda key: property_class(key, document.spec.kafka.version)}


def differences(old: KafkaClusterDocument, new: KafkaClusterDocument) -> tuple[FieldChange, ...]:
    """Every changed field, in the order of the model. Empty exactly when the two mean the same."""
    return tuple(_in_part(old, new, "", (), item_classes(new)))


def pair_differences(old: KafkaFailoverDocument, new: KafkaFailoverDocument) -> tuple[FieldChange, ...]:
    """The same of two declarations of a pair."""
    return tuple(_in_part(old, new, "", (), {}))


def _in_part(old: Part, new: Part, path: str, steps: Path, rules: ItemClasses) -> Iterator[FieldChange]:
    for name, key, info in fields_of(type(new)):
        here = f"{path}.{key}" if path else key
        yield from _in_field(info, getattr(old, name), getattr(new, name), here, (*steps, key), rules)


def _in_field(info: FieldInfo, old: Any, new: Any, path: str, steps: Path, rules: ItemClasses) -> Iterator[FieldChange]:
    cost = field_class(info)
    if isinstance(old, Part) and isinstance(new, Part):
        yield from _in_part(old, new, path, steps, rules)
    elif is_listed(info.annotation) and (kind := part_type(info.annotation)) is not None and kind.key_field:
        yield from _in_list(old, new, cost, path, steps, rules)
    elif isinstance(old, dict) and isinstance(new, dict):
        yield from _in_mapping(old, new, info, path, steps, rules)
    elif old != new:
        yield FieldChange(path, _plain(old), _plain(new), cost, steps)


def _in_list(
    old: tuple[Part, ...], new: tuple[Part, ...], cost: FieldClass, path: str, steps: Path, rules: ItemClasses
) -> Iterator[FieldChange]:
    before = {_key(part): part for part in old}
    after = {_key(part): (index, part) for index, part in enumerate(new)}
    for name, (index, part) in after.items():
        here, there = f"{path}[{name}]", (*steps, index)
        if name in before:
            yield from _in_part(before[name], part, here, there, rules)
        else:
            yield FieldChange(here, None, _plain(part), cost, there)
    for name, part in before.items():
        if name not in after:
            yield FieldChange(f"{path}[{name}]", _plain(part), None, cost, steps)


def _in_mapping(
    old: dict[str, str], new: dict[str, str], info: FieldInfo, path: str, steps: Path, rules: ItemClasses
) -> Iterator[FieldChange]:
    rule = item_class_rule(info)
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            cost = rules[rule](key) if rule is not None else field_class(info)
            yield FieldChange(f"{path}[{key}]", old.get(key), new.get(key), cost, (*steps, key))


def _key(part: Part) -> str:
    return str(getattr(part, part.key_field or ""))


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.model_dump(mode="json", by_alias=True)
    return [_plain(v) for v in value] if isinstance(value, tuple) else value
