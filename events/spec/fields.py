"""What every part of a spec has in common: strict keys, camelCase in YAML, and a class that says what a change costs.

The class of a field is data, not code: the differ, the digest of an instance, the check of a change and the reference
page all read it from here, so a new field cannot be known to one of them and forgotten by another.
"""

import types
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

CLASS_KEY = "x-kedge-class"
ITEM_CLASS_KEY = "x-kedge-item-class"


class FieldClass(StrEnum):
    """What a changed field costs."""

    STATIC = "static"
    RESTART = "restart"
    DYNAMIC = "dynamic"
    BEHAVIOURAL = "behavioural"
    IDENTITY = "identity"


CLASS_MEANING = {
    FieldClass.STATIC: "needs a new VM: every instance it concerns is rolled",
    FieldClass.RESTART: "the service is restarted in place, one rack at a time",
    FieldClass.DYNAMIC: "Kafka accepts it live; nothing restarts",
    FieldClass.BEHAVIOURAL: "only what Kedge does changes; no running instance is touched by the change itself",
    FieldClass.IDENTITY: "cannot change while the cluster lives",
}


class Part(BaseModel):
    """Base of every mapping in a spec. Frozen; unknown keys are refused; YAML keys are the aliases."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
    )

    key_field: ClassVar[str | None] = None
    """Field that names an item where parts are listed: lists are compared by it, never by position."""


def classed(field_class: FieldClass, description: str, *, item_class: str | None = None, **settings: Any) -> Any:
    """A pydantic field with its class and its documentation.

    `item_class` names a rule that classes each key of a mapping on its own (`kafka-property`).
    """
    extra = {CLASS_KEY: field_class.value}
    if item_class is not None:
        extra[ITEM_CLASS_KEY] = item_class
    return Field(description=description, json_schema_extra=cast(Any, extra), **settings)


def field_class(info: FieldInfo) -> FieldClass:
    """The class of a field. Raises `TypeError` for a field declared without one: that is a mistake in the model."""
    extra = info.json_schema_extra
    if not isinstance(extra, dict) or CLASS_KEY not in extra:
        raise TypeError(f"spec field {info.alias!r} was declared without a field class")
    return FieldClass(str(extra[CLASS_KEY]))


def item_class_rule(info: FieldInfo) -> str | None:
    """The rule that classes the keys of a mapping field one by one, or None."""
    extra = info.json_schema_extra
    rule = extra.get(ITEM_CLASS_KEY) if isinstance(extra, dict) else None
    return str(rule) if rule is not None else None


def fields_of(model: type[Part]) -> Iterator[tuple[str, str, FieldInfo]]:
    """(python name, YAML key, field) of a part, in the order they are declared."""
    for name, info in model.model_fields.items():
        yield name, info.alias or name, info


def part_type(annotation: Any) -> type[Part] | None:
    """The part inside an annotation: `Disk`, `Disk | None`, `tuple[Pool, ...]`; None for plain values."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    if get_origin(annotation) in (tuple, Annotated, Union, types.UnionType):
        for argument in get_args(annotation):
            found = part_type(argument)
            if found is not None:
                return found
    return None


def is_listed(annotation: Any) -> bool:
    """Whether the annotation is a list of something."""
    return get_origin(annotation) is tuple


def part_at(root: type[Part], path: tuple[str | int, ...]) -> type[Part] | None:
    """The part a YAML path leads to, or None where the path leaves the model or ends in a plain value."""
    model: type[Part] | None = root
    for step in path:
        if isinstance(step, int):
            continue
        if model is None:
            return None
        model = next((part_type(info.annotation) for _, key, info in fields_of(model) if key == step), None)
    return model
