"""Stable names for event classes. A stored event says "cluster.declared", never a Python path: classes may move.

    @fact("cluster.declared", schema=2)
    @dataclass(frozen=True, slots=True)
    class ClusterDeclared: ...

    @upcaster("cluster.declared", from_schema=1)
    def _(data): return {**data, "generation": 1}

When a schema version goes up, one pure upcaster per step turns old data into the next version's; steps are chained at
read time and recorded rows are never rewritten. A field added with a default needs no new version: old data takes the
default, and the release before ignores the field.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from typing import Any, TypeVar

from events.converters import Converter, converter_of
from events.errors import UnencodableFact, UnknownEventType, UpcastError

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
_C = TypeVar("_C", bound=type)
_F = TypeVar("_F", bound=Upcaster)


@dataclass
class FactType:
    """One registered event class with its name, current schema version and upcasters by the version they start from."""

    name: str
    schema: int
    cls: Any
    upcasters: dict[int, Upcaster] = field(default_factory=dict)

    @cached_property
    def converter(self) -> Converter:
        """Compiled at first use, when all type hints of the class's module can be resolved."""
        return converter_of(self.cls)

    def upcast(self, data: Mapping[str, Any], schema: int) -> Mapping[str, Any]:
        """Data of an older schema version as data of the current one. Raises UnknownEventType, UpcastError."""
        if schema > self.schema:
            raise UnknownEventType(
                f"event type {self.name!r} has schema {schema}, this release knows up to {self.schema}: a newer "
                "release wrote it. Run that release or a later one; nothing is guessed."
            )
        for version in range(schema, self.schema):
            step = self.upcasters.get(version)
            if step is None:
                raise UpcastError(f"event type {self.name!r}: no upcaster from schema {version} to {version + 1}")
            try:
                data = step(deepcopy(dict(data)))  # a step may write into what it is handed, at any depth
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise UpcastError(
                    f"event type {self.name!r}: the upcaster from schema {version} to {version + 1} failed: {error!r}"
                ) from error
        return data


class Registry:
    """Event classes by their stable type string."""

    def __init__(self) -> None:
        self._by_type: dict[str, FactType] = {}
        self._by_class: dict[type, FactType] = {}

    def fact(self, type_name: str, *, schema: int = 1) -> Callable[[_C], _C]:
        """Class decorator for frozen dataclasses. Raises ValueError when the name or the class is taken."""

        def register(cls: _C) -> _C:
            if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                raise ValueError(f"{cls.__qualname__} must be a frozen dataclass to be the fact {type_name!r}")
            if schema < 1:
                raise ValueError(f"{type_name!r}: schema versions start at 1, not {schema}")
            if type_name in self._by_type:
                other = self._by_type[type_name].cls.__qualname__
                raise ValueError(f"event type {type_name!r} already belongs to {other}")
            if cls in self._by_class:
                raise ValueError(f"{cls.__qualname__} is already registered as {self._by_class[cls].name!r}")
            entry = FactType(type_name, schema, cls)
            self._by_type[type_name] = entry
            self._by_class[cls] = entry
            return cls

        return register

    def upcaster(self, type_name: str, *, from_schema: int) -> Callable[[_F], _F]:
        """Function decorator: a pure step from `from_schema` to the next version. Register the class first."""

        def register(step: _F) -> _F:
            entry = self.of_type(type_name)
            if not 1 <= from_schema < entry.schema:
                raise ValueError(f"{type_name!r} is at schema {entry.schema}: no step from {from_schema} is needed")
            if from_schema in entry.upcasters:
                raise ValueError(f"{type_name!r} already has an upcaster from schema {from_schema}")
            entry.upcasters[from_schema] = step
            return step

        return register

    def of_type(self, type_name: str) -> FactType:
        """Raises UnknownEventType."""
        try:
            return self._by_type[type_name]
        except KeyError:
            raise UnknownEventType(
                f"event type {type_name!r} is not known to this release: a newer one wrote it, or the class was removed"
            ) from None

    def of_fact(self, fact: object) -> FactType:
        """Raises UnencodableFact for a class without `@fact`."""
        try:
            return self._by_class[type(fact)]
        except KeyError:
            raise UnencodableFact(
                f'{type(fact).__qualname__} is not a registered event class: put @fact("noun.verb", schema=1) above it'
            ) from None

    def check(self) -> None:
        """Compiles every class and looks for missing upcaster steps; for tests. Raises UnencodableFact, UpcastError."""
        for entry in self:
            _ = entry.converter
            missing = [v for v in range(1, entry.schema) if v not in entry.upcasters]
            if missing:
                raise UpcastError(f"event type {entry.name!r}: no upcasters from schema {missing}")

    def __iter__(self) -> Iterator[FactType]:
        return iter(self._by_type.values())


REGISTRY = Registry()
fact = REGISTRY.fact
upcaster = REGISTRY.upcaster
