"""Facts to stored events and back. The only place where frozen dataclasses meet JSON."""

from collections.abc import Iterable

from events.converters import Mismatch
from events.envelope import NewEvent, Recorded
from events.errors import MalformedEvent, UnencodableFact
from events.ids import derived_id
from events.registry import REGISTRY, Registry


def encode(fact: object, event_id: str, registry: Registry = REGISTRY) -> NewEvent:
    """A fact as an event that can be appended. Raises UnencodableFact, naming the field."""
    entry = registry.of_fact(fact)
    try:
        data = entry.converter.encode(fact)
    except Mismatch as mismatch:
        raise UnencodableFact(f"{entry.name}{mismatch.path}: {mismatch.reason}") from None
    return NewEvent(event_id=event_id, type=entry.name, schema=entry.schema, data=data)


def encode_all(facts: Iterable[object], *seed: str) -> list[NewEvent]:
    """Facts as events in order. The same facts by the same `seed` get the same ids, so a retry is recognised."""
    listed = list(facts)
    content = repr(listed)
    return [encode(f, derived_id(*seed, str(n), content)) for n, f in enumerate(listed)]


def decode(recorded: Recorded, registry: Registry = REGISTRY) -> object:
    """The fact behind a recorded event. Keys the class does not know are ignored: a newer release may have added them.

    Raises UnknownEventType (also for a newer schema), UpcastError, MalformedEvent.
    """
    entry = registry.of_type(recorded.type)
    data = recorded.data
    if recorded.schema != entry.schema:
        data = entry.upcast(data, recorded.schema)
    try:
        return entry.converter.decode(data)
    except Mismatch as mismatch:
        raise MalformedEvent(
            f"event at position {recorded.position} ({recorded.stream} version {recorded.version}): "
            f"{entry.name}{mismatch.path}: {mismatch.reason}"
        ) from None
