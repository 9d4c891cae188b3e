"""How each Python type of a fact looks in JSON, both ways side by side. Compiled once: decoding is the hot path.

Strict on purpose. A naive datetime, a NaN, a bool for an int or a float for an int is refused when a fact is written,
so that no history has to be guessed at later.
"""

import enum
import json
import math
import types
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from events.errors import UnencodableFact


class Mismatch(Exception):
    """A value does not fit its type. Collects the path to it on the way out; the codec turns it into an error."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = ""

    def under(self, step: str) -> "Mismatch":
        """The same, seen from one level further out."""
        self.path = step + self.path
        return self


@dataclass(frozen=True, slots=True)
class Converter:
    """`encode`: value -> JSON-safe value; `decode`: the way back. Both raise Mismatch."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


@cache
def converter_of(hint: Any) -> Converter:
    """The converter of a type hint. Raises UnencodableFact for a type no event can carry."""
    if isinstance(hint, NewType):
        return converter_of(hint.__supertype__)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _optional(hint, args)
    if origin is Literal:
        return _literal(args)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _series(converter_of(args[0]))
    if origin is tuple and args:
        return _record(tuple(converter_of(arg) for arg in args))
    if origin is Sequence:
        return _series(converter_of(args[0]))
    if origin in (frozenset, Set):
        return _frozenset(converter_of(args[0]))
    if origin in (Mapping, dict):
        return _mapping(args[0], converter_of(args[1]))
    raise UnencodableFact(
        f"no event can carry {hint!r}: use str, int, float, bool, datetime, enums, Literal, frozen dataclasses, "
        "tuple[X, ...], frozenset[X], Mapping[str, X] or X | None"
    )


def _dataclass(cls: type) -> Converter:
    hints = get_type_hints(cls)
    parts = [(f, converter_of(hints[f.name])) for f in fields(cls) if f.init]
    writers = tuple((f.name, converter.encode) for f, converter in parts)
    readers = tuple((f.name, converter.decode) for f, converter in parts)
    defaults = {f.name: _default(f) for f, _ in parts if f.default is not MISSING or f.default_factory is not MISSING}

    def encode(value: Any) -> dict[str, Any]:
        if type(value) is not cls:
            raise _expected(cls.__name__, value)
        encoded = {}
        for name, write in writers:
            try:
                encoded[name] = write(getattr(value, name))
            except Mismatch as mismatch:
                raise mismatch.under(f".{name}") from None
        return encoded

    def decode(data: Any) -> Any:
        try:
            arguments = [read(data[name]) for name, read in readers]
        except (KeyError, TypeError, Mismatch):
            arguments = decode_with_care(data)
        try:
            return cls(*arguments)
        except (TypeError, ValueError) as error:  # the class's own __post_init__ refused
            raise Mismatch(f"{cls.__name__} refused its values: {error}") from error

    def decode_with_care(data: Any) -> list[Any]:
        """The same with defaults for what is missing, and the path to what does not fit."""
        if not isinstance(data, dict):
            raise _expected("an object", data)
        arguments = []
        for name, read in readers:
            if name in data:
                try:
                    arguments.append(read(data[name]))
                except Mismatch as mismatch:
                    raise mismatch.under(f".{name}") from None
            elif name in defaults:
                arguments.append(defaults[name]())
            else:
                raise Mismatch("is missing and has no default").under(f".{name}")
        return arguments

    return Converter(encode, decode)


def _default(field: Any) -> Callable[[], Any]:
    if field.default_factory is not MISSING:
        factory: Callable[[], Any] = field.default_factory
        return factory
    return lambda: field.default


def _optional(hint: Any, args: tuple[Any, ...]) -> Converter:
    inner = [arg for arg in args if arg is not types.NoneType]
    if len(inner) != 1 or len(inner) == len(args):
        raise UnencodableFact(
            f"no event can carry {hint!r}: of unions only X | None is known; give each case its own event"
        )
    converter = converter_of(inner[0])
    write, read = converter.encode, converter.decode
    return Converter(
        encode=lambda value: None if value is None else write(value),
        decode=lambda value: None if value is None else read(value),
    )


def _enum(cls: type[enum.Enum]) -> Converter:
    members = {member.value: member for member in cls}
    if not all(isinstance(value, str | int) for value in members):
        raise UnencodableFact(f"enum {cls.__qualname__} must have str or int values to be carried by an event")

    def encode(value: Any) -> Any:
        if type(value) is not cls:
            raise _expected(cls.__name__, value)
        return value.value

    def decode(value: Any) -> Any:
        try:
            return members[value]
        except (KeyError, TypeError):
            raise Mismatch(f"{value!r} is not a {cls.__name__}: {', '.join(map(repr, members))}") from None

    return Converter(encode, decode)


def _literal(allowed: tuple[Any, ...]) -> Converter:
    def check(value: Any) -> Any:
        if value not in allowed or (isinstance(value, bool) and not any(value is one for one in allowed)):
            raise Mismatch(f"{value!r} is none of {', '.join(map(repr, allowed))}")
        return value

    return Converter(check, check)


