"""Stable names, schema versions and the chain of upcasters."""

import json
from dataclasses import dataclass, make_dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

import events.facts
from events.codec import decode
from events.envelope import Recorded
from events.errors import UnencodableFact, UnknownEventType, UpcastError
from events.registry import REGISTRY, Registry


def at_schema(schema: int, data: dict[str, Any], type_name: str = "disk.added") -> Recorded:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Recorded(1, "s", 1, "id", type_name, schema, data, "a", None, None, 0, now)


@dataclass(frozen=True, slots=True)
class DiskAdded:
    name: str
    size_gib: int
    kind: str


@pytest.fixture
def registry() -> Registry:
    registry = Registry()

    registry.fact("disk.added", schema=3)(DiskAdded)

    @registry.upcaster("disk.added", from_schema=1)
    def _(data: dict[str, Any]) -> dict[str, Any]:
        return {"name": data["disk"], "size_gib": data["size_gib"]}

    @registry.upcaster("disk.added", from_schema=2)
    def _(data: dict[str, Any]) -> dict[str, Any]:
        data["kind"] = "ssd"
        return data

    return registry


# Every schema version that was ever written stays here, and must read as the same fact for ever.
CORPUS = {1: '{"disk":"a","size_gib":5}', 2: '{"name":"a","size_gib":5}', 3: '{"name":"a","size_gib":5,"kind":"ssd"}'}


@pytest.mark.parametrize("schema", CORPUS)
def test_every_schema_version_reads_as_the_current_fact(registry: Registry, schema: int) -> None:
    assert decode(at_schema(schema, json.loads(CORPUS[schema])), registry) == DiskAdded("a", 5, "ssd")


def test_upcasting_does_not_change_the_recorded_data(registry: Registry) -> None:
    event = at_schema(2, {"name": "a", "size_gib": 5})
    decode(event, registry)
    assert event.data == {"name": "a", "size_gib": 5}


@given(schema=st.integers(1, 6), current=st.integers(1, 6), missing=st.sets(st.integers(1, 5), max_size=2))
def test_a_chain_takes_each_step_once_in_order_or_says_which_is_missing_and_leaves_what_was_recorded(
    schema: int, current: int, missing: set[int]
) -> None:
    registry = Registry()

    @registry.fact("walked", schema=current)
    @dataclass(frozen=True, slots=True)
    class Walked:
        steps: tuple[int, ...]

    for version in set(range(1, current)) - missing:

        @registry.upcaster("walked", from_schema=version)
        def _(data: dict[str, Any], version: int = version) -> dict[str, Any]:
            data["steps"].append(version)  # in place, deep inside: a step may
            return data

    event = at_schema(schema, {"steps": [0]}, "walked")
    needed = range(schema, current)
    if schema > current:
        with pytest.raises(UnknownEventType):
            decode(event, registry)
    elif gaps := missing & set(needed):
        with pytest.raises(UpcastError, match=f"no upcaster from schema {min(gaps)} "):
            decode(event, registry)
    else:
        assert decode(event, registry) == Walked((0, *needed))
    assert event.data == {"steps": [0]}, "an upcaster wrote into the recorded event"


def test_an_upcaster_that_fails_is_an_upcast_error_that_names_the_step(registry: Registry) -> None:
    with pytest.raises(UpcastError, match=r"from schema 1 to 2 failed: KeyError\('disk'\)"):
        decode(at_schema(1, {}), registry)


def test_a_missing_step_is_an_upcast_error_and_found_by_check() -> None:
    registry = Registry()

    @registry.fact("gap", schema=3)
    @dataclass(frozen=True)
    class Gap:
        pass

    @registry.upcaster("gap", from_schema=1)
    def _(data: dict[str, Any]) -> dict[str, Any]:
        return data

    with pytest.raises(UpcastError, match="from schema 2 to 3"):
        decode(at_schema(1, {}, "gap"), registry)
    with pytest.raises(UpcastError, match=r"no upcasters from schema \[2\]"):
        registry.check()


def test_a_newer_schema_is_unknown(registry: Registry) -> None:
    with pytest.raises(UnknownEventType, match="newer"):
        decode(at_schema(4, {}), registry)


def test_names_and_classes_are_taken_once(registry: Registry) -> None:
    @dataclass(frozen=True)
    class Other:
        pass

    with pytest.raises(ValueError, match="already belongs to"):
        registry.fact("disk.added")(Other)
    registry.fact("other.happened")(Other)
    with pytest.raises(ValueError, match=r"already registered as 'other\.happened'"):
        registry.fact("other.again")(Other)


def test_only_frozen_dataclasses_are_facts(registry: Registry) -> None:
    @dataclass
    class Thawed:
        pass

    with pytest.raises(ValueError, match="frozen dataclass"):
        registry.fact("thawed")(Thawed)
    with pytest.raises(ValueError, match="frozen dataclass"):
        registry.fact("plain")(int)


def test_upcasters_that_lead_nowhere_are_refused(registry: Registry) -> None:
    with pytest.raises(ValueError, match="already has an upcaster"):
        registry.upcaster("disk.added", from_schema=1)(dict)
    with pytest.raises(ValueError, match="no step from 3"):
        registry.upcaster("disk.added", from_schema=3)(dict)
    with pytest.raises(UnknownEventType):
        registry.upcaster("never.registered", from_schema=1)(dict)


@pytest.mark.parametrize("hint", [bytes, set[str], str | int, complex, list, object | int])
def test_a_type_no_event_can_carry_is_found_by_check(hint: object) -> None:
    registry = Registry()

    registry.fact("odd")(make_dataclass("Odd", [("value", hint)], frozen=True))
    with pytest.raises(UnencodableFact, match="no event can carry"):
        registry.check()


def test_all_facts_of_this_release_can_be_carried() -> None:
    assert events.facts
    REGISTRY.check()
    assert len(list(REGISTRY)) > 10
