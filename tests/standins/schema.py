"""A schema document as the classes of `tf`: what a document does not have, Terraform refuses by itself."""

from collections.abc import Mapping
from typing import Any

from tf import types
from tf.gen import tfplugin_pb2 as pb
from tf.schema import Attribute, Block, NestedBlock, NestMode, Schema

from tests.standins.kind import Rules

_TYPES = {"string": types.String, "number": types.Number, "bool": types.Bool}
_NESTING = {
    "list": pb.Schema.NestedBlock.NestingMode.LIST,
    "set": pb.Schema.NestedBlock.NestingMode.SET,
    "single": pb.Schema.NestedBlock.NestingMode.SINGLE,
}
_COLLECTIONS = {"list": types.List, "set": types.Set, "map": types.Map}


class Nested(NestedBlock):
    """A block of any nesting; `tf` itself has sets only. Its values are plain data and pass through as they are."""

    def __init__(self, name: str, told: Mapping[str, Any]) -> None:
        mode = NestMode.Single if told["nesting"] == "single" else NestMode.Set
        most, least = told.get("max_items"), int(bool(told.get("required")))
        super().__init__(name, mode, Block(*_parts(told)), min_items=least, max_items=most)
        self._nesting = told["nesting"]

    def to_pb(self) -> pb.Schema.NestedBlock:
        return pb.Schema.NestedBlock(
            type_name=self.type_name,
            block=self.block.to_pb(),
            min_items=0 if self._nesting == "single" else self.min_items,
            max_items=self.max_items,
            nesting=_NESTING[self._nesting],
        )

    def encode(self, value: Any) -> Any:
        return value

    def decode(self, value: Any) -> Any:
        return value

    def semantically_equal(self, a_decoded: Any, b_decoded: Any) -> bool:
        return bool(a_decoded == b_decoded)


def schema_of(told: Mapping[str, Any], rules: Rules = Rules()) -> Schema:  # noqa: B008  # frozen and empty
    """The schema of a resource type or of the provider's configuration."""
    attributes, blocks = _parts(told, rules)
    return Schema(version=0, attributes=attributes, block_types=blocks)


def _parts(told: Mapping[str, Any], rules: Rules = Rules()) -> tuple[list[Attribute], list[NestedBlock]]:  # noqa: B008
    attributes = [
        Attribute(
            name,
            _type(kind),
            required="required" in modes,
            optional="optional" in modes,
            computed="computed" in modes,
            sensitive=name in rules.sensitive,
            requires_replace=name in rules.replaces,
        )
        for name, (kind, *modes) in told["attributes"].items()
    ]
    return attributes, [Nested(name, block) for name, block in told.get("blocks", {}).items()]


def _type(told: str) -> types.TfType:
    outer, _, inner = told.partition("(")
    return _COLLECTIONS[outer](_type(inner[:-1])) if inner else _TYPES[told]()