def _series(item: Converter) -> Converter:
    def each(convert: Callable[[Any], Any], values: Any) -> list[Any]:
        converted = []
        for index, value in enumerate(values):
            try:
                converted.append(convert(value))
            except Mismatch as mismatch:
                raise mismatch.under(f"[{index}]") from None
        return converted

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, tuple | list):
            raise _expected("a tuple", value)
        return each(item.encode, value)

    def decode(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise _expected("a list", value)
        return tuple(each(item.decode, value))

    return Converter(encode, decode)


def _record(items: tuple[Converter, ...]) -> Converter:
    def encode(value: Any) -> list[Any]:
        if not isinstance(value, tuple) or len(value) != len(items):
            raise _expected(f"a tuple of {len(items)}", value)
        return [item.encode(part) for item, part in zip(items, value, strict=True)]

    def decode(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(items):
            raise _expected(f"a list of {len(items)}", value)
        return tuple(item.decode(part) for item, part in zip(items, value, strict=True))

    return Converter(encode, decode)


def _frozenset(item: Converter) -> Converter:
    def encode(value: Any) -> list[Any]:
        if not isinstance(value, Set):
            raise _expected("a frozenset", value)
        # Sorted, so that the same fact is the same bytes in every process.
        return sorted((item.encode(part) for part in value), key=lambda part: json.dumps(part, sort_keys=True))

    def decode(value: Any) -> frozenset[Any]:
        if type(value) is not list:
            raise _expected("a list", value)
        return frozenset(map(item.decode, value))

    return Converter(encode, decode)


def _mapping(key_hint: Any, item: Converter) -> Converter:
    """JSON keys are strings: int keys (broker ids) are written as decimal digits."""
    key = converter_of(key_hint)
    int_keys = _bottom(key_hint) is int

    def encode(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _expected("a mapping", value)
        encoded = {}
        for name, part in value.items():
            try:
                written = key.encode(name)
                encoded[str(written) if int_keys else _text_in(written)] = item.encode(part)
            except Mismatch as mismatch:
                raise mismatch.under(f"[{name!r}]") from None
        return encoded

    def decode(value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
            raise _expected("an object", value)
        decoded = {}
        for name, part in value.items():
            try:
                decoded[key.decode(_digits(name) if int_keys else name)] = item.decode(part)
            except Mismatch as mismatch:
                raise mismatch.under(f"[{name!r}]") from None
        return decoded

    return Converter(encode, decode)


def _bottom(hint: Any) -> Any:
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    return hint


def _digits(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise Mismatch("the key is not an integer") from None


def _expected(what: str, value: Any) -> Mismatch:
    return Mismatch(f"expected {what}, got {type(value).__name__} {value!r:.80}")


def _text_in(value: Any) -> str:
    if type(value) is str:
        if "\x00" in value:
            raise Mismatch("text with a NUL character: PostgreSQL cannot store it")
        return value
    if isinstance(value, str):  # a StrEnum member given where plain text is declared
        return str.__str__(value)
    raise _expected("str", value)


def _text_out(value: Any) -> str:
    if type(value) is not str:
        raise _expected("str", value)
    return value


def _int(value: Any) -> int:
    if type(value) is not int:
        raise _expected("int", value)
    return value


def _float(value: Any) -> float:
    if type(value) is float:
        if not math.isfinite(value):
            raise Mismatch(f"{value!r} is not a number JSON can carry")
        return value
    if type(value) is int:
        return float(value)
    raise _expected("float", value)


def _bool(value: Any) -> bool:
    if value is not True and value is not False:
        raise _expected("bool", value)
    return value


def _time_in(value: Any) -> str:
    if not isinstance(value, datetime):
        raise _expected("datetime", value)
    if value.tzinfo is None or value.utcoffset() is None:
        raise Mismatch(f"naive datetime {value.isoformat()}: give it a time zone, e.g. datetime.now(UTC)")
    return value.astimezone(UTC).isoformat()


def _time_out(value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _expected("an ISO 8601 time", value) from None
    if moment.tzinfo is None:
        raise Mismatch(f"naive datetime {value}")
    return moment


def _json(value: Any) -> Any:
    """Free-form data (`Any`): checked to be JSON already, so it comes back as it went in."""
    if value is None or type(value) in (bool, int):
        return value
    if isinstance(value, str):
        return _text_in(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    if isinstance(value, Mapping):
        return {_text_in(name): _json(part) for name, part in value.items()}
    raise _expected("JSON data", value)


_SCALARS: dict[Any, Converter] = {
    str: Converter(_text_in, _text_out),
    int: Converter(_int, _int),
    float: Converter(_float, _float),
    bool: Converter(_bool, _bool),
    datetime: Converter(_time_in, _time_out),
    Any: Converter(_json, lambda value: value),
    object: Converter(_json, lambda value: value),
}
